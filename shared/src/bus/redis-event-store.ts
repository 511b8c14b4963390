import type { Redis } from 'ioredis';
import type { CallEvent } from '../contracts/call-events.ts';
import { eventPartition, EVENTS_GROUP, redisKeys } from '../contracts/redis-keys.ts';
import { MAX_DEAD_EVENTS } from './bus-limits.ts';
import type { LetterStore } from './dead-letters.ts';
import type { EventStore, PendingEvent, StoredEvent } from './event-store.ts';
import { streamField, type BlockingConnection, type StreamEntry } from './redis-connection.ts';

const PENDING_PAGE = 500;

/**
 * Trims a stream below its oldest unacknowledged entry, and forgets consumers that have nothing and were not seen for
 * an hour (every process has a name of its own). In one script, because an entry may be given out meanwhile.
 */
const TRIM = `
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1])
if pending.err then return 0 end
local keep = pending[2]
if pending[1] == 0 then
  for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
    local info = {}
    for i = 1, #group, 2 do info[group[i]] = group[i + 1] end
    if info['name'] == ARGV[1] then
      local ms, seq = string.match(info['last-delivered-id'], '(%d+)-(%d+)')
      keep = ms .. '-' .. string.format('%.0f', seq + 1)
    end
  end
end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local info = {}
  for i = 1, #consumer, 2 do info[consumer[i]] = consumer[i + 1] end
  if info['pending'] == 0 and info['idle'] > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], info['name'])
  end
end
return redis.call('XTRIM', KEYS[1], 'MINID', keep)
`;

/** Counts a consumer among the living, by the time of Redis. */
const JOIN = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
`;

/** Appends to the streams, all or none. */
export async function appendEvents(
  redis: Redis,
  partitions: number,
  events: readonly CallEvent[],
): Promise<void> {
  const key = (event: CallEvent) => redisKeys.events(eventPartition(event.session_id, partitions));
  const [first] = events;
  if (!first) return;
  if (events.length === 1) {
    await redis.xadd(key(first), '*', 's', first.session_id, 'e', JSON.stringify(first));
    return;
  }
  const transaction = redis.multi();
  for (const event of events) {
    transaction.xadd(key(event), '*', 's', event.session_id, 'e', JSON.stringify(event));
  }
  firstError(await transaction.exec());
}

/** Takes a letter out of the dead ones and appends its event: of two who try, one does. */
const MOVE_TO_LOG = `
if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('XADD', KEYS[2], '*', 's', ARGV[2], 'e', ARGV[3])
return 1
`;

/** The dead letters, a stream of their own. */
export function redisLetterStore(redis: Redis, partitions: number): LetterStore {
  const key = redisKeys.deadEvents;
  return {
    countLetters: () => redis.xlen(key),
    async readLetters({ limit, after }) {
      const from = after === undefined ? '-' : `(${after}`;
      const entries = (await redis.xrange(key, from, '+', 'COUNT', limit)) as StreamEntry[];
      return entries.map(([id, fields]) => ({
        id,
        body: streamField(fields, 'e'),
        reason: streamField(fields, 'r'),
        // The id of an entry begins with the time of Redis (ms).
        at: new Date(Number.parseInt(id, 10)),
      }));
    },
    async moveToLog({ id, sessionId, body }) {
      const events = redisKeys.events(eventPartition(sessionId, partitions));
      return (await redis.eval(MOVE_TO_LOG, 2, key, events, id, sessionId, body)) === 1;
    },
    async removeLetter(id) {
      await redis.xdel(key, id);
    },
  };
}

/** The event streams, as one consumer sees them. */
export class RedisEventStore implements EventStore {
  readonly partitions: number;
  readonly #redis: Redis;
  readonly #blocking: BlockingConnection;

  constructor(redis: Redis, blocking: BlockingConnection, partitions: number) {
    this.#redis = redis;
    this.#blocking = blocking;
    this.partitions = partitions;
  }

  async read(options: {
    partitions: readonly number[];
    consumer: string;
    limit: number;
    signal: AbortSignal;
  }): Promise<StoredEvent[]> {
    const { partitions, consumer, limit, signal } = options;
    const byKey = new Map(partitions.map((partition) => [redisKeys.events(partition), partition]));
    let streams: Awaited<ReturnType<BlockingConnection['read']>>;
    try {
      streams = await this.#blocking.read(
        'XREADGROUP',
        ['GROUP', EVENTS_GROUP, consumer, 'COUNT', String(limit)],
        ['STREAMS', ...byKey.keys(), ...partitions.map(() => '>')],
        signal,
      );
    } catch (error) {
      if (signal.aborted && isUnblocked(error)) return [];
      if (!isNoGroup(error)) throw error;
      // Redis has lost its memory, or never knew.
      await Promise.all(partitions.map((partition) => this.#createGroup(partition)));
      return [];
    }
    return (streams ?? []).flatMap(([key, entries]) =>
      entries.map(([id, fields]) => ({
        partition: byKey.get(key)!,
        id,
        sessionId: streamField(fields, 's'),
        body: streamField(fields, 'e'),
      })),
    );
  }

  async pending(partition: number, minIdleMs: number): Promise<PendingEvent[]> {
    const key = redisKeys.events(partition);
    const found: PendingEvent[] = [];
    for (let from = '-'; ;) {
      const page = (await this.#inGroup(partition, () =>
        this.#redis.call('XPENDING', key, EVENTS_GROUP, 'IDLE', minIdleMs, from, '+', PENDING_PAGE),
      )) as [id: string, consumer: string, idleMs: number, deliveries: number][];
      if (page.length > 0) {
        const entries = this.#redis.pipeline();
        for (const [id] of page) entries.xrange(key, id, id);
        const results = firstError(await entries.exec()) as StreamEntry[][];
        page.forEach(([id, , idleMs], i) => {
          found.push({ id, sessionId: streamField(results[i]?.[0]?.[1] ?? null, 's'), idleMs });
        });
      }
      if (page.length < PENDING_PAGE) return found;
      from = `(${page.at(-1)![0]}`;
    }
  }

  async claim(
    partition: number,
    consumer: string,
    id: string,
    minIdleMs: number,
  ): Promise<{ body: string; delivery: number } | { idleMs: number } | null> {
    const key = redisKeys.events(partition);
    const [claimed, pending] = (await this.#inGroup(partition, async () =>
      firstError(
        await this.#redis
          .multi()
          .xclaim(key, EVENTS_GROUP, consumer, minIdleMs, id)
          .xpending(key, EVENTS_GROUP, id, id, 1)
          .exec(),
      ),
    )) as [(StreamEntry | null)[], [string, string, number, number][]];
    const state = pending[0];
    if (!state) return null;
    if (claimed.length === 0) return { idleMs: state[2] };
    const fields = claimed[0]?.[1];
    if (fields) return { body: streamField(fields, 'e'), delivery: state[3] };
    // Deleted behind our back: nothing is left to be handled (Redis 7 finds this out by itself).
    await this.acknowledge(partition, id);
    return null;
  }

  async countDeliveries(partition: number, consumer: string, id: string, deliveries: number): Promise<void> {
    const key = redisKeys.events(partition);
    await this.#redis.call('XCLAIM', key, EVENTS_GROUP, consumer, 0, id, 'RETRYCOUNT', deliveries, 'JUSTID');
  }

  async acknowledge(partition: number, id: string): Promise<void> {
    await this.#redis.xack(redisKeys.events(partition), EVENTS_GROUP, id);
  }

  async bury(event: StoredEvent, reason: string): Promise<void> {
    const { sessionId, body, id } = event;
    firstError(
      await this.#redis
        .multi()
        .xadd(
          redisKeys.deadEvents,
          'MAXLEN',
          '~',
          MAX_DEAD_EVENTS,
          '*',
          's',
          sessionId,
          'e',
          body,
          'r',
          reason,
        )
        .xack(redisKeys.events(event.partition), EVENTS_GROUP, id)
        .exec(),
    );
  }

  async trim(partition: number): Promise<void> {
    await this.#redis.eval(TRIM, 1, redisKeys.events(partition), EVENTS_GROUP);
  }

  async join(consumer: string, ttlMs: number): Promise<number> {
    return (await this.#redis.eval(JOIN, 1, redisKeys.eventConsumers, consumer, ttlMs)) as number;
  }

  async leave(consumer: string): Promise<void> {
    await this.#redis.zrem(redisKeys.eventConsumers, consumer);
  }

  async #inGroup<T>(partition: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isNoGroup(error)) throw error;
      await this.#createGroup(partition);
      return await work();
    }
  }

  async #createGroup(partition: number): Promise<void> {
    try {
      await this.#redis.xgroup('CREATE', redisKeys.events(partition), EVENTS_GROUP, '0', 'MKSTREAM');
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('BUSYGROUP')) throw error;
    }
  }
}

/** @returns the results @throws the first error among them, or when the transaction was given up */
export function firstError(results: [error: Error | null, result: unknown][] | null): unknown[] {
  if (!results) throw new Error('Redis aborted the transaction.');
  return results.map(([error, result]) => {
    if (error) throw error;
    return result;
  });
}

function isNoGroup(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOGROUP');
}

function isUnblocked(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('UNBLOCKED');
}
