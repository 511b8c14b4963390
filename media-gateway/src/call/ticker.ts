import type { Clock, Timer } from '@parley/shared/time/clock';

/** Every 20 ms, on a grid that does not drift. */
export const TICK_MS = 20;

/**
 * One timer for all calls of the process: each tick runs every task once. Costs nothing while no task is there.
 * Tasks must be short and must not throw.
 */
export class Ticker {
  readonly #clock: Clock;
  readonly #tasks = new Set<(nowMs: number) => void>();
  #timer: Timer | undefined;
  #nextAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @returns a function that removes the task; calling it twice is harmless */
  add(task: (monotonicMs: number) => void): () => void {
    this.#tasks.add(task);
    if (!this.#timer) {
      this.#nextAt = this.#clock.monotonic() + TICK_MS;
      this.#timer = this.#clock.setTimeout(this.#tick, TICK_MS);
    }
    return () => {
      this.#tasks.delete(task);
      if (this.#tasks.size === 0) {
        this.#timer?.cancel();
        this.#timer = undefined;
      }
    };
  }

  get size(): number {
    return this.#tasks.size;
  }

  readonly #tick = (): void => {
    const now = this.#clock.monotonic();
    // A late tick does not shift the grid; ticks that were missed altogether are not made up for.
    this.#nextAt += TICK_MS;
    if (this.#nextAt <= now) this.#nextAt = now + TICK_MS - ((now - this.#nextAt) % TICK_MS);
    this.#timer = this.#clock.setTimeout(this.#tick, this.#nextAt - now);
    for (const task of this.#tasks) task(now);
  };
}
