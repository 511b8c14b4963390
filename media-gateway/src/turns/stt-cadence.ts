/** A sound of at least this goes on in longer pieces: by then its first word has left. */
const ONSET_MS = 200;
/** A gap within a word does not end the sound. */
const GAP_MS = 100;
/** So long after the last sound nothing waits for the end of a turn any more, told or not. */
const SETTLED_MS = 1000;
const IN_ONSET_MS = 40;
const IN_SOUND_MS = 100;
/** Nothing in it is waited for, and the first frame that is no silence takes it along; vendors advise 20 to 250 ms. */
const IN_SILENCE_MS = 200;
/** Behind the first frame of a gap so much waits: no STT that waits for `LEAST_ENDPOINTING_MS` ends a turn by then. */
const IN_GAP_MS = 60;
const LEAST_ENDPOINTING_MS = 100;

/**
 * Decides how often caller audio goes to the STT: a send costs more than everything else that a frame needs. Where speech
 * may end each frame goes at once, so that nobody waits longer for an answer; in the middle of speech and in silence
 * frames wait for each other. The frame that ends a piece is the first one that is no silence, or the first one after a
 * sound, whatever waits by then.
 *
 * | the frame is | each piece holds |
 * | --- | --- |
 * | the first of a sound, or loud where noise is loud as well | one frame |
 * | loud, in the first 200 ms of a sound | 40 ms |
 * | loud, later in a sound | 100 ms |
 * | the first after a sound | one frame |
 * | not loud, in the 60 ms behind it, where the STT waits for 100 ms of silence or decides itself | 60 ms |
 * | not loud, within 1 s of a sound whose turn has not ended, or while words wait for the end of theirs | one frame |
 * | neither loud nor silent: a soft word may begin | one frame |
 * | silent, later | 200 ms |
 */
export class SttCadence {
  #soundMs = 0;
  #quietMs = Infinity;
  #waitingMs = 0;
  /** The turn of the last sound has ended. */
  #ended = false;
  readonly #gapMs: number;

  /** @param endpointingMs how long a silence ends a turn, undefined where that is left to the STT */
  constructor(endpointingMs: number = LEAST_ENDPOINTING_MS) {
    this.#gapMs = endpointingMs >= LEAST_ENDPOINTING_MS ? IN_GAP_MS : 0;
  }

  /** The STT has told the end of a turn: until the next sound nobody waits for it. */
  turnEnded(): void {
    this.#ended = true;
  }

  /**
   * @param line `loud`, `silent`: the frame is; `noisy`: sounds that are not the caller's are loud, too
   * @param open words are known whose turn has not ended
   * @returns whether the frame may wait for the next
   */
  mayWait(
    durationMs: number,
    line: { readonly loud: boolean; readonly silent: boolean; readonly noisy: boolean },
    open: boolean,
  ): boolean {
    const { loud } = line;
    if (loud) {
      if (this.#quietMs > GAP_MS) this.#soundMs = 0;
      this.#soundMs += durationMs;
      this.#quietMs = 0;
      this.#ended = false;
    } else this.#quietMs += durationMs;
    this.#waitingMs += durationMs;
    if (this.#waitingMs < this.#pieceMs(durationMs, line, open)) return true;
    this.#waitingMs = 0;
    return false;
  }

  #pieceMs(
    durationMs: number,
    { loud, silent, noisy }: { loud: boolean; silent: boolean; noisy: boolean },
    open: boolean,
  ): number {
    if (loud) {
      if (noisy || this.#soundMs <= durationMs) return 0;
      return this.#soundMs > ONSET_MS ? IN_SOUND_MS : IN_ONSET_MS;
    }
    const settled = this.#ended || this.#quietMs > SETTLED_MS;
    if (silent && settled && !open) return IN_SILENCE_MS;
    const inGap = this.#quietMs > durationMs && this.#quietMs <= durationMs + this.#gapMs;
    return inGap && !noisy ? this.#gapMs : 0;
  }
}
