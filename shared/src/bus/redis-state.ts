import type { Redis } from 'ioredis';
import { z } from 'zod';
import { Batches, done } from '../async/batches.ts';
import { redisKeys } from '../contracts/redis-keys.ts';
import type { Clock } from '../time/clock.ts';
import { CALL_TTL_MS, GATEWAY_TTL_MS, PACE_CATCH_UP_MS } from './bus-limits.ts';
import type { GatewayBeat, Leases, PacedSlots, Presence, RateCounter, Refusal, Slots } from './bus.ts';
import { firstError } from './redis-event-store.ts';

const ACQUIRE = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0
`;

export class RedisLeases implements Leases {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async acquire(name: string, owner: string, ttlMs: number): Promise<boolean> {
    return (await this.#redis.eval(ACQUIRE, 1, redisKeys.lease(name), owner, ttlMs)) === 1;
  }

  async release(name: string, owner: string): Promise<void> {
    await this.#redis.eval(RELEASE, 1, redisKeys.lease(name), owner);
  }
}

/** The clock of Redis is the only one that all control planes share. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function keep(key)
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  if last[2] then redis.call('PEXPIREAT', key, last[2]) end
end
`;

/** ARGV: session, ttl, then a limit per key. @returns the number of the first full bucket, or 0 */
const TAKE = `${NOW}
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  if not redis.call('ZSCORE', key, ARGV[1]) and redis.call('ZCARD', key) >= tonumber(ARGV[i + 2]) then
    return i
  end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now + ARGV[2], ARGV[1])
  keep(key)
end
return 0
`;

/**
 * ARGV: session, ttl, catch-up, number of buckets, then a limit per bucket and an interval in ms per pace. KEYS: buckets,
 * then paces. Numbers leave as text: a script's own lose what is behind the point.
 * @returns the number of the first key that refused, and in how many ms it can be free (-1: nobody knows); else nothing
 */
const TAKE_AT_PACE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local slots = tonumber(ARGV[4])
for i = 1, slots do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
  if not redis.call('ZSCORE', KEYS[i], ARGV[1]) and redis.call('ZCARD', KEYS[i]) >= tonumber(ARGV[i + 4]) then
    local first = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
    return { i, first[2] and string.format('%.3f', first[2] - now) or '-1' }
  end
end
for i = slots + 1, #KEYS do
  local next = tonumber(redis.call('GET', KEYS[i]) or 0)
  if next > now then return { i, string.format('%.3f', next - now) } end
end
for i = 1, slots do
  redis.call('ZADD', KEYS[i], math.floor(now) + ARGV[2], ARGV[1])
  local last = redis.call('ZRANGE', KEYS[i], -1, -1, 'WITHSCORES')
  redis.call('PEXPIREAT', KEYS[i], last[2])
end
for i = slots + 1, #KEYS do
  local due = math.max(tonumber(redis.call('GET', KEYS[i]) or now), now - ARGV[3])
  local next = due + ARGV[i + 4]
  redis.call('SET', KEYS[i], string.format('%.3f', next), 'PX', math.ceil(next - now + ARGV[3]))
end
return {}
`;

const RENEW = `${NOW}
for _, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  redis.call('ZADD', key, 'XX', now + ARGV[2], ARGV[1])
  keep(key)
end
return 0
`;

const COUNT = `${NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])
`;

export class RedisSlots implements Slots {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async take(
    sessionId: string,
    buckets: readonly { bucket: string; limit: number }[],
    ttlMs: number,
  ): Promise<string | null> {
    if (buckets.length === 0) return null;
    const keys = buckets.map(({ bucket }) => redisKeys.slots(bucket));
    const limits = buckets.map(({ limit }) => limit);
    const full = await this.#redis.eval(TAKE, keys.length, ...keys, sessionId, ttlMs, ...limits);
    return buckets[Number(full) - 1]?.bucket ?? null;
  }

  async takeAtPace(sessionId: string, { slots, paces }: PacedSlots, ttlMs: number): Promise<Refusal | null> {
    const keys = [
      ...slots.map(({ bucket }) => redisKeys.slots(bucket)),
      ...paces.map(({ scope }) => redisKeys.pace(scope)),
    ];
    if (keys.length === 0) return null;
    const amounts = [...slots.map(({ limit }) => limit), ...paces.map(({ perSecond }) => 1000 / perSecond)];
    const answer = await this.#redis.eval(
      TAKE_AT_PACE,
      keys.length,
      ...keys,
      ...[sessionId, ttlMs, PACE_CATCH_UP_MS, slots.length, ...amounts],
    );
    const [number, text] = answer as [number?, string?];
    if (number === undefined) return null;
    const inMs = Number(text) < 0 ? null : Number(text);
    const pace = paces[number - 1 - slots.length];
    return pace
      ? { by: pace.scope, kind: 'pace', inMs }
      : { by: slots[number - 1]!.bucket, kind: 'slot', inMs };
  }

  async renew(sessionId: string, buckets: readonly string[], ttlMs: number): Promise<void> {
    if (buckets.length === 0) return;
    await this.#redis.eval(RENEW, buckets.length, ...buckets.map(redisKeys.slots), sessionId, ttlMs);
  }

  async release(sessionId: string, buckets: readonly string[]): Promise<void> {
    if (buckets.length === 0) return;
    const pipeline = this.#redis.pipeline();
    for (const bucket of buckets) pipeline.zrem(redisKeys.slots(bucket), sessionId);
    firstError(await pipeline.exec());
  }

  async count(bucket: string): Promise<number> {
    return Number(await this.#redis.eval(COUNT, 1, redisKeys.slots(bucket)));
  }
}

interface RateHit {
  key: string;
  cost: number;
  ttlMs: number;
}

const MAX_HITS = 500;

/** Hits that come at one time share a transaction, in which hits of one key are one command. */
export class RedisRates implements RateCounter {
  readonly #clock: Clock;
  readonly #hits: Batches<RateHit, number>;

  constructor(redis: Redis, clock: Clock) {
    this.#clock = clock;
    this.#hits = new Batches({ maxBatch: MAX_HITS, send: (hits) => countHits(redis, hits) });
  }

  async hit(bucket: string, windowSeconds: number, cost = 1): Promise<{ count: number; resetAt: number }> {
    const windowMs = windowSeconds * 1000;
    const window = Math.floor(this.#clock.now() / windowMs);
    const key = redisKeys.rate(bucket, window);
    // Longer than the window, for clocks that are apart.
    const count = await this.#hits.add({ key, cost, ttlMs: windowMs + 10_000 });
    return { count, resetAt: (window + 1) * windowMs };
  }
}

/** @returns for each hit what the count was with it and those before it */
async function countHits(redis: Redis, hits: readonly RateHit[]): Promise<PromiseFulfilledResult<number>[]> {
  const keys = new Map<string, { sum: number; ttlMs: number }>();
  for (const { key, cost, ttlMs } of hits) keys.set(key, { sum: (keys.get(key)?.sum ?? 0) + cost, ttlMs });
  const transaction = redis.multi();
  for (const [key, { sum, ttlMs }] of keys) transaction.incrby(key, sum).pexpire(key, ttlMs);
  const answers = firstError(await transaction.exec());
  const counts = new Map([...keys].map(([key, { sum }], i) => [key, Number(answers[2 * i]) - sum]));
  return hits.map(({ key, cost }) => {
    const count = counts.get(key)! + cost;
    counts.set(key, count);
    return done(count);
  });
}

/** Gateways that said nothing for this long are no longer looked up. */
const GATEWAY_FORGOTTEN_MS = 60_000;
const CALLS_PER_PIPELINE = 1000;

const beatHash = z.object({
  url: z.string(),
  capacity: z.coerce.number(),
  calls: z.coerce.number(),
  loop_delay_p99_ms: z.coerce.number(),
  draining: z.string().transform((text) => text === '1'),
  version: z.string(),
});

export class RedisPresence implements Presence {
  readonly #redis: Redis;
  readonly #clock: Clock;

  constructor(redis: Redis, clock: Clock) {
    this.#redis = redis;
    this.#clock = clock;
  }

  async beat({ gateway_id: gatewayId, draining, ...values }: GatewayBeat): Promise<void> {
    const key = redisKeys.gateway(gatewayId);
    firstError(
      await this.#redis
        .multi()
        .hset(key, { ...values, draining: draining ? '1' : '0' })
        .pexpire(key, GATEWAY_TTL_MS)
        .zadd(redisKeys.gateways, this.#clock.now(), gatewayId)
        .exec(),
    );
  }

  async leave(gatewayId: string): Promise<void> {
    firstError(
      await this.#redis.multi().del(redisKeys.gateway(gatewayId)).zrem(redisKeys.gateways, gatewayId).exec(),
    );
  }

  async gateways(): Promise<GatewayBeat[]> {
    const [, ids] = firstError(
      await this.#redis
        .multi()
        .zremrangebyscore(redisKeys.gateways, '-inf', String(this.#clock.now() - GATEWAY_FORGOTTEN_MS))
        .zrange(redisKeys.gateways, '0', '-1')
        .exec(),
    ) as [number, string[]];
    const pipeline = this.#redis.pipeline();
    for (const id of ids) pipeline.hgetall(redisKeys.gateway(id));
    const hashes = ids.length > 0 ? firstError(await pipeline.exec()) : [];
    return ids.flatMap((id, i) => {
      const beat = beatHash.safeParse(hashes[i]);
      return beat.success ? [{ gateway_id: id, ...beat.data }] : [];
    });
  }

  async holdCalls(gatewayId: string, sessionIds: readonly string[]): Promise<void> {
    for (let i = 0; i < sessionIds.length; i += CALLS_PER_PIPELINE) {
      const pipeline = this.#redis.pipeline();
      for (const id of sessionIds.slice(i, i + CALLS_PER_PIPELINE)) {
        pipeline.set(redisKeys.call(id), gatewayId, 'PX', CALL_TTL_MS);
      }
      firstError(await pipeline.exec());
    }
  }

  async dropCall(sessionId: string): Promise<void> {
    await this.#redis.del(redisKeys.call(sessionId));
  }

  async callHolders(sessionIds: readonly string[]): Promise<(string | null)[]> {
    if (sessionIds.length === 0) return [];
    return this.#redis.mget(...sessionIds.map(redisKeys.call));
  }
}
