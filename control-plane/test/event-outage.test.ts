import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { createLogger, silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { listDeadLetters, replayDeadLetters } from '../src/jobs/dead-letters.ts';
import { openFailingStore, type FailingStore } from './fixtures/failing-store.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane, type TestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';

// The driver looks for its server again only after a while.
t.setTimeout(180_000);

/** Longer than an event that failed waits for its next delivery. */
const CLAIM_MS = 31_000;

interface World {
  plane: TestControlPlane;
  clock: ManualClock;
  store: FailingStore;
  gateway: TestGateway;
  plan: TestPlan;
  /** Warnings and errors that were logged. */
  lines: { msg: string; deadLetters?: number; command?: string }[];
}

/** A call under way, and a database that can be taken away. */
async function openWorld(t: Test): Promise<World> {
  const database = await openDocumentStore({ path: join(t.testdir(), 'parley.db') });
  t.teardown(() => database[Symbol.asyncDispose]());
  const store = await openFailingStore(database.uri);
  t.teardown(() => store[Symbol.asyncDispose]());
  const clock = new ManualClock(Date.now());
  const lines: World['lines'] = [];
  const logger = createLogger({
    name: 'test',
    level: 'warn',
    destination: { write: (line: string) => void lines.push(JSON.parse(line) as World['lines'][number]) },
  });
  const plane = await openTestControlPlane({ clock, logger, env: { MONGODB_URI: store.uri } });
  t.teardown(() => {
    store.mode = 'well';
    return plane[Symbol.asyncDispose]();
  });
  const gateway = new TestGateway(plane);
  const { body } = await plane.call<SessionResponse>('POST', '/v1/sessions', {
    body: { channel: 'telephony', provider: 'plivo' },
  });
  const start = { carrier_call_id: randomUUID() };
  const plan = (await gateway.redeem({ ticket: body.ws_ticket!, start })).body;
  return { plane, clock, store, gateway, plan, lines };
}

/** A turn, a tool that was called, and something to do at the carrier. */
function eventsOf({ gateway, plan }: World) {
  const about = { tool_call_id: 'call_1', tool_id: null, name: 'look_up' };
  return [
    gateway.started(plan),
    gateway.turn(plan, 0, 'agent', 'Hello, this is Acme.'),
    gateway.event(plan, 'tool_started', { ...about, arguments: '{}' }),
    gateway.event(plan, 'tool_finished', { ...about, ok: true, result: '{}', duration_ms: 5 }),
    gateway.event(plan, 'carrier_command', { command_id: 'cmd_1', action: 'hangup', args: {} }),
  ];
}

/** What came of the events, each once. */
async function assertAllHandled(t: Test, { plane, plan }: World): Promise<void> {
  const of = async <T>(what: string) =>
    (await plane.call<{ items: T[] }>('GET', `/v1/sessions/${plan.session_id}/${what}`)).body.items;
  t.match(await of('transcript'), [{ index: 0, text: 'Hello, this is Acme.' }]);
  const { org, project } = plane.first;
  const calls = await plane.call<{ items: object[] }>(
    'GET',
    `/v1/orgs/${org._id}/projects/${project._id}/tool-calls`,
  );
  t.match(calls.body.items, [{ tool_name: 'look_up', ok: true }]);
  const types = (await of<{ type: string }>('events?limit=200')).map((event) => event.type);
  for (const type of ['call_started', 'turn', 'tool_started', 'tool_finished', 'carrier_command']) {
    t.equal(types.filter((other) => other === type).length, 1, type);
  }
}

void t.test('an outage of the database longer than five deliveries buries no event', async (t) => {
  const world = await openWorld(t);
  const { plane, clock, store, gateway, lines } = world;
  const inbox = await gateway.commands();
  t.teardown(() => inbox.close());
  store.mode = 'down';
  await plane.bus.events.append(eventsOf(world));
  await eventually(async () => {
    clock.advance(CLAIM_MS);
    return lines.filter(({ msg }) => msg === 'call events could not be read').length >= 8;
  });
  t.equal(await plane.bus.events.deadLetters.count(), 0);
  store.mode = 'well';
  const result = inbox.next('carrier_result');
  await eventually(async () => {
    clock.advance(1000);
    return inbox.all.some((command) => command.type === 'carrier_result');
  });
  t.match((await result).args, { command_id: 'cmd_1' });
  await assertAllHandled(t, world);
});

void t.test('an event the database refuses is given up, told of, and replayed once', async (t) => {
  const world = await openWorld(t);
  const { plane, clock, store, gateway, lines } = world;
  const events = eventsOf(world);
  store.mode = 'failing';
  await plane.bus.events.append(events);
  await eventually(async () => {
    clock.advance(CLAIM_MS);
    return (await plane.bus.events.deadLetters.count()) === events.length;
  });
  store.mode = 'well';
  const ready = await plane.call<{ status: string; checks: { name: string }[] }>('GET', '/health/ready', {
    token: null,
  });
  t.equal(ready.body.status, 'ok', 'the API stays');
  t.match(
    ready.body.checks.find(({ name }) => name === 'dead_letters'),
    {
      ok: false,
      detail: '5 call events could not be processed. Run: npm run admin -- dead-letters list',
    },
  );
  await eventually(async () => lines.some((line) => line.deadLetters === events.length));
  t.match(
    lines.find((line) => line.deadLetters === events.length),
    { command: 'npm run admin -- dead-letters list' },
  );

  const inbox = await gateway.commands();
  t.teardown(() => inbox.close());
  t.equal(await replayDeadLetters(plane.bus.events.deadLetters, []), '5 replayed\n');
  // What fails once more while the driver finds its server again waits for its next delivery.
  await eventually(async () => {
    clock.advance(1000);
    return inbox.all.some((command) => command.type === 'carrier_result');
  });
  await assertAllHandled(t, world);
  t.equal(await replayDeadLetters(plane.bus.events.deadLetters, []), '0 replayed\n');
});

void t.test('two letters of one event are replayed as one, and what is no event stays', async (t) => {
  const bus = await openLocalBus({ path: ':memory:', logger: silentLogger() });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const { plane, gateway, plan } = await openWorld(t);
  const event = gateway.turn(plan, 0, 'agent', 'Hello');
  const broken = { ...event, v: 2 } as unknown as typeof event;
  await bus.events.append([event, event, broken]);
  const refusing = bus.events.consume({
    consumer: 'one',
    maxDeliveries: 1,
    handle: () => Promise.reject(new Error('Refused.')),
  });
  await eventually(async () => (await bus.events.deadLetters.count()) === 3);
  await refusing[Symbol.asyncDispose]();
  t.match(await replayDeadLetters(bus.events.deadLetters, []), /^1 replayed\n1 could not be replayed/);
  t.match(await listDeadLetters(bus.events.deadLetters), /not a call event {2}malformed: v\n/);
  const { callEvents } = plane.app.services;
  const handled: string[] = [];
  bus.events.consume({
    consumer: 'two',
    handle: async (event) => {
      await callEvents.handle(event);
      handled.push(event.id);
    },
  });
  await eventually(async () => handled.length > 0);
  t.same(handled, [event.id]);
});
