import type { CallClock } from './call-clock.ts';

/** How far the far end's media time may differ from the time of arrival before the latter is used. */
const MAX_DRIFT_MS = 1000;
/** How long a far end of steady audio may send nothing before it counts as gone. */
const MISSING_AFTER_MS = 10_000;
/** How long another far end may send nothing before its microphone counts as off. */
const MICROPHONE_OFF_MS = 2000;

/** When caller audio came last, and where each piece of it belongs on the call's clock. */
export class MediaClock {
  readonly #clock: CallClock;
  readonly #steady: boolean;
  // A number from the beginning: a field that was ever undefined takes a new object for each time it is set.
  #lastAt = -1;
  #base: { timestamp: number; atMs: number } | undefined;
  /** By how much the newest audio is placed behind its arrival; negative before it. */
  #behindMs = 0;

  /** @param steady see `Participant.steadyAudio` */
  constructor(clock: CallClock, steady: boolean) {
    this.#clock = clock;
    this.#steady = steady;
    this.#lastAt = clock.monotonic();
  }

  /** Counts missing audio from now on: the far end gave a sign of life, or begins anew. */
  touch(): void {
    this.#lastAt = this.#clock.monotonic();
  }

  /** Whether audio that should have come did not: the line is lost. */
  isMissing(now: number): boolean {
    return this.#steady && now - this.#lastAt >= MISSING_AFTER_MS;
  }

  /** Whether the far end's microphone is off. */
  isOff(now: number): boolean {
    return !this.#steady && now - this.#lastAt > MICROPHONE_OFF_MS;
  }

  /**
   * Notes audio that came.
   * @returns where it begins, ms from the answer; by the far end's media time unless that is implausible.
   * @param timestampMs the far end's media time, if it gives one
   */
  place(timestampMs: number | undefined, now: number, durationMs: number): number {
    this.#lastAt = now;
    const arrivedMs = now - this.#clock.zero - durationMs;
    const atMs =
      timestampMs === undefined ? Math.max(0, arrivedMs) : this.#byMediaTime(timestampMs, arrivedMs);
    this.#behindMs = atMs - arrivedMs;
    return atMs;
  }

  /**
   * Where audio that arrived at `arrivedAt` was placed, ms from the answer, so that what is told about the caller's
   * audio agrees with the recording when it came late. 0 for what never arrived.
   * @param arrivedAt monotonic ms, not long ago
   */
  placeOf(arrivedAt: number): number {
    return this.#clock.offsetOf(arrivedAt + this.#behindMs);
  }

  #byMediaTime(timestamp: number, arrivedMs: number): number {
    this.#base ??= { timestamp, atMs: Math.max(0, arrivedMs) };
    const atMs = this.#base.atMs + (timestamp - this.#base.timestamp);
    if (Math.abs(atMs - arrivedMs) <= MAX_DRIFT_MS) return atMs;
    this.#base = { timestamp, atMs: Math.max(0, arrivedMs) };
    return this.#base.atMs;
  }
}
