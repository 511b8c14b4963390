import type { Clock, Timer } from './clock.ts';

interface Pending {
  at: number;
  order: number;
  task: () => void;
}

/** A clock that moves only when told to, and runs the timers it passes in the order they are due. */
export class ManualClock implements Clock {
  #nowMs: number;
  readonly #start: number;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
    this.#start = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs - this.#start;
  }

  setTimeout(task: () => void, ms: number): Timer {
    const entry: Pending = { at: this.#nowMs + Math.max(0, ms), order: this.#order++, task };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  /** How many timers wait; 0 when everything was cancelled or ran. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Moves `ms` ahead, stopping at each timer on the way. Timers set meanwhile run too when they fall due. */
  advance(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      let next: Pending | undefined;
      for (const entry of this.#pending) {
        if (entry.at > end) continue;
        if (!next || entry.at < next.at || (entry.at === next.at && entry.order < next.order)) next = entry;
      }
      if (!next) break;
      this.#pending.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.at);
      next.task();
    }
    // A timer may have moved it further.
    this.#nowMs = Math.max(this.#nowMs, end);
  }

  /** As `advance`, in steps, letting promises settle between them. */
  async advanceAsync(ms: number, stepMs = 10): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.advance(Math.min(stepMs, left));
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}
