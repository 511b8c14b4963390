import type { Redis } from 'ioredis';
import { redisKeys } from '../contracts/redis-keys.ts';
import type { Wakeup } from './bus.ts';

/** One channel. Who listens has a connection for it, opened with the first listener; it comes back by itself. */
export class RedisWakeup implements Wakeup {
  readonly #redis: Redis;
  readonly #open: () => Redis;
  readonly #listeners = new Set<() => void>();
  #subscriber: Redis | undefined;

  constructor(redis: Redis, open: () => Redis) {
    this.#redis = redis;
    this.#open = open;
  }

  async publish(): Promise<void> {
    await this.#redis.publish(redisKeys.dispatch, '');
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#listen();
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#listeners.clear();
    this.#subscriber?.disconnect();
  }

  #listen(): void {
    if (this.#subscriber) return;
    const subscriber = this.#open();
    this.#subscriber = subscriber;
    const wake = () => {
      for (const listener of [...this.#listeners]) listener();
    };
    subscriber.on('message', wake);
    // Each time it stands, the first included: what was told meanwhile is lost.
    subscriber.on('ready', () => void subscriber.subscribe(redisKeys.dispatch).then(wake, () => undefined));
    subscriber.connect().catch(() => undefined);
  }
}
