import { once } from 'node:events';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import type { CallDeps } from '../src/call/call.ts';
import { EchoCall } from './fixtures/echo-call.ts';
import { closeOf, openTestGateway, refusalOf } from './fixtures/test-gateway.ts';
import { until } from './fixtures/until.ts';
import type { TestGateway } from './fixtures/test-gateway.ts';

// A client and its session can part at any moment. Here each moment has each way of parting.

interface Way {
  name: string;
  /** What the client does to it. */
  act(client: WebSocket): void;
  /** How the socket ends for the client; undefined: it is gone itself. */
  closed?: [number, string];
  /** What is reported when the session had not begun. */
  before: { ended_by: string; hangup_reason?: string; failure_reason?: string };
}

const event = (type: string) => JSON.stringify({ type });
const REFUSED = { ended_by: 'system', failure_reason: 'rejected' };
const LEFT = { ended_by: 'caller', hangup_reason: 'caller_hangup' };

const WAYS: Way[] = [
  {
    name: '70 responses asked for at once',
    act: (client) => {
      for (let i = 0; i < 70; i++) client.send(event('response.create'));
    },
    closed: [1013, 'too_many_events'],
    before: REFUSED,
  },
  {
    name: '100 events that do not exist',
    act: (client) => {
      for (let i = 0; i < 100; i++) client.send(event('no.such.event'));
    },
    closed: [4400, 'too_many_faults'],
    before: REFUSED,
  },
  {
    name: 'more messages a second than are taken',
    act: (client) => {
      for (let i = 0; i < 1000; i++) client.send('{"type":"input_audio_buffer.append","audio":""}');
    },
    closed: [1013, 'too_many_messages'],
    before: REFUSED,
  },
  {
    name: 'a binary frame',
    act: (client) => client.send(Buffer.of(1, 2, 3)),
    closed: [4400, 'binary_frame'],
    before: REFUSED,
  },
  {
    name: 'a frame too large',
    act: (client) => client.send('x'.repeat(70_000)),
    closed: [1009, 'frame_too_large'],
    before: REFUSED,
  },
  { name: 'the client hangs up', act: (client) => client.close(1000), before: LEFT },
  { name: 'the client closes without a code', act: (client) => client.close(), before: LEFT },
  { name: 'the client leaves the page', act: (client) => client.close(4999), before: LEFT },
  { name: 'the client vanishes', act: (client) => client.terminate(), before: LEFT },
];

async function openOneSlot(t: Test): Promise<TestGateway> {
  return openTestGateway(t, {
    env: { MAX_CALLS: '1', MAX_MESSAGES_PER_SECOND: '200', REALTIME_MAX_MESSAGE_BYTES: '65536' },
  });
}

function connect({ gateway }: TestGateway, ticket: string): WebSocket {
  return new WebSocket(`${gateway.url}/v1/realtime`, { headers: { authorization: `Bearer ${ticket}` } });
}

async function closesAs(t: Test, { name, closed, act }: Way, client: WebSocket): Promise<void> {
  const close = closeOf(client);
  act(client);
  const actual = await close;
  if (closed) t.same(actual, closed, `${name}: is closed so`);
}

/** The only slot is free, or becomes so: another client gets a session. */
async function admitsAnother(t: Test, test: TestGateway, name: string): Promise<void> {
  let next: WebSocket | undefined;
  await until(
    async () =>
      (next = await admitted(connect(test, test.api.issue({ realtime: true }).ticket))) !== undefined,
  );
  const [data] = (await once(next!, 'message')) as [Buffer];
  t.match(JSON.parse(data.toString()), { type: 'session.created' }, `${name}: the next client is let in`);
  next!.close(1000);
  await until(() => test.gateway.calls === 0);
}

/** What the gateway says of itself, once it has read what was sent before. */
async function readiness({ gateway }: TestGateway): Promise<unknown> {
  return (await fetch(`${gateway.url.replace('ws:', 'http:')}/health/ready`)).json();
}

/** @returns nothing when there was no room */
async function admitted(client: WebSocket): Promise<WebSocket | undefined> {
  const refused = refusalOf(client).then(() => undefined);
  return Promise.race([refused, once(client, 'open').then(() => client)]);
}

void t.test('gone while its token is redeemed: the session never begins, and ends at once', async (t) => {
  const test = await openOneSlot(t);
  for (const way of WAYS) {
    const gate = Promise.withResolvers<void>();
    test.api.gate = gate.promise;
    const { ticket, sessionId } = test.api.issue({ realtime: true });
    const asked = test.api.redeems.length;
    const client = connect(test, ticket);
    await once(client, 'open');
    await until(() => test.api.redeems.length > asked);
    await closesAs(t, way, client);
    await readiness(test);
    test.api.gate = Promise.resolve();
    gate.resolve();
    const ended = await test.events.next('call_ended', sessionId);
    t.match(
      ended.data,
      { ...way.before, answered_at: null, duration_ms: 0, turns: [] },
      `${way.name}: is reported`,
    );
    t.equal('hangup_reason' in ended.data && 'failure_reason' in ended.data, false);
    t.same(test.events.of(sessionId, 'call_started'), [], `${way.name}: no call began`);
    t.same(
      test.calls.filter((call) => call.sessionId === sessionId),
      [],
      `${way.name}: none was opened`,
    );
    await admitsAnother(t, test, way.name);
  }
});

void t.test('gone before its connection stands: nothing is left of it', async (t) => {
  const test = await openOneSlot(t);
  const { ticket, sessionId } = test.api.issue({ realtime: true });
  const client = connect(test, ticket);
  client.on('error', () => {});
  client.terminate();
  await admitsAnother(t, test, 'the client vanishes');
  t.same(test.events.of(sessionId, 'call_started'), []);
});

void t.test('gone while its token is refused: there is nothing to report', async (t) => {
  const test = await openOneSlot(t);
  for (const way of WAYS) {
    const gate = Promise.withResolvers<void>();
    test.api.gate = gate.promise;
    const { ticket, sessionId } = test.api.issue({ realtime: true });
    const client = connect(test, ticket);
    await once(client, 'open');
    await closesAs(t, way, client);
    test.api.faults.push({ status: 409, code: 'session_over' });
    test.api.gate = Promise.resolve();
    gate.resolve();
    await admitsAnother(t, test, way.name);
    t.same(test.events.of(sessionId, 'call_ended'), [], `${way.name}: there is nothing to report`);
  }
});

void t.test('gone once it has begun: the call ends', async (t) => {
  const test = await openOneSlot(t);
  for (const way of WAYS) {
    const { ticket, sessionId } = test.api.issue({ realtime: true });
    const client = connect(test, ticket);
    await once(client, 'message');
    // 70 events are no flood for a session that handles them.
    if (way.closed?.[1] === 'too_many_events') {
      way.act(client);
      client.close(1000);
    } else await closesAs(t, way, client);
    const ended = await test.events.next('call_ended', sessionId);
    t.match(ended.data, { answered_at: String, ended_by: String }, `${way.name}: is reported`);
    await until(() => test.gateway.calls === 0);
    await admitsAnother(t, test, way.name);
  }
});

void t.test('lost on the way back: the conversation waits, in sight of whoever looks', async (t) => {
  const over = Promise.withResolvers<void>();
  const openCall = (deps: CallDeps) => new EchoCall(deps, { awaitedUntil: over.promise });
  const test = await openTestGateway(t, { deps: { openCall } });
  const gate = Promise.withResolvers<void>();
  test.api.gate = gate.promise;
  const { ticket, sessionId } = test.api.issue({
    realtime: true,
    plan: { leg: 1, first_event_index: 100_000, answered_at: new Date().toISOString() },
  });
  const client = connect(test, ticket);
  await once(client, 'open');
  await until(() => test.api.redeems.length > 0);
  const closed = closeOf(client);
  client.terminate();
  await closed;
  await readiness(test);
  gate.resolve();
  await until(() => test.gateway.calls === 1);
  t.match(await readiness(test), { status: 'ready', calls: 1, calls_without_socket: 1 });
  over.resolve();
  await test.events.next('call_ended', sessionId);
  await until(() => test.gateway.calls === 0);
  t.match(await readiness(test), { calls: 0, calls_without_socket: 0 });
});

void t.test('hung up on the way back: the conversation is over', async (t) => {
  const test = await openOneSlot(t);
  const gate = Promise.withResolvers<void>();
  test.api.gate = gate.promise;
  const answeredAt = new Date(Date.now() - 5000).toISOString();
  const { ticket, sessionId } = test.api.issue({
    realtime: true,
    plan: { leg: 1, first_event_index: 100_000, answered_at: answeredAt, variables: { name: 'Ada' } },
  });
  const client = connect(test, ticket);
  await once(client, 'open');
  await until(() => test.api.redeems.length > 0);
  const closed = closeOf(client);
  client.close(1000);
  await closed;
  gate.resolve();
  const ended = await test.events.next('call_ended', sessionId);
  t.match(
    ended.data,
    { ...LEFT, answered_at: answeredAt, variables: { name: 'Ada' } },
    'with all that it was',
  );
  t.equal(test.calls.length, 0);
});
