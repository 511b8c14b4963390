/** A sound of at least this is followed by longer pieces: by then the first word has left frame by frame. */
const ONSET_MS = 200;
/** A gap within a word does not end the sound. */
const GAP_MS = 100;
/** So long after the last sound nothing waits for the end of a turn any more, told or not. */
const SETTLED_MS = 1000;
const IN_SOUND_MS = 100;
const IN_SILENCE_MS = 100;

/**
 * Decides how often caller audio goes to the STT: a send costs more than everything else that a frame needs. Around the
 * begin and the end of speech each frame goes at once, so that nobody waits longer for an answer; in the middle of speech
 * and in silence frames wait for each other. The frame that ends a piece is the first one that is no silence, or the first
 * one after a sound, whatever waits by then.
 *
 * | the frame is | each piece holds |
 * | --- | --- |
 * | loud, in the first 200 ms of a sound, or where noise is loud as well | one frame |
 * | loud, later in a sound | 100 ms |
 * | not loud, within 1 s of a sound whose turn has not ended, or while words wait for the end of theirs | one frame |
 * | neither loud nor silent: a soft word may begin | one frame |
 * | silent, later | 100 ms |
 */
export class SttCadence {
  #soundMs = 0;
  #quietMs = Infinity;
  #waitingMs = 0;
  /** The turn of the last sound has ended. */
  #ended = false;

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
    if (this.#waitingMs < this.#pieceMs(line, open)) return true;
    this.#waitingMs = 0;
    return false;
  }

  #pieceMs(line: { loud: boolean; silent: boolean; noisy: boolean }, open: boolean): number {
    if (line.loud) return this.#soundMs > ONSET_MS && !line.noisy ? IN_SOUND_MS : 0;
    const settled = this.#ended || this.#quietMs > SETTLED_MS;
    return line.silent && settled && !open ? IN_SILENCE_MS : 0;
  }
}
