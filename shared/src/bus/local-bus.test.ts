import { join } from 'node:path';
import { stat } from 'node:fs/promises';
import t from 'tap';
import { runScript } from '../../test/fixtures/run-script.ts';
import { uuidV7 } from '../ids/new-id.ts';
import { silentLogger } from '../logging/logger.ts';
import type { Clock } from '../time/clock.ts';
import { ManualClock } from '../time/manual-clock.ts';
import { busConformance, callEvent, until } from './bus.conformance.ts';
import { giveUpConformance } from './give-up.conformance.ts';
import { openLocalBus } from './local-bus.ts';

const logger = silentLogger();

const open = (options?: { clock?: Clock }) => openLocalBus({ path: ':memory:', logger, ...options });
busConformance(t, open);
giveUpConformance(t, open);

void t.test('events outlive the bus, whatever the number of partitions becomes', async (t) => {
  const path = join(t.testdir(), 'events.db');
  const sessions = Array.from({ length: 20 }, () => uuidV7());
  const first = await openLocalBus({ path, partitions: 8, logger });
  await first.events.append(sessions.map((id) => callEvent(id, 0)));
  await first[Symbol.asyncDispose]();
  t.equal((await stat(path)).mode & 0o077, 0, 'nobody else may read what was said');

  const second = await openLocalBus({ path, partitions: 3, logger });
  t.teardown(() => second[Symbol.asyncDispose]());
  await second.events.append(sessions.map((id) => callEvent(id, 1)));
  const seen = new Map<string, number[]>();
  second.events.consume({
    consumer: 'one',
    handle: async (event) => {
      seen.set(event.session_id, [...(seen.get(event.session_id) ?? []), event.index]);
    },
  });
  await until('all events', () => [...seen.values()].flat().length === 40);
  for (const id of sessions) t.same(seen.get(id), [0, 1]);
});

void t.test('a killed process loses no event that was accepted, and its consumer no turn', async (t) => {
  const path = join(t.testdir(), 'events.db');
  const child = runScript('local-bus-writer.ts', [path]);
  const accepted: string[] = [];
  let handling: string | undefined;
  for await (const line of child.lines) {
    const [word, id] = line.split(' ');
    if (word === 'accepted') accepted.push(id!);
    if (word === 'handling') handling = id!;
    if (accepted.length >= 200 && handling) child.kill();
  }
  const [, signal] = await child.exited;
  t.equal(signal, 'SIGKILL');

  const bus = await openLocalBus({ path, logger });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const found = new Map<string, number>();
  const indexes: number[] = [];
  bus.events.consume({
    consumer: 'two',
    handle: async (event, delivery) => {
      found.set(event.id, delivery);
      indexes.push(event.index);
    },
  });
  await until('every accepted event', () => accepted.every((id) => found.has(id)));
  t.equal(found.get(handling!), 2, 'what was being handled is tried again at once: its process is gone');
  t.same(
    indexes,
    [...indexes].sort((a, b) => a - b),
    'in order',
  );
});

void t.test('a second process is told that the log is in use', async (t) => {
  const path = join(t.testdir(), 'events.db');
  const bus = await openLocalBus({ path, logger });
  t.teardown(() => bus[Symbol.asyncDispose]());
  await t.rejects(openLocalBus({ path, logger }), { message: /events\.db cannot be opened: .*locked/ });
  await t.rejects(openLocalBus({ path: join(path, 'under-a-file'), logger }), /cannot be opened/);
});

void t.test('what the running process told is forgotten in time', async (t) => {
  const clock = new ManualClock();
  const bus = await openLocalBus({ path: ':memory:', logger, clock });
  t.teardown(() => bus[Symbol.asyncDispose]());
  await bus.presence.holdCalls('gw_a', ['s1']);
  await bus.presence.beat({
    gateway_id: 'gw_a',
    url: '',
    capacity: 1,
    calls: 1,
    loop_delay_p99_ms: 0,
    draining: false,
    version: '',
  });
  clock.advance(14_999);
  t.equal((await bus.presence.gateways()).length, 1);
  clock.advance(1);
  t.equal((await bus.presence.gateways()).length, 0);
  t.same(await bus.presence.callHolders(['s1']), ['gw_a']);
  clock.advance(15_000);
  t.same(await bus.presence.callHolders(['s1']), [null]);
});

void t.test('a process that closes its bus ends by itself', async (t) => {
  const child = runScript('bus-exit.ts');
  t.same(await child.exited, [0, null]);
});
