import type { Redis } from 'ioredis';
import { backoffMs } from '../async/backoff.ts';
import { sleep } from '../async/timeout.ts';
import type { LiveEntry } from '../contracts/live-events.ts';
import { eventPartition, redisKeys } from '../contracts/redis-keys.ts';
import type { Logger } from '../logging/logger.ts';
import { LIVE_TTL_MS, MAX_LIVE_ENTRIES } from './bus-limits.ts';
import type { LiveListener, LiveLog } from './bus.ts';
import { compareEventIds } from './event-store.ts';
import { streamField, type BlockingConnection, type StreamEntry } from './redis-connection.ts';
import { firstError } from './redis-event-store.ts';

const READ_COUNT = 500;

/** Streams without a group: each reader reads all of them. */
export class RedisLive implements LiveLog {
  readonly #redis: Redis;
  readonly #partitions: number;
  readonly #openBlocking: () => BlockingConnection;
  readonly #logger: Logger;
  readonly #subscriptions = new Set<() => Promise<void>>();

  constructor(redis: Redis, partitions: number, openBlocking: () => BlockingConnection, logger: Logger) {
    this.#redis = redis;
    this.#partitions = partitions;
    this.#openBlocking = openBlocking;
    this.#logger = logger;
  }

  async append(entries: readonly LiveEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const pipeline = this.#redis.pipeline();
    const keys = new Set<string>();
    for (const { session_id: session, project_id: project, event } of entries) {
      const key = redisKeys.live(eventPartition(session, this.#partitions));
      keys.add(key);
      pipeline.xadd(key, 'MAXLEN', '~', MAX_LIVE_ENTRIES, '*', 's', session, 'p', project, 'e', event);
    }
    for (const key of keys) pipeline.pexpire(key, LIVE_TTL_MS);
    firstError(await pipeline.exec());
  }

  async subscribe(listener: LiveListener): Promise<AsyncDisposable> {
    const keys = Array.from({ length: this.#partitions }, (_, partition) => redisKeys.live(partition));
    const ends = await this.#newest(keys);
    const blocking = this.#openBlocking();
    const stopping = new AbortController();
    const reading = this.#readAll(new Map(keys.map((key, i) => [key, ends[i]!])), {
      ...{ blocking, listener },
      signal: stopping.signal,
    });
    let stopped: Promise<void> | undefined;
    const stop = () => {
      stopped ??= (async () => {
        stopping.abort();
        await reading;
        blocking.close();
        this.#subscriptions.delete(stop);
      })();
      return stopped;
    };
    this.#subscriptions.add(stop);
    return { [Symbol.asyncDispose]: stop };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#subscriptions].map((stop) => stop()));
  }

  /** Reads what comes behind `lasts`, the last entry of each stream that is known. */
  async #readAll(
    lasts: Map<string, string>,
    by: { blocking: BlockingConnection; listener: LiveListener; signal: AbortSignal },
  ): Promise<void> {
    const { blocking, listener, signal } = by;
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (failures > 0) await this.#goOn(lasts);
        const streams = await blocking.read(
          'XREAD',
          ['COUNT', String(READ_COUNT)],
          ['STREAMS', ...lasts.keys(), ...lasts.values()],
          signal,
        );
        if (failures > 0) listener.missed();
        failures = 0;
        for (const [key, entries] of streams ?? []) {
          for (const [id, fields] of entries) {
            if (signal.aborted) return;
            lasts.set(key, id);
            listener.entry({
              session_id: streamField(fields, 's'),
              project_id: streamField(fields, 'p'),
              event: streamField(fields, 'e'),
            });
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        if (failures++ === 0) this.#logger.warn({ err: error }, 'live events cannot be read');
        await sleep(backoffMs(failures, { firstMs: 50, maxMs: 1000 }), signal).catch(() => undefined);
      }
    }
  }

  /** After a break: a Redis that has lost its memory counts anew, and by a clock that may have gone back. */
  async #goOn(lasts: Map<string, string>): Promise<void> {
    const keys = [...lasts.keys()];
    const ends = await this.#newest(keys);
    keys.forEach((key, i) => {
      if (compareEventIds(ends[i]!, lasts.get(key)!) < 0) lasts.set(key, '0-0');
    });
  }

  /** The id of the last entry of each stream, `0-0` of an empty one. */
  async #newest(keys: readonly string[]): Promise<string[]> {
    const pipeline = this.#redis.pipeline();
    for (const key of keys) pipeline.xrevrange(key, '+', '-', 'COUNT', 1);
    const results = firstError(await pipeline.exec()) as StreamEntry[][];
    return results.map(([newest]) => newest?.[0] ?? '0-0');
  }
}
