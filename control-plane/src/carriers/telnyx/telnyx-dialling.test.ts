import t from 'tap';
import { openTelnyxCarrierEmulator } from '@parley/emulators/carriers/telnyx-carrier-emulator';
import { systemClock } from '@parley/shared/time/clock';
import { openLoopbackServer } from '../../../test/fixtures/loopback-server.ts';
import { testCarrierDialling } from '../carrier-dialling.conformance.ts';
import { TelnyxCarrier } from './telnyx-carrier.ts';

const CONNECTION = '1293384261075731461';

testCarrierDialling(t, {
  from: '+14155550103',
  openEmulator: (clock) => openTelnyxCarrierEmulator({ clock, connectionId: CONNECTION }),
  openCarrier: ({ credentials }, { clock, apiUrl, wrong }) =>
    new TelnyxCarrier(
      {
        apiKey: wrong ? 'wrong' : credentials['api_key']!,
        publicKey: credentials['public_key']!,
        connectionId: CONNECTION,
      },
      { clock, apiBaseUrl: apiUrl },
    ),
  queues: false,
});

const CALL = {
  ...{ dialId: 'dial-1', from: '+14155550103', to: '+442071230000' },
  ...{ answerUrl: 'https://a/voice', statusUrl: 'https://a/voice', machineUrl: null, streamUrl: null },
  ...{ ringTimeoutSeconds: 30, timeLimitSeconds: 3600 },
};

void t.test('a call is as long as the vendor allows, and one too many may be dialled later', async (t) => {
  const limits: unknown[] = [];
  let code = 'D1';
  const api = await openLoopbackServer(({ body }) => {
    limits.push((JSON.parse(body) as Record<string, unknown>)['time_limit_secs']);
    return { status: 403, body: { errors: [{ code, title: 'Refused' }] } };
  });
  t.teardown(() => api[Symbol.asyncDispose]());
  const { dialling } = new TelnyxCarrier(
    { apiKey: 'KEY1', publicKey: 'unused', connectionId: CONNECTION },
    { clock: systemClock, apiBaseUrl: api.url },
  );
  const full = await dialling.dial({ ...CALL, timeLimitSeconds: 14_460 });
  t.match(full, { placed: 'no', failure: 'carrier_error', cause: 'D1', again: true });
  code = 'D10';
  t.match(await dialling.dial(CALL), { placed: 'no', cause: 'D10', again: false }, 'it is switched off');
  t.same(limits, [14_400, 3600]);
});

void t.test('an account without an application dials nobody', async (t) => {
  const { dialling } = new TelnyxCarrier(
    { apiKey: 'KEY1', publicKey: 'unused' },
    { clock: systemClock, apiBaseUrl: 'http://127.0.0.1:9' },
  );
  t.match(await dialling.dial(CALL), { placed: 'no', code: 'unsupported', again: false });
  await t.rejects(dialling.find({ ...CALL, sentAtMs: 0 }), { code: 'unsupported' });
});
