import type { Clock, Timer } from '@parley/shared/time/clock';

/** Every 20 ms, on a grid that does not drift. */
export const TICK_MS = 20;
/** How often a task does what may be a tenth of a second late. */
export const SLOW_TICK_MS = 5 * TICK_MS;
/** Tasks are spread over this many grids, so that hundreds of calls don't all work in the same millisecond. */
const GRIDS = 4;

/**
 * A few timers for all calls of the process: each tick of a grid runs its tasks once. Costs nothing while no task is
 * there. Tasks must be short and must not throw.
 */
export class Ticker {
  readonly #grids: readonly Grid[];

  constructor(clock: Clock) {
    this.#grids = Array.from({ length: GRIDS }, (_, i) => new Grid(clock, (i * TICK_MS) / GRIDS));
  }

  /** @returns a function that removes the task; calling it twice is harmless */
  add(task: (monotonicMs: number) => void): () => void {
    const emptiest = this.#grids.reduce((least, grid) => (grid.size < least.size ? grid : least));
    return emptiest.add(task);
  }

  get size(): number {
    return this.#grids.reduce((sum, grid) => sum + grid.size, 0);
  }
}

/** Tasks that run at the same time: `phaseMs` after each multiple of a tick. */
class Grid {
  readonly #clock: Clock;
  readonly #phaseMs: number;
  readonly #tasks = new Set<(nowMs: number) => void>();
  #timer: Timer | undefined;
  #nextAt = 0;

  constructor(clock: Clock, phaseMs: number) {
    this.#clock = clock;
    this.#phaseMs = phaseMs;
  }

  get size(): number {
    return this.#tasks.size;
  }

  add(task: (monotonicMs: number) => void): () => void {
    this.#tasks.add(task);
    if (!this.#timer) this.#schedule(this.#clock.monotonic());
    return () => {
      this.#tasks.delete(task);
      if (this.#tasks.size > 0) return;
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  /** The next point of the grid; ticks that were missed altogether are not made up for. */
  #schedule(now: number): void {
    if (this.#nextAt <= now)
      this.#nextAt = (Math.floor((now - this.#phaseMs) / TICK_MS) + 1) * TICK_MS + this.#phaseMs;
    this.#timer = this.#clock.setTimeout(this.#tick, this.#nextAt - now);
  }

  readonly #tick = (): void => {
    const now = this.#clock.monotonic();
    this.#nextAt += TICK_MS;
    this.#schedule(now);
    for (const task of this.#tasks) task(now);
  };
}
