import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { openTestRedis, redisMissing } from '../../test/fixtures/redis-server.ts';
import { runScript } from '../../test/fixtures/run-script.ts';
import { eventPartition, EVENTS_GROUP, redisKeys } from '../contracts/redis-keys.ts';
import { uuidV7 } from '../ids/new-id.ts';
import { silentLogger } from '../logging/logger.ts';
import type { Clock } from '../time/clock.ts';
import { busConformance, callEvent, gatewayCommand, until } from './bus.conformance.ts';
import type { Bus } from './bus.ts';
import { giveUpConformance } from './give-up.conformance.ts';
import { openRedisBus } from './redis-bus.ts';

const logger = silentLogger();

void t.test('over Redis', { skip: redisMissing ?? false }, async (t) => {
  const openFresh = async (options?: { clock?: Clock }): Promise<Bus> => {
    const redis = await openTestRedis();
    const bus = await openRedisBus({ url: redis.url, logger, ...options });
    return {
      ...bus,
      async [Symbol.asyncDispose]() {
        await bus[Symbol.asyncDispose]();
        await redis[Symbol.asyncDispose]();
      },
    };
  };
  busConformance(t, openFresh);
  giveUpConformance(t, openFresh);

  void t.test('what is acknowledged is trimmed, what is not stays', async (t) => {
    const { bus, redis } = await open(t);
    const sessionId = uuidV7();
    const key = redisKeys.events(eventPartition(sessionId, 8));
    await bus.events.append([0, 1, 2].map((i) => callEvent(sessionId, i)));
    const failed = Promise.withResolvers<void>();
    const first = bus.events.consume({
      consumer: 'one',
      handle: (event) => (event.index === 0 ? Promise.resolve() : Promise.reject(new Error('Not now.'))),
      onError: () => failed.resolve(),
    });
    await failed.promise;
    await first[Symbol.asyncDispose]();
    t.equal(await redis.xlen(key), 2);
    const [[, fields]] = (await redis.xrange(key, '-', '+', 'COUNT', 1)) as [[string, string[]]];
    t.equal((JSON.parse(fields[3]!) as { index: number }).index, 1);

    const done = Promise.withResolvers<void>();
    const second = bus.events.consume({
      consumer: 'two',
      claimAfterMs: 10,
      handle: async (event) => {
        if (event.index === 2) done.resolve();
      },
    });
    await done.promise;
    await second[Symbol.asyncDispose]();
    t.equal(await redis.xlen(key), 0);
  });

  void t.test('entries that are no events go to the dead letters', async (t) => {
    const { bus, redis } = await open(t);
    const sessionId = uuidV7();
    const key = redisKeys.events(eventPartition(sessionId, 8));
    await redis.xadd(key, '*', 's', sessionId, 'e', '{');
    await redis.xadd(key, '*', 'other', 'fields');
    await bus.events.append([callEvent(sessionId, 0)]);
    const handled = Promise.withResolvers<void>();
    bus.events.consume({ consumer: 'one', handle: async () => handled.resolve() });
    await handled.promise;
    await until('both dead', async () => (await bus.events.deadLetters.count()) === 2);
    const letters = await bus.events.deadLetters.list({ limit: 10 });
    t.same(letters.map((letter) => letter.event).sort(), ['', '{']);
    await until('all acknowledged', async () => {
      const [pending] = (await redis.xpending(key, EVENTS_GROUP)) as [number];
      return pending === 0;
    });
  });

  void t.test('a command that is none is told and passed over', async (t) => {
    const { bus, redis } = await open(t);
    await redis.xadd(redisKeys.commands('gw_a'), '*', 'c', '{"v":2}');
    const command = gatewayCommand();
    await bus.commands.send('gw_a', command);
    const errors: unknown[] = [];
    const got = await new Promise((resolve) => {
      void bus.commands.subscribe('gw_a', resolve, (error) => errors.push(error));
    });
    t.same(got, command);
    t.equal(errors.length, 1);
  });

  void t.test('whatever a process tells about itself is forgotten after it', async (t) => {
    const { bus, redis } = await open(t);
    await bus.presence.beat({
      gateway_id: 'gw_a',
      url: 'http://127.0.0.1:1',
      capacity: 1,
      calls: 0,
      loop_delay_p99_ms: 0,
      draining: false,
      version: '',
    });
    await bus.presence.holdCalls('gw_a', ['s1']);
    await bus.commands.send('gw_a', gatewayCommand());
    await bus.rates.hit('key:1', 60);
    await bus.slots.take('s1', [{ bucket: 'api_dials', limit: 1 }], 20_000);
    await bus.leases.acquire('reaper', 'a', 10_000);
    await bus.live.append([{ session_id: 's1', project_id: 'p1', event: '{}' }]);
    const lives = {
      [redisKeys.gateway('gw_a')]: 15_000,
      [redisKeys.call('s1')]: 30_000,
      [redisKeys.commands('gw_a')]: 3_600_000,
      [redisKeys.slots('api_dials')]: 20_000,
      [redisKeys.lease('reaper')]: 10_000,
      [redisKeys.live(eventPartition('s1', 8))]: 600_000,
    };
    for (const [key, life] of Object.entries(lives)) {
      const left = await redis.pttl(key);
      t.ok(left > 0 && left <= life, `${key} ends within ${life} ms`);
    }
    const [rate] = await redis.keys('parley:rate:*');
    t.ok((await redis.pttl(rate!)) > 0, 'rates end');
    // A gateway that died is no longer listed, though its beat is remembered.
    await redis.del(redisKeys.gateway('gw_a'));
    t.same(await bus.presence.gateways(), []);
  });

  void t.test('events of a consumer that was killed are found by another', async (t) => {
    const { bus, url } = await open(t);
    const sessionId = uuidV7();
    await bus.events.append([0, 1, 2].map((i) => callEvent(sessionId, i)));
    const child = runScript('stuck-consumer.ts', [url]);
    for await (const line of child.lines) {
      t.equal(line, 'handling 0');
      child.kill();
    }
    await child.exited;
    await bus.events.append([callEvent(sessionId, 3)]);
    const order: string[] = [];
    bus.events.consume({
      consumer: 'two',
      leaseMs: 1500,
      claimAfterMs: 100,
      handle: async (event, delivery) => {
        order.push(`${event.index} (${delivery})`);
      },
    });
    await until('all four', () => order.length === 4);
    t.same(order, ['0 (2)', '1 (2)', '2 (2)', '3 (1)']);
  });

  void t.test('a process that closes its bus ends by itself', async (t) => {
    const { url } = await open(t);
    const child = runScript('bus-exit.ts', [url]);
    t.same(await child.exited, [0, null]);
  });
});

async function open(t: Test): Promise<{ bus: Bus; redis: Redis; url: string }> {
  const server = await openTestRedis();
  const bus = await openRedisBus({ url: server.url, logger });
  const redis = new Redis(server.url, { protocol: 2 });
  t.teardown(async () => {
    redis.disconnect();
    await bus[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return { bus, redis, url: server.url };
}
