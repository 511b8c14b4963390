import type { Logger } from '../logging/logger.ts';
import { systemClock, type Clock, type Timer } from '../time/clock.ts';
import { DEFAULT_PARTITIONS } from './bus-limits.ts';
import type { Bus, EventConsumer } from './bus.ts';
import { openDeadLetters } from './dead-letters.ts';
import { EventReader } from './event-reader.ts';
import { RedisCommands } from './redis-commands.ts';
import { BlockingConnection, connectRedis, createRedis } from './redis-connection.ts';
import { appendEvents, RedisEventStore, redisLetterStore } from './redis-event-store.ts';
import { RedisLive } from './redis-live.ts';
import { RedisLeases, RedisPresence, RedisRates, RedisSlots } from './redis-state.ts';
import { RedisWakeup } from './redis-wakeup.ts';

const HEARTBEAT_MS = 1000;

/**
 * The bus between processes. A Redis that stops answering makes commands fail within about two seconds; connections,
 * consumers and subscriptions come back by themselves.
 * @param options.url `redis://`, `rediss://` (TLS) or the path of a unix socket
 * @throws ConfigError when Redis can't be reached at the start
 */
export async function openRedisBus(options: {
  url: string;
  partitions?: number;
  logger: Logger;
  clock?: Clock;
}): Promise<Bus> {
  const { url, partitions = DEFAULT_PARTITIONS, logger, clock = systemClock } = options;
  const redis = createRedis(url, { name: 'bus', logger });
  await connectRedis(redis);

  const leases = new RedisLeases(redis);
  const openBlocking = (name: string) => new BlockingConnection(url, redis, { name, logger });
  const commands = new RedisCommands(redis, () => openBlocking('commands'), logger);
  const live = new RedisLive(redis, partitions, () => openBlocking('live'), logger);
  const dispatch = new RedisWakeup(redis, () => createRedis(url, { name: 'dispatch', logger }));
  const consumers = new Set<EventConsumer>();
  let answers = true;
  let heartbeat: Timer;
  let disposing: Promise<void> | undefined;

  async function beat(): Promise<void> {
    try {
      await redis.ping();
      answers = true;
    } catch {
      answers = false;
      // A half-open connection would be waited on for minutes.
      if (redis.status === 'ready' && !disposing) redis.disconnect(true);
    }
    if (!disposing) heartbeat = clock.setTimeout(() => void beat(), HEARTBEAT_MS);
  }
  heartbeat = clock.setTimeout(() => void beat(), HEARTBEAT_MS);

  return {
    events: {
      append: (events) => appendEvents(redis, partitions, events),
      consume(options) {
        const blocking = openBlocking('events');
        const store = new RedisEventStore(redis, blocking, partitions);
        const reader = new EventReader({ store, leases, logger, clock, options });
        const consumer: EventConsumer = {
          async [Symbol.asyncDispose]() {
            await reader[Symbol.asyncDispose]();
            blocking.close();
            consumers.delete(consumer);
          },
        };
        consumers.add(consumer);
        return consumer;
      },
      deadLetters: openDeadLetters(redisLetterStore(redis, partitions)),
    },
    commands,
    leases,
    slots: new RedisSlots(redis),
    rates: new RedisRates(redis, clock),
    presence: new RedisPresence(redis, clock),
    dispatch,
    live,
    healthy: () => !disposing && answers && redis.status === 'ready',
    async ping() {
      await redis.ping();
    },
    [Symbol.asyncDispose]() {
      disposing ??= (async () => {
        heartbeat.cancel();
        await Promise.all([commands, live, ...consumers].map((owned) => owned[Symbol.asyncDispose]()));
        dispatch.close();
        redis.disconnect();
      })();
      return disposing;
    },
  };
}
