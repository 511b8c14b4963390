import type { Clock } from '@parley/shared/time/clock';

/** Remembers answers for a short time; at most `maxEntries`, the oldest leave first. */
export class ExpiringCache<V> {
  readonly #entries = new Map<string, { value: V; expiresAt: number }>();
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #maxEntries: number;

  constructor(options: { clock: Clock; ttlMs: number; maxEntries: number }) {
    this.#clock = options.clock;
    this.#ttlMs = options.ttlMs;
    this.#maxEntries = options.maxEntries;
  }

  /** The remembered value, or what `load` finds now. A `load` that throws is not remembered. */
  async get(key: string, load: () => Promise<V>): Promise<V> {
    const entry = this.#entries.get(key);
    if (entry && entry.expiresAt > this.#clock.monotonic()) return entry.value;
    // Measured from before the read: what it returns may be that old already.
    const expiresAt = this.#clock.monotonic() + this.#ttlMs;
    const value = await load();
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt });
    if (this.#entries.size > this.#maxEntries) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    return value;
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
