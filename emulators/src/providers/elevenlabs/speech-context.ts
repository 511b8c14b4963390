import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { speakPaced } from './paced-speech.ts';
import type { SpeechEvent } from './paced-speech.ts';
import type { SpeechSettings } from './speech-settings.ts';

/** Characters that start a generation, one after the other; the last one again and again. */
const DEFAULT_SCHEDULE = [120, 160, 250, 290] as const;
/** `try_trigger_generation` does nothing below this (about; the vendor gives no figure). */
const TRIGGER_MIN_CHARACTERS = 50;

interface Utterance {
  text: string;
  requestedAt: number;
}

export interface SpeechContextOptions {
  format: AudioFormat;
  autoMode: boolean;
  schedule?: readonly number[] | undefined;
  signal: AbortSignal;
  emit: (event: SpeechEvent) => void;
  /** The voice itself broke down; nothing more is spoken. */
  onFailure: (error: unknown) => void;
}

/** Text in, speech out: the buffer, the schedule and the order of one stream or context. */
export class SpeechContext {
  readonly #settings: SpeechSettings;
  readonly #options: SpeechContextOptions;
  readonly #schedule: readonly number[];
  #buffer = '';
  #step = 0;
  readonly #waiting: Utterance[] = [];
  #speaking: Promise<void> | undefined;

  constructor(settings: SpeechSettings, options: SpeechContextOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#schedule = options.schedule ?? DEFAULT_SCHEDULE;
  }

  /** Characters that have been taken and not yet spoken. */
  get backlog(): number {
    return this.#waiting.reduce((sum, { text }) => sum + text.length, this.#buffer.length);
  }

  add(text: string, { tryTrigger = false }: { tryTrigger?: boolean } = {}): void {
    this.#buffer += text;
    const needed = this.#schedule[Math.min(this.#step, this.#schedule.length - 1)]!;
    if (this.#options.autoMode) this.flush();
    else if (this.#buffer.length >= needed) {
      this.#step++;
      this.flush();
    } else if (tryTrigger && this.#buffer.length >= TRIGGER_MIN_CHARACTERS) this.flush();
  }

  /** Generates what is buffered. Says nothing about it at the end. */
  flush(): void {
    const text = this.#buffer;
    if (text.trim() === '') return;
    this.#buffer = '';
    this.#waiting.push({ text, requestedAt: this.#settings.clock.monotonic() });
    this.#speaking ??= this.#speakAll();
  }

  /** Resolves when all that was flushed has been sent. Unflushed text is given up. */
  async drained(): Promise<void> {
    this.#buffer = '';
    await this.#speaking;
  }

  async #speakAll(): Promise<void> {
    const { format, signal, emit, onFailure } = this.#options;
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        for await (const event of speakPaced(this.#settings, { ...next, format, signal })) emit(event);
      }
    } catch (error) {
      this.#waiting.length = 0;
      if (signal.aborted) this.#settings.stats.abandoned++;
      else onFailure(error);
    } finally {
      this.#speaking = undefined;
    }
  }
}
