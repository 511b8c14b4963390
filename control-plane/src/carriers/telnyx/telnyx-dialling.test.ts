import t from 'tap';
import { openTelnyxCarrierEmulator } from '@parley/emulators/carriers/telnyx-carrier-emulator';
import { systemClock } from '@parley/shared/time/clock';
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

void t.test('an account without an application dials nobody', async (t) => {
  const { dialling } = new TelnyxCarrier(
    { apiKey: 'KEY1', publicKey: 'unused' },
    { clock: systemClock, apiBaseUrl: 'http://127.0.0.1:9' },
  );
  const call = { dialId: 'dial-1', from: '+14155550103', to: '+442071230000' };
  const urls = {
    answerUrl: 'https://a/voice',
    statusUrl: 'https://a/voice',
    machineUrl: null,
    streamUrl: null,
  };
  t.match(await dialling.dial({ ...call, ...urls, ringTimeoutSeconds: 30, timeLimitSeconds: 3600 }), {
    placed: 'no',
    code: 'unsupported',
    again: false,
  });
  await t.rejects(dialling.find({ ...call, sentAtMs: 0 }), { code: 'unsupported' });
});
