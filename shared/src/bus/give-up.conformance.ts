import type { Test } from 'tap';
import { uuidV7 } from '../ids/new-id.ts';
import type { CallEvent } from '../contracts/call-events.ts';
import { callEvent, until } from './bus.conformance.ts';
import type { Bus } from './bus.ts';

class OutageError extends Error {}

const isOutage = (error: unknown) => error instanceof OutageError;

/** Every bus passes this too: events that fail are given up, held through an outage, replayed. */
export function giveUpConformance(t: Test, open: () => Promise<Bus>): void {
  async function openIn(t: Test): Promise<Bus> {
    const bus = await open();
    t.teardown(() => bus[Symbol.asyncDispose]());
    return bus;
  }

  void t.test('an event that never succeeds ends in the dead letters, and its session goes on', async (t) => {
    const bus = await openIn(t);
    const sessionId = uuidV7();
    const deliveries: number[] = [];
    const dead: { event: unknown; reason: string }[] = [];
    const events = [callEvent(sessionId, 0), callEvent(sessionId, 1)];
    await bus.events.append(events);
    await new Promise<void>((resolve) => {
      bus.events.consume({
        consumer: 'one',
        claimAfterMs: 20,
        maxDeliveries: 3,
        onDead: (event, reason) => dead.push({ event, reason }),
        handle: async (event, delivery) => {
          if (event.index === 1) return resolve();
          deliveries.push(delivery);
          throw new Error('It can never be done.');
        },
      });
    });
    t.same(deliveries, [1, 2, 3]);
    t.same(dead, [{ event: events[0], reason: 'It can never be done.' }]);
    const [letter, ...more] = await bus.events.deadLetters.list({ limit: 10 });
    t.match(letter, dead[0]!);
    t.same(more, []);
    t.ok(Math.abs(letter!.at.getTime() - Date.now()) < 60_000, 'it says when');
  });

  void t.test('what is no event goes to the dead letters unseen', async (t) => {
    const bus = await openIn(t);
    const sessionId = uuidV7();
    const broken = { ...callEvent(sessionId, 0), id: 'no id', v: 2 } as unknown as CallEvent;
    await bus.events.append([broken, callEvent(sessionId, 1)]);
    const indexes: number[] = [];
    bus.events.consume({
      consumer: 'one',
      handle: async (event) => {
        indexes.push(event.index);
      },
    });
    await until('the good one', () => indexes.length > 0);
    t.same(indexes, [1]);
    const [letter] = await bus.events.deadLetters.list({ limit: 10 });
    t.match(letter, { event: broken, reason: 'malformed: v, id' });
    t.equal(await bus.events.deadLetters.replay(letter!), false, 'it would only be given up again');
    t.equal(await bus.events.deadLetters.count(), 1);
  });

  void t.test('dead letters are counted, and listed from the oldest on', async (t) => {
    const bus = await openIn(t);
    await giveUp(
      bus,
      [0, 1, 2].map((i) => callEvent(uuidV7(), i)),
    );
    const { deadLetters } = bus.events;
    t.equal(await deadLetters.count(), 3);
    const first = await deadLetters.list({ limit: 2 });
    const rest = await deadLetters.list({ limit: 2, after: first.at(-1)!.id });
    t.same([first.length, rest.length], [2, 1]);
    const reasons = [...first, ...rest].map((letter) => letter.reason).sort();
    t.same(reasons, ['refused 0', 'refused 1', 'refused 2']);
    await deadLetters.remove(rest[0]!.id);
    t.equal(await deadLetters.count(), 2);
  });

  void t.test('a letter that is replayed is delivered once, however many replay it', async (t) => {
    const bus = await openIn(t);
    const event = callEvent(uuidV7(), 0);
    await giveUp(bus, [event]);
    const [letter] = await bus.events.deadLetters.list({ limit: 1 });
    const replays = await Promise.all([1, 2, 3].map(() => bus.events.deadLetters.replay(letter!)));
    t.same(replays.sort(), [false, false, true]);
    t.equal(await bus.events.deadLetters.count(), 0);
    const last = callEvent(event.session_id, 1);
    await bus.events.append([last]);
    const got: CallEvent[] = [];
    bus.events.consume({
      consumer: 'two',
      handle: async (event, delivery) => {
        t.equal(delivery, 1);
        got.push(event);
      },
    });
    await until('the event behind it', () => got.some(({ id }) => id === last.id));
    t.same(got, [event, last]);
  });

  void t.test('an outage longer than all deliveries loses nothing and counts for none', async (t) => {
    const bus = await openIn(t);
    const sessions = Array.from({ length: 12 }, () => uuidV7());
    const tries = 8;
    let failures = 0;
    let running = 0;
    let together = 0;
    const handled: string[] = [];
    bus.events.consume({
      consumer: 'one',
      claimAfterMs: 20,
      maxDeliveries: 2,
      isOutage,
      handle: async (event, delivery) => {
        running++;
        // All that was under way when it began has failed by then.
        if (failures > sessions.length && failures < sessions.length + tries)
          together = Math.max(together, running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        if (failures < sessions.length + tries) {
          failures++;
          throw new OutageError('The database is away.');
        }
        if (delivery !== 1) t.fail(`delivery ${delivery}`);
        handled.push(`${event.session_id} ${event.index}`);
      },
    });
    await bus.events.append(sessions.flatMap((id) => [0, 1].map((i) => callEvent(id, i))));
    await until('all events', () => handled.length === sessions.length * 2);
    t.equal(together, 1, 'one at a time finds out whether it is back');
    for (const id of sessions) {
      t.same(
        handled.filter((line) => line.startsWith(id)),
        [`${id} 0`, `${id} 1`],
        'in order',
      );
    }
    t.equal(await bus.events.deadLetters.count(), 0);
  });

  void t.test('an event of a fault of its own is given up in the middle of an outage', async (t) => {
    const bus = await openIn(t);
    const [poisoned, other] = [uuidV7(), uuidV7()];
    const deliveries: number[] = [];
    const handled: string[] = [];
    let outage = 4;
    bus.events.consume({
      consumer: 'one',
      claimAfterMs: 20,
      maxDeliveries: 3,
      isOutage,
      handle: async (event, delivery) => {
        if (outage-- > 0) throw new OutageError('The database is away.');
        if (event.session_id === poisoned && event.index === 0) {
          deliveries.push(delivery);
          throw new Error('It can never be done.');
        }
        handled.push(event.session_id);
      },
    });
    await bus.events.append([callEvent(poisoned, 0), callEvent(poisoned, 1), callEvent(other, 0)]);
    await until('the others', () => handled.length === 2);
    t.same(handled.sort(), [poisoned, other].sort());
    t.equal(deliveries.length >= 3, true, 'tried as often as any other');
    t.same(
      (await bus.events.deadLetters.list({ limit: 10 })).map(({ reason }) => reason),
      ['It can never be done.'],
    );
  });

  void t.test('a consumer that leaves in an outage hands its events over undelivered', async (t) => {
    const bus = await openIn(t);
    const sessions = Array.from({ length: 5 }, () => uuidV7());
    await bus.events.append(sessions.flatMap((id) => [callEvent(id, 0), callEvent(id, 1)]));
    for (const consumer of ['first', 'second', 'third', 'fourth']) {
      const failed = Promise.withResolvers<void>();
      const held = bus.events.consume({
        consumer,
        claimAfterMs: 10,
        maxDeliveries: 2,
        isOutage,
        onError: () => failed.resolve(),
        handle: () => Promise.reject(new OutageError('The database is away.')),
      });
      await failed.promise;
      await held[Symbol.asyncDispose]();
    }
    const handled: number[] = [];
    bus.events.consume({
      consumer: 'last',
      claimAfterMs: 10,
      maxDeliveries: 2,
      isOutage,
      handle: async (event, delivery) => {
        handled.push(delivery);
        t.ok(event.index === 1 || delivery <= 2, `delivery ${delivery}`);
      },
    });
    await until('all events', () => handled.length === sessions.length * 2);
    t.equal(await bus.events.deadLetters.count(), 0);
  });
}

/** Lets every one of the events be refused for good. */
async function giveUp(bus: Bus, events: readonly CallEvent[]): Promise<void> {
  let dead = 0;
  const consumer = bus.events.consume({
    consumer: 'one',
    maxDeliveries: 1,
    onDead: () => dead++,
    handle: (event) => Promise.reject(new Error(`refused ${event.index}`)),
  });
  await bus.events.append(events);
  await until('all given up', () => dead === events.length);
  await consumer[Symbol.asyncDispose]();
}
