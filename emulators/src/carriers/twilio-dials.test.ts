import t from 'tap';
import type { Test } from 'tap';
import { request } from 'undici';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openStubPlatform, type StubPlatform } from '../../test/fixtures/stub-platform.ts';
import { testDials } from './carrier-dials.conformance.ts';
import { openTwilioCarrierEmulator } from './twilio-carrier-emulator.ts';
import { signTwilioRequest } from './twilio-webhook-signature.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const ACCOUNT = 'AC00000000000000000000000000000001';
const FROM = '+14155550102';

type Form = [name: string, value: string][];

async function open(t: Test) {
  const clock = new ManualClock();
  const platform: StubPlatform = await openStubPlatform(({ path }) =>
    path.startsWith('/voice')
      ? `<Response><Connect><Stream url="${platform.wsUrl}/media/T1"/></Connect></Response>`
      : '<Response/>',
  );
  const emulator = await openTwilioCarrierEmulator({ accountSid: ACCOUNT, authToken: TOKEN, clock });
  t.teardown(async () => {
    await emulator[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  const ask = async (method: 'GET' | 'POST', path: string, form?: Form, signal?: AbortSignal) => {
    const answer = await request(`${emulator.apiUrl}/2010-04-01/Accounts/${ACCOUNT}/Calls${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`${ACCOUNT}:${TOKEN}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: form ? new URLSearchParams(form).toString() : null,
      signal: signal ?? null,
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
  };
  const wish = (to: string): Form => [
    ['To', to],
    ['From', FROM],
    ['Url', `${platform.url}/voice?dial=1`],
    ['StatusCallback', `${platform.url}/status`],
    ...['initiated', 'ringing', 'answered', 'completed'].map((event): [string, string] => [
      'StatusCallbackEvent',
      event,
    ]),
    ['Timeout', '30'],
  ];
  return { clock, platform, emulator, ask, wish };
}

const FINAL = ['completed', 'busy', 'failed', 'no-answer', 'canceled'];

testDials(t, async (t) => {
  const { clock, platform, emulator, ask, wish } = await open(t);
  return {
    ...{ clock, platform, emulator },
    async dial(to, options) {
      const { status, body } = await ask('POST', '.json', wish(to), options?.signal);
      return { status, id: String(body['sid']) };
    },
    withdraw: async (id) => (await ask('POST', `/${id}.json`, [['Status', 'canceled']])).status,
    async listed(to) {
      const { body } = await ask('GET', `.json?To=${encodeURIComponent(to)}`);
      const [call] = body['calls'] as { status: string }[];
      return call === undefined ? 'none' : FINAL.includes(call.status) ? 'over' : 'live';
    },
    callbacks: ['initiated', 'ringing', 'completed'],
    callback({ path, fields }) {
      if (path !== '/status') return undefined;
      return FINAL.includes(fields['CallStatus']!) ? 'completed' : fields['CallStatus'];
    },
    isSigned: ({ path, headers, fields }) =>
      headers['x-twilio-signature'] === signTwilioRequest(TOKEN, platform.url + path, fields),
    ends: {
      busy: 'busy 486',
      refused: 'busy 603',
      not_in_service: 'failed 404',
      rung_out: 'no-answer 487',
      withdrawn: 'canceled 487',
      hung_up: 'completed',
    },
    ringMs: 35_000,
  };
});

void t.test('requests that the vendor refuses', async (t) => {
  const { ask, wish } = await open(t);
  const good = wish('+442071230000');
  const without = (name: string) => good.filter(([one]) => one !== name);
  const cases: [name: string, form: Form, code: number][] = [
    ['no number', without('To'), 21201],
    ['no caller id', without('From'), 21213],
    ['a number that is none', [...without('To'), ['To', '442071230000']], 21211],
    ['a number that calls itself', [...without('To'), ['To', FROM]], 21211],
    ['a caller id that is none', [...without('From'), ['From', 'Alice']], 21212],
    ['no instructions', without('Url'), 21205],
    ['an address that is none', [...without('Url'), ['Url', 'here']], 21205],
    ['instructions that are too long', [...without('Url'), ['Twiml', 'x'.repeat(4001)]], 32018],
    ['an event that is none', [...good, ['StatusCallbackEvent', 'sneezed']], 21626],
    ['what is not emulated', [...good, ['MachineDetection', 'Enable']], 20001],
  ];
  for (const [name, form, code] of cases)
    t.match(await ask('POST', '.json', form), { status: 400, body: { code, status: 400 } }, name);
  t.match((await ask('GET', '.json')).body, { calls: [], next_page_uri: null });
});

void t.test('one call a second begins, the others wait; lists are paged, newest first', async (t) => {
  const { ask, wish, emulator } = await open(t);
  emulator.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  for (const to of ['+442071230001', '+442071230002', '+442071230003'])
    t.match(await ask('POST', '.json', wish(to)), {
      status: 201,
      body: { status: 'queued', direction: 'outbound-api', to },
    });
  const calls = await Promise.all([1, 2, 3].map(() => emulator.dialledCall()));
  const first = await ask('GET', '.json?PageSize=2&Status=queued');
  t.match(first.body, { calls: [{ to: '+442071230003' }, { to: '+442071230002' }], next_page_uri: null });
  const paged = await ask('GET', '.json?PageSize=2');
  const next = new URL(String(paged.body['next_page_uri']), 'http://twilio').search;
  t.match((await ask('GET', `.json${next}`)).body, { calls: [{ to: '+442071230001', status: 'ringing' }] });
  t.match(await ask('GET', `/${calls[2]!.callId}.json`), { body: { status: 'queued', start_time: null } });
  for (const call of calls) call.hangUp();
  await Promise.all(calls.map(({ ended }) => ended));
});

void t.test(
  'instructions may be in the request, and only the end is told unless more is asked',
  async (t) => {
    const { ask, wish, emulator, platform } = await open(t);
    emulator.setTelephones(() => ({ does: 'answer', afterMs: 0 }));
    const form = wish('+442071230000').filter(([name]) => name !== 'Url' && name !== 'StatusCallbackEvent');
    await ask('POST', '.json', [...form, ['Twiml', '<Response><Hangup/></Response>']]);
    const call = await emulator.dialledCall();
    t.match(await call.ended, { source: 'document', answered: true });
    t.match(
      platform.requests.map(({ path, fields }) => [path, fields['CallStatus'], fields['Direction']]),
      [['/status', 'completed', 'outbound-api']],
    );
  },
);

void t.test('to cancel does nothing to a call that was answered', async (t) => {
  const { ask, wish, emulator } = await open(t);
  emulator.setTelephones(() => ({ does: 'answer', afterMs: 0 }));
  await ask('POST', '.json', wish('+442071230000'));
  const call = await emulator.dialledCall();
  await call.connected();
  const path = `/${call.callId}.json`;
  t.match(await ask('POST', path, [['Status', 'canceled']]), { body: { status: 'in-progress' } });
  t.match(await ask('POST', path, [['Status', 'completed']]), { body: { status: 'completed' } });
  t.match(await call.ended, { source: 'api', answered: true });
});
