import type { Redis } from 'ioredis';
import { backoffMs } from '../async/backoff.ts';
import { sleep } from '../async/timeout.ts';
import { gatewayCommandSchema, type GatewayCommand } from '../contracts/commands.ts';
import { redisKeys } from '../contracts/redis-keys.ts';
import type { Logger } from '../logging/logger.ts';
import { COMMANDS_TTL_MS, MAX_COMMANDS } from './bus-limits.ts';
import type { CommandBus } from './bus.ts';
import { compareEventIds } from './event-store.ts';
import { BlockingConnection, streamField, type StreamEntry } from './redis-connection.ts';
import { firstError } from './redis-event-store.ts';

const READ_COUNT = 100;

/** A stream per gateway. */
export class RedisCommands implements CommandBus {
  readonly #redis: Redis;
  readonly #openBlocking: () => BlockingConnection;
  readonly #logger: Logger;
  readonly #subscriptions = new Set<() => Promise<void>>();

  constructor(redis: Redis, openBlocking: () => BlockingConnection, logger: Logger) {
    this.#redis = redis;
    this.#openBlocking = openBlocking;
    this.#logger = logger;
  }

  async send(gatewayId: string, command: GatewayCommand): Promise<void> {
    const key = redisKeys.commands(gatewayId);
    firstError(
      await this.#redis
        .multi()
        .xadd(key, 'MAXLEN', '~', MAX_COMMANDS, '*', 'c', JSON.stringify(command))
        .pexpire(key, COMMANDS_TTL_MS)
        .exec(),
    );
  }

  subscribe(
    gatewayId: string,
    handle: (command: GatewayCommand) => void,
    onError: (error: unknown) => void = () => undefined,
  ): Promise<{ [Symbol.asyncDispose](): Promise<void> }> {
    const blocking = this.#openBlocking();
    const stopping = new AbortController();
    const reading = this.#readAll(gatewayId, blocking, handle, onError, stopping.signal);
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
    return Promise.resolve({ [Symbol.asyncDispose]: stop });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#subscriptions].map((stop) => stop()));
  }

  async #readAll(
    gatewayId: string,
    blocking: BlockingConnection,
    handle: (command: GatewayCommand) => void,
    onError: (error: unknown) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const key = redisKeys.commands(gatewayId);
    let last = '0-0';
    let failures = 0;
    while (!signal.aborted) {
      try {
        if (failures > 0) last = await this.#whereToGoOn(key, last);
        const streams = await blocking.read(
          'XREAD',
          ['COUNT', String(READ_COUNT)],
          ['STREAMS', key, last],
          signal,
        );
        failures = 0;
        for (const [id, fields] of streams?.[0]?.[1] ?? []) {
          if (signal.aborted) return;
          last = id;
          try {
            handle(gatewayCommandSchema.parse(JSON.parse(streamField(fields, 'c'))));
          } catch (error) {
            this.#logger.warn(
              { err: error, commandEntry: id },
              'a command from the bus could not be carried out',
            );
            onError(error);
          }
        }
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        await sleep(backoffMs(failures++, { firstMs: 50, maxMs: 1000 }), signal).catch(() => undefined);
      }
    }
  }

  /** After a break: a Redis that has lost its memory counts anew, and by a clock that may have gone back. */
  async #whereToGoOn(key: string, last: string): Promise<string> {
    const [newest] = (await this.#redis.xrevrange(key, '+', '-', 'COUNT', 1)) as StreamEntry[];
    return !newest || compareEventIds(newest[0], last) < 0 ? '0-0' : last;
  }
}
