import t from 'tap';
import { redisServerMissing, startRedis } from '../../test/fixtures/redis-server.ts';
import { uuidV7 } from '../ids/new-id.ts';
import { silentLogger } from '../logging/logger.ts';
import { callEvent, gatewayCommand, until } from './bus.conformance.ts';
import { openRedisBus } from './redis-bus.ts';

const logger = silentLogger();
const skip = redisServerMissing ?? false;

void t.test('a Redis that does not answer is reported in time, and used again later', { skip }, async (t) => {
  const server = await startRedis();
  const bus = await openRedisBus({ url: server.url, logger });
  t.teardown(() => bus[Symbol.asyncDispose]());
  t.teardown(() => server[Symbol.asyncDispose]());
  const handled: number[] = [];
  bus.events.consume({
    consumer: 'one',
    handle: async (event) => {
      handled.push(event.index);
    },
  });
  await bus.events.append([callEvent(uuidV7(), 0)]);
  await until('the first event', () => handled.length === 1);

  server.pause();
  await Promise.all([
    t.rejects(bus.events.append([callEvent(uuidV7(), 1)])),
    t.rejects(bus.events.append([callEvent(uuidV7(), 2), callEvent(uuidV7(), 3)])),
    t.rejects(bus.commands.send('gw_a', gatewayCommand())),
    t.rejects(bus.leases.acquire('a', 'b', 1000)),
    t.rejects(bus.slots.take('s1', [{ bucket: 'org', limit: 1 }], 1000)),
    t.rejects(bus.presence.holdCalls('gw_a', ['s1'])),
    t.rejects(bus.ping()),
  ]);
  await until('it knows', () => !bus.healthy());
  server.resume();
  await until('it knows again', () => bus.healthy());
  const last = callEvent(uuidV7(), 4);
  await until('an event is accepted', () =>
    bus.events.append([last]).then(
      () => true,
      () => false,
    ),
  );
  await until('the last event', () => handled.includes(4));
});

void t.test('a bus over a Redis that does not answer can be closed', { skip }, async (t) => {
  const server = await startRedis();
  t.teardown(() => server[Symbol.asyncDispose]());
  const bus = await openRedisBus({ url: server.url, logger });
  const handled = Promise.withResolvers<void>();
  bus.events.consume({ consumer: 'one', handle: async () => handled.resolve() });
  await bus.commands.subscribe('gw_a', () => undefined);
  await bus.events.append([callEvent(uuidV7(), 0)]);
  await handled.promise;
  server.pause();
  await bus[Symbol.asyncDispose]();
  t.equal(bus.healthy(), false);
});
