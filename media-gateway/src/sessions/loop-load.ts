import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;
/** Fewer calls than this are not what makes an event loop late. */
const MIN_CALLS_OF_A_LOAD = 10;

/** How late the event loop of this process is. Measures until it is disposed of. */
export class LoopLoad {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #maxDelayMs: number;
  #delayMs = 0;

  /** @param maxDelayMs later than this (p99) is too late for more calls; 0: it never is */
  constructor(maxDelayMs: number) {
    this.#maxDelayMs = maxDelayMs;
  }

  start(): void {
    this.#histogram.enable();
  }

  /** Between the last two measurements, p99, ms. */
  get delayMs(): number {
    return this.#delayMs;
  }

  /** Takes what was measured since the last time. @returns p99, ms */
  measure(): number {
    // The histogram holds whole intervals, of which the resolution was wanted.
    const lateMs = Math.max(0, Math.round(this.#histogram.percentile(99) / 1e5) / 10 - RESOLUTION_MS);
    this.#histogram.reset();
    this.#delayMs = Number.isFinite(lateMs) ? lateMs : 0;
    return this.#delayMs;
  }

  /** So many calls make it late: one more would be worse for all. */
  isTooMuch(calls: number): boolean {
    return this.#maxDelayMs > 0 && this.#delayMs > this.#maxDelayMs && calls >= MIN_CALLS_OF_A_LOAD;
  }

  [Symbol.dispose](): void {
    this.#histogram.disable();
  }
}
