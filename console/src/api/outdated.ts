import type { Query, QueryCache } from '@tanstack/react-query';

type AnyQuery = Query<unknown, unknown>;

/** Why something that is shown is not as it is now. */
export interface OutdatedState {
  /** When the oldest of what is shown was read, in milliseconds since the epoch. */
  since: number;
  error: unknown;
}

interface Failure extends OutdatedState {
  /** What the query had then: it is up to date again once it has something else. */
  readAt: number;
}

/** So long a record that was just deleted may still be shown. */
const SETTLE_MS = 500;

/** What pages show although it could not be read again, and why. */
export class Outdated {
  readonly #failures = new Map<AnyQuery, Failure>();
  readonly #listeners = new Set<() => void>();
  #state: OutdatedState | null = null;

  constructor(cache: QueryCache) {
    cache.subscribe(({ type, query }) => {
      if (type === 'removed') this.#failures.delete(query);
      else if (this.#failures.size === 0) return;
      this.#look();
    });
  }

  /** Of what is shown at the moment; null: all of it is up to date. */
  get state(): OutdatedState | null {
    return this.#state;
  }

  /** @returns takes the listener away */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** A query has something, and could not read it again. */
  add(query: AnyQuery, error: unknown): void {
    const readAt = query.state.dataUpdatedAt;
    setTimeout(() => {
      if (query.state.dataUpdatedAt !== readAt) return;
      const since = readAt || (this.#failures.get(query)?.since ?? Date.now());
      this.#failures.set(query, { readAt, since, error });
      this.#look();
    }, SETTLE_MS);
  }

  /** Reads all of it again. */
  async retry(): Promise<void> {
    const shown = [...this.#failures.keys()].filter((query) => query.isActive());
    await Promise.all(shown.map((query) => query.fetch().catch(() => undefined)));
  }

  #look(): void {
    let oldest: Failure | null = null;
    for (const [query, failure] of this.#failures) {
      if (query.state.dataUpdatedAt !== failure.readAt) this.#failures.delete(query);
      else if (query.isActive() && (oldest === null || failure.since < oldest.since)) oldest = failure;
    }
    if (oldest === this.#state) return;
    this.#state = oldest;
    for (const listener of this.#listeners) listener();
  }
}
