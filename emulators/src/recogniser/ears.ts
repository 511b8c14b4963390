import type { RawFormat } from './level-meter.ts';
import { VoiceActivity } from './voice-activity.ts';

/** One word as it was taught, with its place in the audio stream. */
export interface HeardWord {
  /** With the case and punctuation of the sentence it belongs to. */
  text: string;
  startMs: number;
  endMs: number;
  /** 0 to 1 */
  confidence: number;
}

/**
 * What one channel of audio holds, heard so far. The fields describe the moment `atMs` of the audio while `onTick`
 * runs, which happens in the order of the audio and about every 10 ms of it.
 */
export interface Ears {
  readonly atMs: number;
  readonly onsetMs: number;
  readonly lastVoicedMs: number;
  /** Rises when the words start anew. */
  readonly utterance: number;
  /** The end of the last word so far, or -1 where there is none. */
  readonly lastWordEndMs: number;
  /** All words of the utterance so far. They may change until the utterance is over, as with any recogniser. */
  words(): readonly HeardWord[];
  onTick: () => void;
  push(bytes: Uint8Array): void;
  /** Calls `done` when everything pushed before has been heard. */
  flush(done: () => void): void;
  /** The listener has no more use for the words up to here. */
  endUtterance(): void;
  close(): void;
}

/** How long a scripted word takes while its sentence is still being spoken. */
const SCRIPTED_WORD_MS = 250;
const SCRIPTED_PAUSE_MS = 60;
/** A noise has no words whose end would be reported: it is over after this. */
const NOISE_OVER_MS = 150;

/** Hears by energy alone: the n-th stretch of speech is the n-th line of a script, from the top again at its end. */
export class ScriptedEars implements Ears {
  onTick: () => void = () => undefined;
  utterance = 0;
  readonly #activity: VoiceActivity;
  readonly #lines: readonly (readonly string[])[];
  #startMs = -1;
  #over = false;
  #told = 0;

  /** @param lines the words of each utterance; none for one that is only noise */
  constructor(
    format: RawFormat,
    lines: readonly (readonly string[])[],
    options: { threshold?: number; marked?: boolean } = {},
  ) {
    this.#lines = lines;
    this.#activity = new VoiceActivity(format, options, () => this.#block());
  }

  get atMs(): number {
    return this.#activity.atMs;
  }

  get onsetMs(): number {
    return this.#activity.onsetMs;
  }

  get lastVoicedMs(): number {
    return this.#activity.lastVoicedMs;
  }

  get lastWordEndMs(): number {
    return this.#startMs < 0 || this.#line().length === 0 ? -1 : this.#activity.lastVoicedMs;
  }

  words(): readonly HeardWord[] {
    if (this.#startMs < 0) return [];
    const { lastVoicedMs, atMs } = this.#activity;
    const line = this.#line();
    const spokenMs = lastVoicedMs - this.#startMs;
    // A pause shows that the line is complete; until then it grows at the pace of speech, and never shrinks.
    const complete = this.#over || atMs - lastVoicedMs >= SCRIPTED_PAUSE_MS;
    const grown = complete ? line.length : 1 + Math.floor(spokenMs / SCRIPTED_WORD_MS);
    const count = Math.min(line.length, Math.max(this.#told, grown));
    this.#told = count;
    const wordMs = count === 0 ? 0 : spokenMs / count;
    return line.slice(0, count).map((text, index) => ({
      text,
      startMs: this.#startMs + index * wordMs,
      endMs: this.#startMs + (index + 1) * wordMs,
      confidence: 0.99,
    }));
  }

  push(bytes: Uint8Array): void {
    this.#activity.push(bytes);
  }

  flush(done: () => void): void {
    done();
  }

  endUtterance(): void {
    this.#over = true;
  }

  close(): void {
    this.onTick = () => undefined;
  }

  #line(): readonly string[] {
    return this.#lines.length === 0 ? [] : this.#lines[this.utterance % this.#lines.length]!;
  }

  #block(): void {
    const { atMs, lastVoicedMs, onsetMs } = this.#activity;
    if (lastVoicedMs === atMs) {
      if (this.#startMs < 0) {
        this.#startMs = onsetMs;
      } else if (this.#over && onsetMs > this.#startMs) {
        this.utterance += 1;
        this.#startMs = onsetMs;
        this.#over = false;
        this.#told = 0;
      }
    } else if (this.#startMs >= 0 && atMs - lastVoicedMs >= NOISE_OVER_MS && this.#line().length === 0) {
      this.#over = true;
    }
    this.onTick();
  }
}
