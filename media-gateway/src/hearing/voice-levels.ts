/** Windows of voice that are remembered of the present stretch: two seconds. */
const REMEMBERED = 64;
/** A stretch of fewer windows teaches nothing. */
const LEAST_WINDOWS = 6;
/** Which of the remembered levels stands for a voice: its loud syllables, not the sounds between them. */
const LOUD_SYLLABLES = 0.85;

/** How far below the loud syllables of the caller the caller's soft ones are, dB. */
const SOFT_SYLLABLES_DB = 12;
/** How far above the voices in the background a voice must be, dB… */
const ABOVE_BACKGROUND_DB = 4;
/** …as long as the caller's own voice is not known. */
const ABOVE_BACKGROUND_UNKNOWN_DB = 6;
/** The background never asks for more than this below the caller's loud syllables, dB. */
const LEAST_MARGIN_DB = 4;
/** A voice at most so far below the caller's may well be the caller's, dB. */
const LIKE_CALLER_DB = 6;
/** Voices that differ by this are told apart by their levels, dB. */
const APART_DB = 8;
/** Levels closer than this are of one voice, dB. */
const SAME_VOICE_DB = 3;
/** The softest voice that can be the caller's while nothing is known, dBFS. */
const SOFTEST_DB = -52;

/**
 * How loud the caller's voice is and how loud the voices in the background are, both learned during the call: no
 * model tells a television from a caller, but their levels do. Levels are decibels below full scale (mean absolute
 * amplitude).
 */
export class VoiceLevels {
  readonly #levels = new Float64Array(REMEMBERED);
  #count = 0;
  #caller: number | undefined;
  #background: number | undefined;
  #near = SOFTEST_DB;

  /** Loud syllables of the caller; undefined until the first words. */
  get caller(): number | undefined {
    return this.#caller;
  }

  get background(): number | undefined {
    return this.#background;
  }

  /** The level from which a voice counts as the caller's. */
  get near(): number {
    return this.#near;
  }

  /** Notes a window of voice of the present stretch. */
  note(level: number): void {
    this.#levels[this.#count++ % REMEMBERED] = level;
  }

  /** The loud syllables of the present stretch; undefined when it is too short to tell. */
  get present(): number | undefined {
    if (this.#count < LEAST_WINDOWS) return undefined;
    const sorted = this.#levels.slice(0, Math.min(this.#count, REMEMBERED)).sort();
    return sorted[Math.floor(sorted.length * LOUD_SYLLABLES)];
  }

  /** Begins another stretch. */
  forget(): void {
    this.#count = 0;
  }

  /** The present stretch was the caller: it had words. A louder caller is believed sooner than a softer one. */
  learnCaller(): void {
    const level = this.present;
    this.forget();
    if (level === undefined) return;
    const known = this.#caller;
    this.#caller = known === undefined ? level : known + (level > known ? 0.7 : 0.4) * (level - known);
    // A background as loud as the caller was the caller.
    if (this.#background !== undefined && this.#background > this.#caller - SAME_VOICE_DB)
      this.#background = undefined;
    this.#decide();
  }

  /** Whether the caller and the background are told apart by level alone. */
  get apart(): boolean {
    const { caller, background } = { caller: this.#caller, background: this.#background };
    return caller !== undefined && background !== undefined && caller - background >= APART_DB;
  }

  /** Whether the present stretch is as loud as the caller. */
  get likeCaller(): boolean {
    const level = this.present;
    return level !== undefined && this.#caller !== undefined && level >= this.#caller - LIKE_CALLER_DB;
  }

  /** The present stretch was somebody else, unless it was as loud as the caller. */
  learnBackground(): void {
    const level = this.present;
    const { likeCaller } = this;
    this.forget();
    if (level === undefined || likeCaller) return;
    const known = this.#background;
    this.#background = known === undefined ? level : known + (level > known ? 0.7 : 0.2) * (level - known);
    this.#decide();
  }

  /** It has been quiet for so long that the background is not known any more. */
  forgetBackground(): void {
    this.#background = undefined;
    this.#decide();
  }

  #decide(): void {
    const { caller, background } = { caller: this.#caller, background: this.#background };
    if (caller === undefined) {
      this.#near = background === undefined ? SOFTEST_DB : background + ABOVE_BACKGROUND_UNKNOWN_DB;
      return;
    }
    const soft = caller - SOFT_SYLLABLES_DB;
    this.#near =
      background === undefined
        ? soft
        : Math.max(soft, Math.min(background + ABOVE_BACKGROUND_DB, caller - LEAST_MARGIN_DB));
  }
}
