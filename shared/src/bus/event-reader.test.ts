import t from 'tap';
import { uuidV7 } from '../ids/new-id.ts';
import { silentLogger } from '../logging/logger.ts';
import { ManualClock } from '../time/manual-clock.ts';
import { callEvent } from './bus.conformance.ts';
import { EventReader } from './event-reader.ts';
import type { EventStore, StoredEvent } from './event-store.ts';

const turns = async (n = 20) => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** A log of one partition with these events, and leases that may become silent. */
function open(events: StoredEvent[], handle: () => Promise<void>) {
  const clock = new ManualClock();
  const acknowledged: string[] = [];
  let read = false;
  const leases = { silent: false, asked: 0 };
  const store: EventStore = {
    partitions: 1,
    read({ signal }) {
      if (!read) {
        read = true;
        return Promise.resolve(events);
      }
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve([]), { once: true }));
    },
    pending: () => Promise.resolve([]),
    claim: () => Promise.resolve(null),
    countDeliveries: () => Promise.resolve(),
    acknowledge: (_partition, id) => Promise.resolve(void acknowledged.push(id)),
    bury: () => Promise.resolve(),
    trim: () => Promise.resolve(),
    join: () => Promise.resolve(1),
    leave: () => Promise.resolve(),
  };
  let handled = 0;
  const reader = new EventReader({
    store,
    clock,
    logger: silentLogger(),
    leases: {
      acquire() {
        leases.asked++;
        return leases.silent ? Promise.reject(new Error('the bus is away')) : Promise.resolve(true);
      },
      release: () => Promise.resolve(),
    },
    options: {
      consumer: 'one',
      leaseMs: 15_000,
      handle: () => {
        handled++;
        return handle();
      },
    },
  });
  return {
    clock,
    reader,
    leases,
    acknowledged,
    get handled() {
      return handled;
    },
  };
}

void t.test('a lease that cannot be renewed ends: what waits is left to whoever takes over', async (t) => {
  const sessionId = uuidV7();
  const stored = [0, 1].map((index) => {
    const event = callEvent(sessionId, index);
    return { partition: 0, id: String(index + 1), sessionId, body: JSON.stringify(event) };
  });
  let ends = Promise.withResolvers<void>();
  const scene = open(stored, () => ends.promise);
  t.teardown(() => scene.reader[Symbol.asyncDispose]());
  await turns();
  t.equal(scene.handled, 1, 'events of one session come one after another');
  // A lease is renewed each third of its time.
  for (let i = 0; i < 6; i++) {
    scene.clock.advance(5000);
    await turns();
  }
  t.equal(scene.leases.asked, 7, 'taken once, then renewed');
  scene.leases.silent = true;
  for (let i = 0; i < 4; i++) {
    scene.clock.advance(5000);
    await turns();
  }
  const first = ends;
  ends = Promise.withResolvers();
  first.resolve();
  await turns();
  t.same(scene.acknowledged, ['1'], 'what was in hand is done');
  t.equal(scene.handled, 1, 'the second one is for the next holder');
});
