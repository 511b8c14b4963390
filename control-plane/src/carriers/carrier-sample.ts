import { randomUUID } from 'node:crypto';
import type { Sample, Scenario } from '../composition/sample.ts';

const carrierScenario: Scenario = async ({ signed, project }, send) => {
  const event = JSON.stringify({
    data: { event_type: 'call.answered', payload: { call_control_id: randomUUID() } },
  });
  await send(200, { token: null, body: event, headers: signed(event) });
  await send(400, { token: null, body: '{', headers: signed('{') });
  await send(403, { token: null, body: event, headers: { ...signed('other') } });
  await send(422, { token: null, ids: { ...project.ids, carrier: 'pigeon' } });
};

const plivoByGet =
  (kind: string): Scenario =>
  async ({ plivo, project }, send) => {
    const ids = { ...project.ids, carrier: 'plivo', telephony_account_id: plivo.accountId };
    const path = `/api/v1/webhooks/carriers/plivo/${kind}/${plivo.accountId}`;
    const query = `CallStatus=ringing&CallUUID=${randomUUID()}&Event=Ring`;
    await send(200, { token: null, ids, query, headers: plivo.signed(`${path}?${query}`) });
    await send(400, { token: null, ids, headers: plivo.signed(path) });
    await send(403, { token: null, ids });
    await send(422, { token: null, ids: { ...ids, carrier: 'pigeon' } });
  };

export const carrierSample: Sample = {
  make: () => Promise.resolve({ carrier: 'telnyx' }),
  unknown: { carrier: 'telnyx' },
  scenarios: {
    carrierVoice: carrierScenario,
    carrierStatus: carrierScenario,
    carrierStream: carrierScenario,
    carrierAmd: carrierScenario,
    carrierVoiceByGet: plivoByGet('voice'),
    carrierStatusByGet: plivoByGet('status'),
    carrierStreamByGet: plivoByGet('stream'),
    carrierAmdByGet: plivoByGet('amd'),
    carrierRecording: carrierScenario,
    carrierRecordingByGet: plivoByGet('recording'),
  },
};
