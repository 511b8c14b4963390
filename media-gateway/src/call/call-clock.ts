import type { Clock, Timer } from '@parley/shared/time/clock';

/** The time of a call, counted from its first answer. Times are monotonic milliseconds unless said otherwise. */
export class CallClock {
  /** When the call was answered, ms since the epoch. */
  readonly answeredAt: number;
  /** When the call was answered, on the monotonic clock. */
  readonly zero: number;
  readonly #clock: Clock;

  /** @param answeredAt when media began to flow on the first leg, ms since the epoch */
  constructor(clock: Clock, answeredAt: number) {
    this.#clock = clock;
    this.answeredAt = answeredAt;
    this.zero = clock.monotonic() - (clock.now() - answeredAt);
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  /** The present time, ms since the epoch. */
  now(): number {
    return this.#clock.now();
  }

  /** Milliseconds from the answer until now. */
  offset(): number {
    return this.offsetOf(this.#clock.monotonic());
  }

  /** Milliseconds from the answer to `monotonicMs`; 0 for what never happened. */
  offsetOf(monotonicMs: number): number {
    return Number.isFinite(monotonicMs) ? Math.max(0, Math.round(monotonicMs - this.zero)) : 0;
  }

  setTimeout(task: () => void, ms: number): Timer {
    return this.#clock.setTimeout(task, ms);
  }
}
