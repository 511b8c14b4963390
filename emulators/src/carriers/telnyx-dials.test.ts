import { createPublicKey, verify } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import { request } from 'undici';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openStubPlatform, type StubPlatform, type StubRequest } from '../../test/fixtures/stub-platform.ts';
import { testDials } from './carrier-dials.conformance.ts';
import { openTelnyxCarrierEmulator } from './telnyx-carrier-emulator.ts';
import { telnyxPrivateKey } from './telnyx-webhook-signature.ts';

const SEED = Buffer.alloc(32, 7).toString('base64');
const CONNECTION = '1293384261075731461';
const FROM = '+14155550103';

interface TelnyxEvent {
  data: { event_type: string; payload: Record<string, unknown> };
}
const eventOf = ({ raw }: StubRequest) => (JSON.parse(raw) as TelnyxEvent).data;

async function open(t: Test) {
  const clock = new ManualClock();
  const platform: StubPlatform = await openStubPlatform(() => '{}');
  const emulator = await openTelnyxCarrierEmulator({
    ...{ apiKey: 'KEY1', privateKey: SEED, connectionId: CONNECTION },
    clock,
  });
  t.teardown(async () => {
    await emulator[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  const ask = async (method: 'GET' | 'POST', path: string, body?: object, signal?: AbortSignal) => {
    const answer = await request(`${emulator.apiUrl}/v2${path}`, {
      method,
      headers: { authorization: 'Bearer KEY1' },
      body: body ? JSON.stringify(body) : null,
      signal: signal ?? null,
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
  };
  const wish = (to: string) => ({
    connection_id: CONNECTION,
    from: FROM,
    to,
    webhook_url: `${platform.url}/events?dial=1`,
    timeout_secs: 30,
    client_state: Buffer.from('dial-1').toString('base64'),
  });
  const stream = {
    stream_url: `${platform.wsUrl}/media/T1`,
    stream_track: 'inbound_track',
    stream_codec: 'PCMU',
    stream_bidirectional_mode: 'rtp',
  };
  return { clock, platform, emulator, ask, wish, stream };
}

testDials(t, async (t) => {
  const { clock, platform, emulator, ask, wish, stream } = await open(t);
  const publicKey = createPublicKey(telnyxPrivateKey(SEED));
  return {
    ...{ clock, platform, emulator },
    async dial(to, options) {
      const body = { ...wish(to), ...(options?.streamless ? {} : stream) };
      const answer = await ask('POST', '/calls', body, options?.signal);
      const { data } = answer.body as { data?: { call_control_id: string } };
      return { status: answer.status, id: data?.call_control_id ?? '' };
    },
    withdraw: async (id) => (await ask('POST', `/calls/${encodeURIComponent(id)}/actions/hangup`, {})).status,
    async listed(to) {
      const { body } = await ask('GET', `/connections/${CONNECTION}/active_calls`);
      if ((body['data'] as object[]).length > 0) return 'live';
      const filter = `filter[to]=${encodeURIComponent(to)}&filter[name]=call.initiated`;
      const events = await ask('GET', `/call_events?${filter}`);
      return (events.body['data'] as object[]).length > 0 ? 'over' : 'none';
    },
    callbacks: ['call.initiated', 'call.hangup'],
    callback: (one) => {
      const { event_type } = eventOf(one);
      return event_type.startsWith('call.') ? event_type : undefined;
    },
    isSigned: ({ raw, headers }) =>
      verify(
        null,
        Buffer.from(`${String(headers['telnyx-timestamp'])}|${raw}`),
        publicKey,
        Buffer.from(String(headers['telnyx-signature-ed25519']), 'base64'),
      ),
    ends: {
      busy: 'user_busy 486',
      refused: 'call_rejected 603',
      not_in_service: 'not_found 404',
      rung_out: 'timeout 487',
      withdrawn: 'originator_cancel 487',
      hung_up: 'normal_clearing 200',
    },
    ringMs: 30_000,
  };
});

void t.test('requests that the vendor refuses', async (t) => {
  const { ask, wish } = await open(t);
  const good = wish('+442071230000');
  const cases: [name: string, body: object, code: string][] = [
    ['no application', { ...good, connection_id: undefined }, '10004'],
    ['another application', { ...good, connection_id: '1' }, '10015'],
    ['a number without a plus', { ...good, to: '442071230000' }, '10016'],
    ['a caller id that is none', { ...good, from: 'Alice' }, '10016'],
    ['a stream that is none', { ...good, stream_url: 'https://a/b' }, '10015'],
    ['too little time to ring', { ...good, timeout_secs: 4 }, '10015'],
    ['what is not emulated', { ...good, answering_machine_detection: 'premium' }, '10015'],
  ];
  for (const [name, body, code] of cases)
    t.match(await ask('POST', '/calls', body), { status: 422, body: { errors: [{ code }] } }, name);
});

void t.test('the socket opens while it rings, and starts when somebody answers', async (t) => {
  const { ask, wish, stream, emulator, platform, clock } = await open(t);
  emulator.setTelephones(() => ({ does: 'answer', afterMs: 3000 }));
  await ask('POST', '/calls', { ...wish('+442071230000'), ...stream, stream_auth_token: 'secret' });
  const call = await emulator.dialledCall();
  const socket = await platform.stream();
  await socket.event('connected');
  t.equal(socket.headers['x-telnyx-streaming-auth-token'], 'secret');
  t.notOk(socket.messages.some(({ event }) => event === 'start'));
  clock.advance(3000);
  t.match(await socket.event('start'), {
    start: { client_state: Buffer.from('dial-1').toString('base64'), to: '+442071230000' },
  });
  const { payload } = eventOf(await platform.request((one) => eventOf(one).event_type === 'call.answered'));
  t.match(payload, { client_state: Buffer.from('dial-1').toString('base64'), from: FROM });
  t.match(await ask('GET', `/calls/${encodeURIComponent(call.callId)}`), {
    body: { data: { is_alive: true } },
  });
  t.equal((await ask('POST', `/calls/${encodeURIComponent(call.callId)}/actions/hangup`, {})).status, 200);
  t.match(await call.ended, { source: 'api', answered: true });
  t.match(await ask('GET', `/calls/${encodeURIComponent(call.callId)}`), {
    body: { data: { is_alive: false } },
  });
});

void t.test('a command id dials once within a minute', async (t) => {
  const { ask, wish, emulator, clock } = await open(t);
  emulator.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  const body = { ...wish('+442071230000'), command_id: 'c1', timeout_secs: 600 };
  const ids = async () => {
    const answer = await ask('POST', '/calls', body);
    return (answer.body['data'] as { call_control_id: string }).call_control_id;
  };
  const first = await ids();
  t.equal(await ids(), first);
  clock.advance(60_000);
  t.not(await ids(), first);
  const active = `/connections/${CONNECTION}/active_calls`;
  const page = await ask('GET', `${active}?page[limit]=1`);
  const { cursors, total_items } = page.body['meta'] as { cursors: { after: string }; total_items: number };
  t.equal(total_items, 2);
  const rest = await ask('GET', `${active}?page[limit]=1&page[after]=${encodeURIComponent(cursors.after)}`);
  t.match(rest.body, { data: [{ call_control_id: first }], meta: { cursors: { after: null } } });
  const second = await ask('GET', `${active}?page[size]=1&page[number]=2`);
  t.match(second.body, { data: [{ call_control_id: first }] }, 'by number, too');
});

void t.test('more than thirty dials a second are refused, and not queued', async (t) => {
  const { ask, clock } = await open(t);
  // Refused for what they say, and counted all the same.
  const statuses = await Promise.all(
    Array.from({ length: 151 }, async () => (await ask('POST', '/calls', {})).status),
  );
  t.equal(statuses.filter((status) => status === 429).length, 1);
  t.match(await ask('POST', '/calls', {}), { status: 429, body: { errors: [{ code: '90103' }] } });
  clock.advance(5000);
  t.equal((await ask('POST', '/calls', {})).status, 422);
});
