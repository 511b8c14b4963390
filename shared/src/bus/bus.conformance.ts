import type { Test } from 'tap';
import { newId, uuidV7 } from '../ids/new-id.ts';
import type { CallEvent } from '../contracts/call-events.ts';
import type { GatewayCommand } from '../contracts/commands.ts';
import type { LiveEntry } from '../contracts/live-events.ts';
import type { Clock } from '../time/clock.ts';
import { ManualClock } from '../time/manual-clock.ts';
import type { Bus, ConsumeOptions } from './bus.ts';

export function callEvent(sessionId: string, index: number, more: Partial<CallEvent> = {}): CallEvent {
  return {
    v: 1,
    id: newId('evt'),
    session_id: sessionId,
    gateway_id: 'gw_test',
    claim_id: 'claim-1',
    index,
    at: '2026-01-01T00:00:00.000Z',
    offset_ms: index * 20,
    type: 'turn_decision',
    data: { text: 'naïve ☎' },
    ...more,
  };
}

export function gatewayCommand(more: Partial<GatewayCommand> = {}): GatewayCommand {
  return {
    v: 1,
    command_id: newId('req'),
    session_id: uuidV7(),
    type: 'say',
    args: { text: 'Hello.' },
    expires_at: '2026-01-01T00:00:00.000Z',
    ...more,
  };
}

/** Something that is waited for; fails the test rather than waiting for ever. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Every bus passes this. `open` gives a bus with nothing in it. */
export function busConformance(t: Test, open: (options?: { clock?: Clock }) => Promise<Bus>): void {
  async function openIn(t: Test, options?: { clock?: Clock }): Promise<Bus> {
    const bus = await open(options);
    t.teardown(() => bus[Symbol.asyncDispose]());
    return bus;
  }

  void t.test('events of a session come one after another, in order, and once', async (t) => {
    const bus = await openIn(t);
    const sessions = Array.from({ length: 30 }, () => uuidV7());
    const seen = new Map<string, number[]>(sessions.map((id) => [id, []]));
    const running = new Set<string>();
    let together = 0;
    let handled = 0;
    const consumer = bus.events.consume({
      consumer: 'one',
      handle: async (event, delivery) => {
        if (running.has(event.session_id)) t.fail('two events of a session at once');
        running.add(event.session_id);
        together = Math.max(together, running.size);
        await new Promise((resolve) => setImmediate(resolve));
        running.delete(event.session_id);
        seen.get(event.session_id)!.push(event.index);
        if (delivery !== 1) t.fail(`delivery ${delivery}`);
        handled++;
      },
    });
    for (let index = 0; index < 20; index += 4) {
      await Promise.all(
        sessions.map((id) => bus.events.append([0, 1, 2, 3].map((i) => callEvent(id, index + i)))),
      );
    }
    await until('all events', () => handled === sessions.length * 20);
    await consumer[Symbol.asyncDispose]();
    for (const indexes of seen.values()) {
      t.same(
        indexes,
        Array.from({ length: 20 }, (_, i) => i),
      );
    }
    t.ok(together > 1, 'sessions side by side');
  });

  void t.test('an event arrives as it was appended', async (t) => {
    const bus = await openIn(t);
    const event = callEvent(uuidV7(), 7, { data: { nested: { list: [1, null, 'two'] } } });
    await bus.events.append([event]);
    await bus.events.append([]);
    const got = await new Promise<CallEvent>((resolve) => {
      bus.events.consume({ consumer: 'one', handle: async (event) => resolve(event) });
    });
    t.same(got, event);
  });

  void t.test('a failed event comes again before the later ones of its session, others go on', async (t) => {
    const bus = await openIn(t);
    const [failing, other] = [uuidV7(), uuidV7()];
    const order: string[] = [];
    const errors: unknown[] = [];
    let failures = 2;
    bus.events.consume({
      consumer: 'one',
      claimAfterMs: 50,
      onError: (error) => errors.push(error),
      handle: async (event, delivery) => {
        if (event.session_id === failing && event.index === 1 && failures-- > 0) throw new Error('Not now.');
        order.push(`${event.session_id === failing ? 'failing' : 'other'} ${event.index} (${delivery})`);
      },
    });
    await bus.events.append([0, 1, 2].map((i) => callEvent(failing, i)));
    await until('the first failure', () => errors.length > 0);
    await bus.events.append([callEvent(failing, 3), callEvent(other, 0)]);
    await until('everything', () => order.length === 5);
    t.same(
      order.filter((line) => line.startsWith('failing')),
      ['failing 0 (1)', 'failing 1 (3)', 'failing 2 (1)', 'failing 3 (1)'],
    );
    t.ok(order.includes('other 0 (1)'));
    t.equal(errors.filter((error) => (error as Error).message === 'Not now.').length, 2);
    t.equal(await bus.events.deadLetters.count(), 0);
  });

  void t.test(
    'a consumer that leaves lets its handlers end, and another goes on where it stopped',
    async (t) => {
      const bus = await openIn(t);
      const sessionId = uuidV7();
      const order: string[] = [];
      let release!: () => void;
      const released = new Promise<void>((resolve) => (release = resolve));
      let begun!: () => void;
      const hasBegun = new Promise<void>((resolve) => (begun = resolve));
      const first = bus.events.consume({
        consumer: 'first',
        handle: async (event) => {
          begun();
          await released;
          order.push(`first ${event.index}`);
        },
      });
      await bus.events.append([callEvent(sessionId, 0)]);
      await hasBegun;
      let left = false;
      const leaving = first[Symbol.asyncDispose]().then(() => (left = true));
      await bus.ping();
      t.notOk(left, 'it waits for its handler');
      release();
      await leaving;
      await first[Symbol.asyncDispose]();
      await bus.events.append([callEvent(sessionId, 1)]);
      bus.events.consume({
        consumer: 'second',
        handle: async (event) => {
          order.push(`second ${event.index}`);
        },
      });
      await until('the second event', () => order.length === 2);
      t.same(order, ['first 0', 'second 1']);
    },
  );

  void t.test('what a consumer failed at is held back by the next one too', async (t) => {
    const bus = await openIn(t);
    const sessionId = uuidV7();
    let failed!: () => void;
    const hasFailed = new Promise<void>((resolve) => (failed = resolve));
    const first = bus.events.consume({
      consumer: 'first',
      onError: () => failed(),
      handle: () => Promise.reject(new Error('Not here.')),
    });
    await bus.events.append([callEvent(sessionId, 0), callEvent(sessionId, 1)]);
    await hasFailed;
    await first[Symbol.asyncDispose]();
    await bus.events.append([callEvent(sessionId, 2)]);
    const order: string[] = [];
    bus.events.consume({
      consumer: 'second',
      claimAfterMs: 50,
      handle: async (event, delivery) => {
        order.push(`${event.index} (${delivery})`);
      },
    });
    await until('all three', () => order.length === 3);
    t.equal(order[0], '0 (2)');
    t.match(order[1], /^1 /);
    t.equal(order[2], '2 (1)');
  });

  void t.test('several consumers share the work and keep the order while they come and go', async (t) => {
    const bus = await openIn(t);
    const sessions = Array.from({ length: 24 }, () => uuidV7());
    const seen = new Map<string, number[]>(sessions.map((id) => [id, []]));
    const by = new Set<string>();
    const consume = (consumer: string, more: Partial<ConsumeOptions> = {}) =>
      bus.events.consume({
        consumer,
        // Long enough that no slow machine lets it lapse: handing over keeps the order, losing does not.
        leaseMs: 4500,
        claimAfterMs: 4500,
        batch: 8,
        handle: async (event) => {
          await new Promise((resolve) => setImmediate(resolve));
          by.add(consumer);
          seen.get(event.session_id)!.push(event.index);
        },
        ...more,
      });
    const a = consume('a');
    let index = 0;
    const appendSome = async () => {
      await bus.events.append(sessions.map((id) => callEvent(id, index)));
      index++;
    };
    await until('a has begun', async () => (await appendSome(), by.has('a')));
    const b = consume('b');
    await until('b has its share', async () => (await appendSome(), by.has('b')));
    await a[Symbol.asyncDispose]();
    const last = index;
    await appendSome();
    await until('b has got everything', () => [...seen.values()].every((list) => list.includes(last)));
    await b[Symbol.asyncDispose]();
    for (const list of seen.values()) {
      t.same(
        list,
        Array.from({ length: index }, (_, i) => i),
      );
    }
  });

  void t.test('what a consumer that died had in hand is taken up when its lease is over', async (t) => {
    const bus = await openIn(t);
    const inHand = Promise.withResolvers<void>();
    let begun = 0;
    bus.events.consume({
      consumer: 'dead',
      leaseMs: 60_000,
      handle: () => (begun++, inHand.promise),
    });
    await bus.events.append(Array.from({ length: 24 }, () => callEvent(uuidV7(), 0)));
    await until('all are in hand', () => begun === 24);
    // As after the end of its lease: nobody holds the partitions.
    for (let partition = 0; partition < 8; partition++)
      await bus.leases.release(`events:${partition}`, 'dead');
    let takenUp = 0;
    bus.events.consume({
      consumer: 'heir',
      leaseMs: 300,
      claimAfterMs: 3_600_000,
      handle: async (_event, delivery) => void (takenUp += delivery === 2 ? 1 : 0),
    });
    await until('its share is taken up', () => takenUp > 0);
    inHand.resolve();
  });

  void t.test('a consumer whose partitions were taken from it goes on with its share', async (t) => {
    const bus = await openIn(t);
    const sessions = Array.from({ length: 16 }, () => uuidV7());
    const seen = new Map<string, Set<number>>(sessions.map((id) => [id, new Set()]));
    const by = { robbed: 0, thief: 0 };
    const consume = (consumer: 'robbed' | 'thief') =>
      bus.events.consume({
        consumer,
        leaseMs: 1500,
        claimAfterMs: 300,
        handle: async (event) => {
          by[consumer]++;
          seen.get(event.session_id)!.add(event.index);
        },
      });
    let index = 0;
    const appendSome = async () => {
      await bus.events.append(sessions.map((id) => callEvent(id, index)));
      index++;
    };
    consume('robbed');
    await until('the first consumer has begun', async () => (await appendSome(), by.robbed > 0));
    for (let partition = 0; partition < 8; partition++) {
      await bus.leases.release(`events:${partition}`, 'robbed');
      t.ok(await bus.leases.acquire(`events:${partition}`, 'thief', 60_000));
    }
    consume('thief');
    await until('the second has begun', async () => (await appendSome(), by.thief > 0));
    const before = by.robbed;
    await until('the first is at it again', async () => (await appendSome(), by.robbed > before + 16));
    // While two believe that a partition is theirs, order can't be promised; that nothing is lost can.
    await until('everything is handled', () => [...seen.values()].every((indexes) => indexes.size === index));
  });

  void t.test('commands reach one gateway in order, from the oldest kept', async (t) => {
    const bus = await openIn(t);
    const commands = Array.from({ length: 5 }, (_, i) => gatewayCommand({ args: { text: `${i}` } }));
    await bus.commands.send('gw_a', commands[0]!);
    await bus.commands.send('gw_a', commands[1]!);
    await bus.commands.send('gw_b', gatewayCommand());
    const got: GatewayCommand[] = [];
    const errors: unknown[] = [];
    const subscription = await bus.commands.subscribe(
      'gw_a',
      (command) => {
        got.push(command);
        if (got.length === 1) throw new Error('The first one is not liked.');
      },
      (error) => errors.push(error),
    );
    for (const command of commands.slice(2)) await bus.commands.send('gw_a', command);
    await until('all commands', () => got.length === 5);
    t.same(got, commands);
    t.equal(errors.length, 1);

    await subscription[Symbol.asyncDispose]();
    await subscription[Symbol.asyncDispose]();
    await bus.commands.send('gw_a', gatewayCommand());
    const again: GatewayCommand[] = [];
    const second = await bus.commands.subscribe('gw_a', (command) => again.push(command));
    await until('everything once more', () => again.length === 6);
    t.equal(got.length, 5, 'nothing after the end of the subscription');
    await second[Symbol.asyncDispose]();
  });

  void t.test('a lease has one owner until it is given back or ends', async (t) => {
    const bus = await openIn(t);
    const { leases } = bus;
    t.equal(await leases.acquire('reaper', 'a', 60_000), true);
    t.equal(await leases.acquire('reaper', 'b', 60_000), false);
    t.equal(await leases.acquire('other', 'b', 60_000), true, 'names are apart');
    t.equal(await leases.acquire('reaper', 'a', 60_000), true, 'its owner renews it');
    await leases.release('reaper', 'b');
    t.equal(await leases.acquire('reaper', 'b', 60_000), false, 'only the owner gives it back');
    await leases.release('reaper', 'a');
    t.equal(await leases.acquire('reaper', 'b', 60_000), true);
    t.equal(await leases.acquire('reaper', 'b', 20), true, 'the latest time holds');
    await until('the lease to end', () => leases.acquire('reaper', 'c', 60_000));
    t.equal(await leases.acquire('reaper', 'b', 60_000), false);
    const winners = await Promise.all(
      Array.from({ length: 20 }, (_, i) => leases.acquire('race', `owner ${i}`, 60_000)),
    );
    t.equal(winners.filter(Boolean).length, 1);
  });

  void t.test('slots are taken in every bucket or in none, never past a limit', async (t) => {
    const bus = await openIn(t);
    const { slots } = bus;
    const buckets = [
      { bucket: 'api_dials', limit: 7 },
      { bucket: 'org:org_1', limit: 5 },
    ];
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) => slots.take(`session ${i}`, buckets, 60_000)),
    );
    t.equal(results.filter((full) => full === null).length, 5);
    t.equal(results.filter((full) => full === 'org:org_1').length, 35);
    t.equal(await slots.count('api_dials'), 5, 'the refused took no slot elsewhere');
    t.equal(await slots.count('org:org_1'), 5);
    t.equal(await slots.count('nobody'), 0);

    const taken = results.indexOf(null);
    t.equal(await slots.take(`session ${taken}`, buckets, 60_000), null, 'one has its slot already');
    t.equal(await slots.count('org:org_1'), 5);
    await slots.release(`session ${taken}`, ['api_dials', 'org:org_1']);
    await slots.release(`session ${taken}`, ['api_dials', 'org:org_1']);
    t.equal(await slots.count('org:org_1'), 4);
    t.equal(await slots.take('late', buckets, 60_000), null);
    t.equal(await slots.take('later', [{ bucket: 'closed', limit: 0 }, ...buckets], 60_000), 'closed');
    t.equal(await slots.take('free', [], 60_000), null);
  });

  void t.test('a slot ends unless it is renewed', async (t) => {
    const bus = await openIn(t);
    const { slots } = bus;
    const buckets = [{ bucket: 'account:tel_1', limit: 2 }];
    await slots.take('kept', buckets, 60_000);
    await slots.renew('kept', ['account:tel_1'], 60_000);
    await slots.take('left', buckets, 60_000);
    t.equal(await slots.take('third', buckets, 60_000), 'account:tel_1');
    await slots.renew('left', ['account:tel_1', 'account:tel_2'], 20);
    await until('a slot to end', async () => (await slots.count('account:tel_1')) === 1);
    await slots.renew('left', ['account:tel_1'], 60_000);
    t.equal(await slots.count('account:tel_1'), 1, 'what has ended is not renewed');
    t.equal(await slots.count('account:tel_2'), 0, 'what was not taken is not renewed');
    t.equal(await slots.take('third', buckets, 60_000), null);
  });

  void t.test('slots and turns of paces are taken together or not at all', async (t) => {
    const bus = await openIn(t);
    const { slots } = bus;
    const wish = (limit: number, perSecond: number) => ({
      slots: [
        { bucket: 'org:org_1', limit: 10 },
        { bucket: 'account:tel_1', limit },
      ],
      paces: [
        { scope: 'account:tel_1', perSecond },
        { scope: 'server', perSecond: 0.1 },
      ],
    });
    t.equal(await slots.takeAtPace('one', wish(2, 0.1), 60_000), null);
    const paced = await slots.takeAtPace('two', wish(2, 0.1), 60_000);
    t.match(paced, { by: 'account:tel_1', kind: 'pace' });
    t.ok(paced!.inMs! > 0 && paced!.inMs! <= 10_000, 'once in ten seconds');
    t.equal(await slots.count('account:tel_1'), 1, 'who has no turn takes no slot');
    t.equal(await slots.count('org:org_1'), 1);

    const full = await slots.takeAtPace('two', wish(1, 0.1), 60_000);
    t.match(full, { by: 'account:tel_1', kind: 'slot' }, 'slots are looked at first');
    t.ok(full!.inMs! > 0 && full!.inMs! <= 60_000, 'by then its lease has ended');
    t.same(await slots.takeAtPace('two', { slots: [{ bucket: 'closed', limit: 0 }], paces: [] }, 60_000), {
      by: 'closed',
      kind: 'slot',
      inMs: null,
    });
    t.equal(await slots.takeAtPace('three', { slots: [], paces: [] }, 60_000), null);
    const other = { slots: [], paces: [{ scope: 'account:tel_2', perSecond: 0.1 }] };
    t.equal(await slots.takeAtPace('four', other, 60_000), null, 'paces are apart');
    t.match(await slots.takeAtPace('five', { ...wish(2, 0.1), ...other }, 60_000), { by: 'account:tel_2' });
  });

  void t.test('a pace is kept, however many ask', async (t) => {
    const bus = await openIn(t);
    const wish = { slots: [], paces: [{ scope: 'server', perSecond: 400 }] };
    const turns = 60;
    const began = performance.now();
    const takers = Array.from({ length: 4 }, async (_, i) => {
      for (let taken = 0; taken < turns / 4; taken++) {
        for (;;) {
          const refused = await bus.slots.takeAtPace(`${i}`, wish, 60_000);
          if (!refused) break;
          await new Promise((resolve) => setTimeout(resolve, refused.inMs!));
        }
      }
    });
    await Promise.all(takers);
    // What came late is made up for, up to 100 ms; timers and clocks may be a little apart.
    t.ok(performance.now() - began > (turns - 1) * 2.5 - 110, 'never faster');
  });

  void t.test('who listens is woken', async (t) => {
    const bus = await openIn(t);
    let woken = 0;
    const stop = bus.dispatch.subscribe(() => woken++);
    await until('a wake-up', async () => {
      await bus.dispatch.publish();
      return woken > 0;
    });
    stop();
    const before = woken;
    await bus.dispatch.publish();
    let others = 0;
    bus.dispatch.subscribe(() => others++);
    await until('another listener', async () => {
      await bus.dispatch.publish();
      return others > 0;
    });
    t.equal(woken, before, 'not after its end');
    const told = new Set<boolean>();
    bus.dispatch.subscribe((urgent) => told.add(urgent));
    await until('both words', async () => {
      await bus.dispatch.publish();
      await bus.dispatch.publish(true);
      return told.size === 2;
    });
  });

  void t.test('who listens is told what happens in sessions, from then on and in order', async (t) => {
    const bus = await openIn(t);
    const [one, other] = [uuidV7(), uuidV7()];
    const entry = (session_id: string, n: number) => ({
      session_id,
      project_id: 'prj_1',
      event: `{"n":${n}}`,
    });
    await bus.live.append([entry(one, 0)]);
    const heard: LiveEntry[][] = [[], []];
    const subscriptions = await Promise.all(
      heard.map((all) =>
        bus.live.subscribe({
          entry: (entry) => void all.push(entry),
          missed: () => t.fail('none was missed'),
        }),
      ),
    );
    await bus.live.append([entry(one, 1), entry(other, 1), entry(one, 2)]);
    await bus.live.append([]);
    await bus.live.append([entry(one, 3)]);
    await until('all that came later', () => heard.every(({ length }) => length === 4));
    for (const all of heard) {
      t.same(
        all.filter(({ session_id }) => session_id === one),
        [1, 2, 3].map((n) => entry(one, n)),
      );
    }
    await subscriptions[0]![Symbol.asyncDispose]();
    await bus.live.append([entry(other, 4)]);
    await until('what comes then', () => heard[1]!.length === 5);
    t.equal(heard[0]!.length, 4);
  });

  void t.test('rates count within fixed windows', async (t) => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1, 0, 0, 30));
    const bus = await openIn(t, { clock });
    const resetAt = Date.UTC(2026, 0, 1, 0, 1);
    t.same(await bus.rates.hit('key:1', 60), { count: 1, resetAt });
    t.same(await bus.rates.hit('key:1', 60, 4), { count: 5, resetAt });
    t.same(await bus.rates.hit('key:1', 60, 0), { count: 5, resetAt }, 'only read');
    t.same(await bus.rates.hit('key:2', 60), { count: 1, resetAt });
    t.same(await bus.rates.hit('key:1', 1), { count: 1, resetAt: clock.now() + 1000 }, 'windows are apart');
    const counts = await Promise.all(Array.from({ length: 20 }, () => bus.rates.hit('race', 60)));
    t.same(
      counts.map(({ count }) => count).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    clock.advance(29_999);
    t.equal((await bus.rates.hit('key:1', 60)).count, 6);
    clock.advance(1);
    t.same(await bus.rates.hit('key:1', 60), { count: 1, resetAt: resetAt + 60_000 });
  });

  void t.test('gateways and their calls are known', async (t) => {
    const bus = await openIn(t);
    const { presence } = bus;
    const beat = {
      gateway_id: 'gw_a',
      url: 'http://127.0.0.1:1',
      capacity: 100,
      calls: 3,
      loop_delay_p99_ms: 1.5,
      draining: false,
      version: '0.1.0',
    };
    t.same(await presence.gateways(), []);
    await presence.beat(beat);
    await presence.beat({ ...beat, gateway_id: 'gw_b' });
    await presence.beat({ ...beat, calls: 4, draining: true });
    const gateways = await presence.gateways();
    t.same(
      gateways.sort((a, b) => a.gateway_id.localeCompare(b.gateway_id)),
      [
        { ...beat, calls: 4, draining: true },
        { ...beat, gateway_id: 'gw_b' },
      ],
    );
    await presence.leave('gw_a');
    t.same(
      (await presence.gateways()).map((gateway) => gateway.gateway_id),
      ['gw_b'],
    );

    await presence.holdCalls('gw_b', ['s1', 's2']);
    await presence.holdCalls('gw_b', []);
    await presence.holdCalls('gw_c', ['s3']);
    await presence.dropCall('s2');
    t.same(await presence.callHolders(['s3', 's2', 's1', 's0']), ['gw_c', null, 'gw_b', null]);
    t.same(await presence.callHolders([]), []);
  });

  void t.test('it is healthy until it is closed, and closing ends everything it started', async (t) => {
    const bus = await openIn(t);
    t.equal(bus.healthy(), true);
    await bus.ping();
    const handled: number[] = [];
    bus.events.consume({
      consumer: 'one',
      handle: async (event) => {
        handled.push(event.index);
      },
    });
    await bus.commands.subscribe('gw_a', () => undefined);
    await bus.events.append([callEvent(uuidV7(), 0)]);
    await until('the event', () => handled.length === 1);
    await bus[Symbol.asyncDispose]();
    await bus[Symbol.asyncDispose]();
    t.equal(bus.healthy(), false);
    await t.rejects(bus.ping());
    await t.rejects(bus.events.append([callEvent(uuidV7(), 1)]));
  });
}
