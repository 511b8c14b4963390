import type { Redis } from 'ioredis';
import { redisKeys } from '../contracts/redis-keys.ts';
import type { Wakeup } from './bus.ts';

/** The message of what is urgent. */
const URGENT = 'urgent';

/** One channel. Who listens has a connection for it, opened with the first listener; it comes back by itself. */
export class RedisWakeup implements Wakeup {
  readonly #redis: Redis;
  readonly #open: () => Redis;
  readonly #listeners = new Set<(urgent: boolean) => void>();
  #subscriber: Redis | undefined;

  constructor(redis: Redis, open: () => Redis) {
    this.#redis = redis;
    this.#open = open;
  }

  async publish(urgent = false): Promise<void> {
    await this.#redis.publish(redisKeys.dispatch, urgent ? URGENT : '');
  }

  subscribe(listener: (urgent: boolean) => void): () => void {
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
    const wake = (urgent: boolean) => {
      for (const listener of [...this.#listeners]) listener(urgent);
    };
    subscriber.on('message', (_channel, message) => wake(message === URGENT));
    // Each time it stands, the first included: what was told meanwhile is lost.
    subscriber.on(
      'ready',
      () =>
        void subscriber.subscribe(redisKeys.dispatch).then(
          () => wake(true),
          () => undefined,
        ),
    );
    subscriber.connect().catch(() => undefined);
  }
}
