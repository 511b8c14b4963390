import t from 'tap';
import type { Test } from 'tap';
import { request } from 'undici';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openStubPlatform, type StubPlatform } from '../../test/fixtures/stub-platform.ts';
import { testDials } from './carrier-dials.conformance.ts';
import { openPlivoCarrierEmulator } from './plivo-carrier-emulator.ts';
import { signPlivoRequest } from './plivo-webhook-signature.ts';

const TOKEN = 'plivo-fake-auth-token-0001';
const FROM = '14155550101';

async function open(t: Test) {
  const clock = new ManualClock();
  const platform: StubPlatform = await openStubPlatform(({ fields }) =>
    fields['Event'] === 'StartApp'
      ? `<Response><Stream bidirectional="true" keepCallAlive="true">${platform.wsUrl}/media/T1</Stream></Response>`
      : '<Response/>',
  );
  const emulator = await openPlivoCarrierEmulator({ authId: 'MA1', authToken: TOKEN, clock });
  t.teardown(async () => {
    await emulator[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  const ask = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: object,
    signal?: AbortSignal,
  ): Promise<{ status: number; body: Record<string, unknown> }> => {
    const answer = await request(`${emulator.apiUrl}/v1/Account/MA1/${path}`, {
      method,
      headers: { authorization: `Basic ${Buffer.from(`MA1:${TOKEN}`).toString('base64')}` },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  };
  const wish = (to: string) => ({
    from: FROM,
    to: to.slice(1),
    answer_url: `${platform.url}/voice?dial=1`,
    ring_url: `${platform.url}/status`,
    hangup_url: `${platform.url}/status`,
    ring_timeout: 30,
  });
  return { clock, platform, emulator, ask, wish };
}

testDials(t, async (t) => {
  const { clock, platform, emulator, ask, wish } = await open(t);
  return {
    ...{ clock, platform, emulator },
    async dial(to, options) {
      const { status, body } = await ask('POST', 'Call/', wish(to), options?.signal);
      return { status, id: String(body['request_uuid']) };
    },
    withdraw: async (id) => (await ask('DELETE', `Request/${id}/`)).status,
    async listed(to) {
      const filter = `to_number=${to.slice(1)}&call_direction=outbound`;
      const live = await ask('GET', `Call/?status=live&${filter}`);
      if ((live.body['calls'] as string[]).length > 0) return 'live';
      const over = await ask('GET', `Call/?${filter}`);
      return (over.body['objects'] as object[]).length > 0 ? 'over' : 'none';
    },
    callbacks: ['Ring', 'Hangup'],
    callback: ({ fields }) => (fields['Event'] === 'StartApp' ? undefined : fields['Event']),
    isSigned: ({ path, headers, fields }) =>
      headers['x-plivo-signature-v3'] ===
      signPlivoRequest(TOKEN, platform.url + path, fields, String(headers['x-plivo-signature-v3-nonce'])),
    ends: {
      busy: '3010 Busy Line',
      refused: '3020 Rejected',
      not_in_service: '3050 Destination Out Of Service',
      rung_out: '6010 Ring Timeout Reached',
      withdrawn: '1000 Cancelled',
      hung_up: '4000 Normal Hangup',
    },
    ringMs: 30_000,
  };
});

void t.test('requests that the vendor refuses', async (t) => {
  const { ask, wish } = await open(t);
  const good = wish('+442071230000');
  const cases: [name: string, body: object, error: RegExp][] = [
    ['no from', { ...good, from: undefined }, /from parameter not present/],
    ['no answer URL', { ...good, answer_url: undefined }, /answer_url parameter not present/],
    ['a caller id that is none', { ...good, from: 'Alice' }, /from parameter is invalid/],
    ['a number that is none', { ...good, to: '00' }, /to parameter is invalid/],
    ['an address that is none', { ...good, hangup_url: 'here' }, /hangup_url parameter is invalid/],
    ['no time to ring', { ...good, ring_timeout: 0 }, /ring_timeout/],
    ['what is not emulated', { ...good, machine_detection: 'true' }, /not supported by this emulator/],
  ];
  for (const [name, body, error] of cases)
    t.match(await ask('POST', 'Call/', body), { status: 400, body: { error } }, name);
  t.match(await ask('GET', 'Call/?status=live'), { status: 200, body: { calls: [] } });
  t.match(await ask('GET', 'Call/unknown/?status=live'), { status: 404 });
  t.match(await ask('DELETE', 'Request/unknown/'), { status: 404 });
});

void t.test('two calls a second begin, and others wait in a queue, where they are found', async (t) => {
  const { ask, wish, emulator, clock } = await open(t);
  emulator.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  for (let index = 0; index < 3; index++)
    t.equal((await ask('POST', 'Call/', wish('+442071230000'))).status, 201);
  const calls = await Promise.all([1, 2, 3].map(() => emulator.dialledCall()));
  const ids = async (status: string) =>
    (await ask('GET', `Call/?status=${status}`)).body['calls'] as string[];
  t.equal((await ids('queued')).length, 2);
  t.match(await ask('GET', `Call/${calls[2]!.callId}/?status=queued`), {
    body: { call_status: 'queued', to: '442071230000', direction: 'outbound' },
  });
  clock.advance(1000);
  while ((await ids('live')).length < 3);
  t.same(await ids('queued'), []);
  for (const call of calls) call.hangUp();
  await Promise.all(calls.map(({ ended }) => ended));
});

void t.test('without an address of its own, a hang-up is told at the answer URL', async (t) => {
  const { ask, wish, emulator, platform } = await open(t);
  emulator.setTelephones(() => ({ does: 'busy', afterMs: 0 }));
  await ask('POST', 'Call/', { ...wish('+442071230000'), hangup_url: undefined });
  const { path, fields } = await platform.request((one) => one.fields['Event'] === 'Hangup');
  t.match(path, /^\/voice/);
  t.match(fields, { Direction: 'outbound', CallStatus: 'busy', HangupCauseCode: '3010' });
  t.not(fields['RequestUUID'], undefined);
});

void t.test('too many requests are refused', async (t) => {
  const { ask, clock } = await open(t);
  const statuses = await Promise.all(
    Array.from({ length: 301 }, async () => (await ask('DELETE', 'Request/none/')).status),
  );
  t.equal(statuses.filter((status) => status === 429).length, 1);
  clock.advance(5000);
  t.equal((await ask('DELETE', 'Request/none/')).status, 404);
});
