import { Redis } from 'ioredis';
import { sleep, withTimeout } from '../async/timeout.ts';
import { ConfigError } from '../errors/config-error.ts';
import type { Logger } from '../logging/logger.ts';

/** How long a command may take before its caller is told that Redis is gone. */
export const COMMAND_TIMEOUT_MS = 2000;
/** How long one blocking read waits in Redis. */
const BLOCK_MS = 2000;
/** What a blocking read may take on top before its connection counts as dead. */
const BLOCK_GRACE_MS = 3000;
/** How long a read that was asked to end may take for it. */
const UNBLOCK_MS = 1000;

/**
 * A connection that comes back by itself. While it is down commands fail at once and none is kept or sent again: who
 * asks knows best what to do.
 * @param url `redis://`, `rediss://` (TLS) or the path of a unix socket
 */
export function createRedis(
  url: string,
  options: { name: string; logger: Logger; blocking?: boolean },
): Redis {
  const { logger, name } = options;
  const redis = new Redis(url, {
    connectionName: `parley-${name}`,
    // The shapes of replies below are those of RESP2.
    protocol: 2,
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: COMMAND_TIMEOUT_MS,
    ...(options.blocking ? {} : { commandTimeout: COMMAND_TIMEOUT_MS }),
    retryStrategy: (attempt) => Math.min(2000, 50 * 2 ** Math.min(attempt, 6)),
  });
  let down = false;
  let lastError: unknown;
  redis.on('error', (error: unknown) => (lastError = error));
  redis.on('close', () => {
    if (down || redis.status === 'end') return;
    down = true;
    logger.warn({ connection: name, err: lastError }, 'the connection to Redis is down');
  });
  redis.on('ready', () => {
    if (down) logger.info({ connection: name }, 'the connection to Redis is back');
    down = false;
  });
  return redis;
}

/** Resolves when the connection is ready for the first time. @throws ConfigError when it is not in time, after closing it */
export async function connectRedis(redis: Redis): Promise<void> {
  let reason: unknown;
  const onError = (error: unknown) => (reason = error);
  redis.on('error', onError);
  try {
    await withTimeout(redis.connect(), 2 * COMMAND_TIMEOUT_MS, 'Connecting to Redis');
  } catch (error) {
    redis.disconnect();
    const cause = reason ?? error;
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError([`REDIS_URL: Redis cannot be used: ${what}`], { cause });
  } finally {
    redis.off('error', onError);
  }
}

/** A connection of its own for commands that wait in Redis, so that they hold up nobody else. */
export class BlockingConnection {
  readonly #redis: Redis;
  readonly #main: Redis;
  /** Redis' number of this connection; another one after each reconnection. */
  #clientId: number | undefined;

  /** @param main is asked to end a wait early */
  constructor(url: string, main: Redis, options: { name: string; logger: Logger }) {
    this.#main = main;
    this.#redis = createRedis(url, { ...options, blocking: true });
    this.#redis.on('close', () => (this.#clientId = undefined));
    this.#redis.connect().catch(() => {
      // It is tried again by itself.
    });
  }

  /**
   * Runs `XREAD …` or `XREADGROUP …` with a bounded wait.
   * @param before what comes before `BLOCK`
   * @returns null when nothing came, or `signal` aborted
   */
  async read(
    command: 'XREAD' | 'XREADGROUP',
    before: readonly string[],
    after: readonly string[],
    signal: AbortSignal,
  ): Promise<[key: string, entries: StreamEntry[]][] | null> {
    if (signal.aborted) return null;
    await this.#ready(signal);
    if (signal.aborted) return null;
    const reply = this.#redis.call(command, ...before, 'BLOCK', String(BLOCK_MS), ...after);
    let settled = false;
    const unblock = async () => {
      // The read may be on its way still: it is asked for again until it has come back.
      while (!settled && this.#clientId !== undefined) {
        await this.#main.client('UNBLOCK', this.#clientId);
        await sleep(5);
      }
    };
    let patience: NodeJS.Timeout | undefined;
    const onAbort = () => {
      unblock().catch(() => undefined);
      patience = setTimeout(() => this.#redis.disconnect(true), UNBLOCK_MS);
    };
    signal.addEventListener('abort', onAbort);
    try {
      return (await withTimeout(reply, BLOCK_MS + BLOCK_GRACE_MS, 'A read from Redis')) as
        [string, StreamEntry[]][] | null;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'ReplyError') this.#redis.disconnect(true);
      throw error;
    } finally {
      settled = true;
      clearTimeout(patience);
      signal.removeEventListener('abort', onAbort);
    }
  }

  close(): void {
    this.#redis.disconnect();
  }

  async #ready(signal: AbortSignal): Promise<void> {
    if (this.#redis.status !== 'ready') {
      if (this.#redis.status === 'end') throw new Error('The connection to Redis is closed.');
      let onReady!: () => void;
      const ready = new Promise<void>((resolve) => {
        onReady = resolve;
        this.#redis.once('ready', onReady);
        signal.addEventListener('abort', onReady);
      });
      try {
        await withTimeout(ready, COMMAND_TIMEOUT_MS, 'Connecting to Redis');
      } finally {
        this.#redis.off('ready', onReady);
        signal.removeEventListener('abort', onReady);
      }
    }
    this.#clientId ??= await withTimeout(this.#redis.client('ID'), COMMAND_TIMEOUT_MS, 'Connecting to Redis');
  }
}

/** As RESP2 has it: an id, and names and values in turn. Null fields: the entry was deleted. */
export type StreamEntry = [id: string, fields: string[] | null];

/** @returns the value of `name`, or an empty string */
export function streamField(fields: readonly string[] | null, name: string): string {
  if (!fields) return '';
  for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i] === name) return fields[i + 1]!;
  return '';
}
