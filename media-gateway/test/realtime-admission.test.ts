import { once } from 'node:events';
import t from 'tap';
import WebSocket from 'ws';
import { credentialDigest } from '@parley/shared/contracts/admission';
import { eventsUntilClose } from './fixtures/agents-client.ts';
import { closeOf, openTestGateway, refusalOf } from './fixtures/test-gateway.ts';
import { until } from './fixtures/until.ts';
import type { TestGateway } from './fixtures/test-gateway.ts';

const KEY = 'openai-insecure-api-key.';

function connect(
  { gateway }: TestGateway,
  options: { bearer?: string; protocols?: string[]; headers?: Record<string, string>; query?: string } = {},
): WebSocket {
  return new WebSocket(`${gateway.url}/v1/realtime${options.query ?? ''}`, options.protocols ?? [], {
    headers: { ...(options.bearer ? { authorization: `Bearer ${options.bearer}` } : {}), ...options.headers },
  });
}

async function firstEvent(client: WebSocket): Promise<Record<string, unknown>> {
  const [data] = (await once(client, 'message')) as [Buffer];
  return JSON.parse(data.toString()) as Record<string, unknown>;
}

void t.test('a token in a header or in the sub-protocol opens a session', async (t) => {
  const test = await openTestGateway(t);
  const cases: [string, (token: string) => Parameters<typeof connect>[1], string][] = [
    ['a header', (bearer) => ({ bearer }), ''],
    ['the sub-protocol', (token) => ({ protocols: ['realtime', KEY + token] }), 'realtime'],
    [
      'with more offered',
      (token) => ({ protocols: ['realtime', KEY + token, 'openai-agents-sdk.0.20.0'] }),
      'realtime',
    ],
    ['any query', (bearer) => ({ bearer, query: '?model=gpt-realtime&x=1' }), ''],
  ];
  for (const [name, how, protocol] of cases) {
    const { ticket, sessionId } = test.api.issue({ realtime: true });
    const client = connect(test, how(ticket));
    const created = await firstEvent(client);
    t.match(
      created,
      { type: 'session.created', event_id: String, session: { id: `sess_${sessionId}` } },
      name,
    );
    t.equal(
      client.protocol,
      protocol,
      `${name}: nothing is answered but what was offered, and never the key`,
    );
    t.match(test.api.redeems.at(-1), {
      kind: 'realtime',
      digest: credentialDigest(ticket),
      start: { encoding: 'pcm16', sample_rate: 24_000 },
    });
    client.close();
    await once(client, 'close');
  }
});

void t.test('a participant token goes to the control plane whole', async (t) => {
  const test = await openTestGateway(t);
  const token = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln';
  const client = connect(test, { bearer: token, headers: { origin: 'https://shop.example' } });
  const { events, code } = await eventsUntilClose(client);
  t.match(test.api.redeems[0], { kind: 'participant', token, origin: 'https://shop.example' });
  t.match(events, [{ type: 'error', error: { code: 'credential_invalid' } }], 'the stand-in knows none');
  t.equal(code, 4401);
});

void t.test('what is no credential gets no WebSocket', async (t) => {
  const test = await openTestGateway(t);
  const good = `ek_${'a'.repeat(43)}`;
  const cases: [string, Parameters<typeof connect>[1], number][] = [
    ['nothing', {}, 401],
    ['an API key', { bearer: 'sk-123' }, 401],
    ['half a token', { bearer: 'ek_123' }, 401],
    ['in the query', { query: `?token=${good}` }, 401],
    ['a token too long', { bearer: `${'a'.repeat(3000)}.${'b'.repeat(1500)}.c` }, 401],
    ['an origin that is none', { bearer: good, headers: { origin: 'javascript:alert(1)' } }, 403],
  ];
  for (const [name, options, status] of cases) t.equal(await refusalOf(connect(test, options)), status, name);
  t.same(test.api.redeems, [], 'nobody was asked about them');
});

void t.test('a refused client is told why before it is closed', async (t) => {
  const test = await openTestGateway(t);
  const { ticket } = test.api.issue({ realtime: true });
  const first = connect(test, { bearer: ticket });
  await firstEvent(first);
  const cases: [string, string, number, (() => void)?][] = [
    [ticket, 'in_use', 4409],
    [`ek_${'a'.repeat(43)}`, 'credential_invalid', 4401],
    [ticket, 'session_over', 4410, () => test.api.faults.push({ status: 409, code: 'session_over' })],
    [ticket, 'limit', 4429, () => test.api.faults.push({ status: 429, code: 'limit' })],
    [
      ticket,
      'insufficient_balance',
      4429,
      () => test.api.faults.push({ status: 402, code: 'insufficient_balance' }),
    ],
    [ticket, 'origin_refused', 4401, () => test.api.faults.push({ status: 401, code: 'origin_refused' })],
  ];
  for (const [bearer, code, closeCode, prepare] of cases) {
    prepare?.();
    const ended = await eventsUntilClose(connect(test, { bearer }));
    t.match(ended.events, [{ type: 'error', event_id: String, error: { code, message: String } }], code);
    t.equal(ended.code, closeCode);
  }
  t.equal(first.readyState, WebSocket.OPEN, 'whoever was first is not disturbed');
  first.terminate();
});

void t.test(
  'an address that guesses at tokens is told why at first, then refused without asking',
  async (t) => {
    const test = await openTestGateway(t, { env: { ADDRESS_REFUSALS_PER_MINUTE: '2' } });
    const bearer = `ek_${'a'.repeat(43)}`;
    for (let i = 0; i < 2; i++) {
      const { events, code } = await eventsUntilClose(connect(test, { bearer }));
      t.match(events, [{ type: 'error', error: { code: 'credential_invalid' } }]);
      t.equal(code, 4401);
    }
    t.equal(test.api.redeems.length, 1, 'the same guess is looked up once');
    t.equal(await refusalOf(connect(test, { bearer: test.api.issue({ realtime: true }).ticket })), 429);
    t.equal(test.api.redeems.length, 1);
  },
);

void t.test('clients of the beta version are told so, and keep their token', async (t) => {
  const test = await openTestGateway(t);
  const { ticket } = test.api.issue({ realtime: true });
  for (const options of [
    { bearer: ticket, headers: { 'openai-beta': 'realtime=v1' } },
    { protocols: ['realtime', KEY + ticket, 'openai-beta.realtime-v1'] },
  ]) {
    const { events, code } = await eventsUntilClose(connect(test, options));
    t.match(events, [{ type: 'error', error: { code: 'beta_api_shape_disabled' } }]);
    t.equal(code, 4000);
  }
  t.same(test.api.redeems, []);
});

void t.test('while the token is redeemed the client may speak and be impatient', async (t) => {
  const test = await openTestGateway(t);
  const gate = Promise.withResolvers<void>();
  test.api.gate = gate.promise;
  const { ticket } = test.api.issue({ realtime: true });
  const client = connect(test, { bearer: ticket });
  await once(client, 'open');
  const types: string[] = [];
  client.on('message', (data: Buffer) => types.push((JSON.parse(data.toString()) as { type: string }).type));
  client.send(JSON.stringify({ type: 'session.update', session: { type: 'realtime', tracing: 'auto' } }));
  const second = Buffer.alloc(48_000, 1).toString('base64');
  for (let i = 0; i < 3; i++)
    client.send(JSON.stringify({ type: 'input_audio_buffer.append', audio: second }));
  client.send(JSON.stringify({ type: 'conversation.item.retrieve', item_id: 'x', event_id: 'e' }));
  client.ping();
  await once(client, 'pong');
  t.same(types, [], 'nothing is answered before the session is there');
  gate.resolve();
  await until(() => types.length >= 3);
  t.same(types.slice(0, 3), ['session.created', 'session.updated', 'error']);
  t.equal(test.calls[0]!.heardMs, 1000, 'the newest second was kept');
  client.terminate();
});

void t.test('too many events before the session begins close the client', async (t) => {
  const test = await openTestGateway(t);
  test.api.gate = new Promise(() => {});
  const { ticket } = test.api.issue({ realtime: true });
  const client = connect(test, { bearer: ticket });
  await once(client, 'open');
  const ended = eventsUntilClose(client);
  for (let i = 0; i < 100; i++) client.send(JSON.stringify({ type: 'input_audio_buffer.clear' }));
  const { events, code } = await ended;
  t.match(events, [{ type: 'error', error: { code: 'too_many_events' } }]);
  t.equal(code, 1013);
});

void t.test('messages of many megabytes are taken, larger ones are not', async (t) => {
  const test = await openTestGateway(t, { env: { REALTIME_MAX_MESSAGE_BYTES: '4194304' } });
  const { ticket } = test.api.issue({ realtime: true });
  const client = connect(test, { bearer: ticket });
  await firstEvent(client);
  const audio = Buffer.alloc(2_880_000).toString('base64');
  client.send(JSON.stringify({ type: 'input_audio_buffer.append', audio }));
  await until(() => test.calls[0]!.heardMs === 60_000);
  client.send(JSON.stringify({ type: 'input_audio_buffer.append', audio: audio + audio }));
  t.same(await closeOf(client), [1009, 'frame_too_large']);
});

void t.test('one that comes back takes the session over from its lost connection', async (t) => {
  const test = await openTestGateway(t);
  const first = test.api.issue({ realtime: true });
  const lost = connect(test, { bearer: first.ticket });
  await firstEvent(lost);
  const again = test.api.issue({
    realtime: true,
    plan: { session_id: first.sessionId, leg: 1, first_event_index: 100_000 },
  });
  const ended = closeOf(lost);
  const back = connect(test, { bearer: again.ticket });
  t.match(await firstEvent(back), { type: 'session.created', session: { id: `sess_${first.sessionId}` } });
  t.same(await ended, [1000, 'caller_hangup'], 'the earlier connection, should it still stand');
  await until(() => test.gateway.calls === 1);
  t.equal(back.readyState, WebSocket.OPEN);
  back.terminate();
});
