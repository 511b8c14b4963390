/** Audio that is so little out of place runs on, as in the recording. */
const SEAM_MS = 40;
/** Stretches of which it is known where they are: words are told soon. */
const MAX_STRETCHES = 256;

/** Where the audio that an STT was given stands in the call: between two gaps, it runs on. */
export class AudioPlaces {
  /** In order; the last one goes on. */
  readonly #stretches: { fromMs: number; atMs: number }[] = [];
  #givenMs = 0;

  /** Notes audio that the STT is given. @param atMs where it begins, ms from the answer */
  note(durationMs: number, atMs: number): void {
    const last = this.#stretches.at(-1);
    if (!last || Math.abs(last.atMs + this.#givenMs - last.fromMs - atMs) > SEAM_MS) {
      this.#stretches.push({ fromMs: this.#givenMs, atMs });
      if (this.#stretches.length > MAX_STRETCHES) this.#stretches.shift();
    }
    this.#givenMs += durationMs;
  }

  /** @param ms of the audio that was given. @returns ms from the answer */
  startOf(ms: number): number {
    return this.#at(
      ms,
      this.#stretches.findLast(({ fromMs }) => fromMs <= ms),
    );
  }

  /** As `startOf`, for what ends there: what ends at a gap ends before it. */
  endOf(ms: number): number {
    return this.#at(
      ms,
      this.#stretches.findLast(({ fromMs }) => fromMs < ms),
    );
  }

  #at(ms: number, stretch = this.#stretches[0]): number {
    return stretch ? stretch.atMs + ms - stretch.fromMs : ms;
  }
}
