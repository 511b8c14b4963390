import type { CallClock } from './call-clock.ts';

/** A far end whose time says something else by this much is put right by when its audio arrives. */
const MAX_DRIFT_MS = 1000;
/** A far end of steady audio that sends nothing for this long is gone, whatever its socket says. */
const MISSING_AFTER_MS = 10_000;
/** A far end of another kind that sent nothing for this long has its microphone off: it may be silent. */
const MICROPHONE_OFF_MS = 2000;

/** When caller audio came last, and where each piece of it belongs on the call's clock. */
export class MediaClock {
  readonly #clock: CallClock;
  readonly #steady: boolean;
  #lastAt: number;
  #base: { timestamp: number; atMs: number } | undefined;

  /** @param steady see `Participant.steadyAudio` */
  constructor(clock: CallClock, steady: boolean) {
    this.#clock = clock;
    this.#steady = steady;
    this.#lastAt = clock.monotonic();
  }

  /** A sign of life that is no audio, or a new beginning: silence counts from here. */
  touch(): void {
    this.#lastAt = this.#clock.monotonic();
  }

  /** The line is lost: audio should have come, and did not. */
  isMissing(now: number): boolean {
    return this.#steady && now - this.#lastAt >= MISSING_AFTER_MS;
  }

  /** Nobody is at a microphone. */
  isOff(now: number): boolean {
    return !this.#steady && now - this.#lastAt > MICROPHONE_OFF_MS;
  }

  /**
   * Audio came: @returns where it begins, ms from the answer: by the far end's own time where that makes sense.
   * @param timestampMs the far end's media time, if it gives one
   */
  place(timestampMs: number | undefined, now: number, durationMs: number): number {
    this.#lastAt = now;
    const arrivedMs = now - this.#clock.zero - durationMs;
    if (timestampMs === undefined) return Math.max(0, arrivedMs);
    this.#base ??= { timestamp: timestampMs, atMs: Math.max(0, arrivedMs) };
    const atMs = this.#base.atMs + (timestampMs - this.#base.timestamp);
    if (Math.abs(atMs - arrivedMs) <= MAX_DRIFT_MS) return atMs;
    this.#base = { timestamp: timestampMs, atMs: Math.max(0, arrivedMs) };
    return this.#base.atMs;
  }
}
