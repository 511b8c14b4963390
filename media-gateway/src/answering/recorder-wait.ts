/** What may be asked of the call. `speak`: the recorder listens; `again`: only now it does. */
export type RecorderStep = 'speak' | 'again' | undefined;

/** A recorder listens so soon after its beep. */
const AFTER_BEEP_MS = 200;
/** A message whose begin lies before the beep is said once more, when no more than this of it was said. */
const SAY_AGAIN_WITHIN_MS = 4000;

/** Waits for the moment from which a recorder keeps what is said: its beep, or a silence where none comes. */
export class RecorderWait {
  readonly #quietMs: number;
  readonly #until: number;
  #due = Infinity;
  #spokeAt: number | undefined;
  #again = false;

  /** @param options `quietMs` of silence tell that no beep comes; after `limitMs` it is not waited for any longer */
  constructor(options: { quietMs: number; limitMs: number; now: number }) {
    this.#quietMs = options.quietMs;
    this.#until = options.now + options.limitMs;
  }

  /** Takes a beep that has ended. */
  beep(now: number): RecorderStep {
    if (this.#spokeAt === undefined) this.#due = now + AFTER_BEEP_MS;
    else if (!this.#again && now - this.#spokeAt <= SAY_AGAIN_WITHIN_MS) {
      this.#again = true;
      return 'again';
    }
    return undefined;
  }

  /** @param lastVoiceAt when a voice was last heard */
  passed(now: number, lastVoiceAt: number): RecorderStep {
    if (this.#spokeAt !== undefined) return undefined;
    const quiet = now - lastVoiceAt >= this.#quietMs;
    if (now < this.#due && now < this.#until && !quiet) return undefined;
    this.#spokeAt = now;
    return 'speak';
  }
}
