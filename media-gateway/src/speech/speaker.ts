import { AudioConverter } from '@parley/shared/audio/convert';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { Usage } from '@parley/shared/contracts/usage';
import { countUse } from '@parley/shared/contracts/call-prices';
import type { TtsProvider, TtsUtterance } from '../providers/tts/tts-provider.ts';
import type { Playout } from './playout.ts';
import { WrittenWords, type ToSpoken } from './spoken-form/spoken-form.ts';

/** The voices of one call: the voice in use and its fallbacks, each opened when first required. */
export class CallVoices {
  #makers: readonly (() => TtsProvider)[];
  #index = 0;
  #current: TtsProvider | undefined;
  readonly #opened: TtsProvider[] = [];
  #last: (() => TtsProvider) | undefined;
  /** Rises with each change of the voices that was asked for. */
  changes = 0;

  /** @param last the voice of last resort, see `CallProviders.lastVoice` */
  constructor(makers: readonly (() => TtsProvider)[], last?: () => TtsProvider) {
    this.#makers = makers;
    this.#last = last;
  }

  get current(): TtsProvider {
    if (!this.#current) {
      this.#current = this.#makers[this.#index]!();
      this.#opened.push(this.#current);
    }
    return this.#current;
  }

  /** Replaces the voices from the next utterance on. */
  use(makers: readonly (() => TtsProvider)[]): void {
    this.changes++;
    this.#makers = makers;
    this.#index = 0;
    this.#current = undefined;
  }

  /** @returns whether there was another voice to change to */
  fallBack(): boolean {
    if (this.#index + 1 >= this.#makers.length) return false;
    this.#index++;
    this.#current = undefined;
    return true;
  }

  /** Changes to the voice of last resort, once. @returns whether there is one */
  useLast(): boolean {
    const last = this.#last;
    if (!last) return false;
    this.#last = undefined;
    this.use([last]);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#opened.map((voice) => voice[Symbol.asyncDispose]()));
  }
}

/** How the words of an agent are to sound, whoever speaks them. */
export interface SpokenStyle {
  toSpoken: ToSpoken;
  /** Changes the loudness of audio for the far end, where it lies; undefined: it stays. */
  amplify: ((bytes: Uint8Array) => void) | undefined;
}

export interface SpeakerEvents {
  /** Text went to the voice for the first time. */
  onFirstText(): void;
  onFirstAudio(): void;
  /** A voice failed and is tried again or replaced. */
  onTrouble(error: ProviderError): void;
}

/**
 * Speaks the pieces of one reply in order into the playout. A voice that fails is tried once more, then replaced;
 * what it had already said is not said again.
 */
export class Speaker {
  readonly #voices: CallVoices;
  readonly #playout: Playout;
  readonly #output: AudioFormat;
  readonly #style: () => SpokenStyle;
  readonly #keep: boolean;
  readonly #signal: AbortSignal;
  readonly #events: SpeakerEvents;
  readonly #written = new WrittenWords();
  #utterance: Utterance | undefined;
  #voicesAt = 0;
  #spoke = false;
  #audible = false;
  /** Characters given to each voice. */
  readonly #characters = new Map<TtsProvider['model'], number>();

  constructor(deps: {
    voices: CallVoices;
    playout: Playout;
    output: AudioFormat;
    /** At the time: the language may change within a reply. */
    style: () => SpokenStyle;
    /** It is one fixed text, which other calls say too. */
    keep: boolean;
    signal: AbortSignal;
    events: SpeakerEvents;
  }) {
    this.#voices = deps.voices;
    this.#playout = deps.playout;
    this.#output = deps.output;
    this.#style = deps.style;
    this.#keep = deps.keep;
    this.#signal = deps.signal;
    this.#events = deps.events;
  }

  /** Speaks one sentence or phrase after the earlier ones. Waits while much audio is still to be played.
   * @throws ProviderError when no voice is left; the reason of the signal
   */
  async say(text: string): Promise<void> {
    this.#signal.throwIfAborted();
    await this.#playout.room(this.#signal);
    // Meanwhile the playout may belong to another reply.
    this.#signal.throwIfAborted();
    // What was begun in another voice ends in it.
    if (this.#utterance && this.#voicesAt !== this.#voices.changes) await this.flush();
    if (this.#utterance?.failure) await this.#recover();
    if (!this.#spoke) {
      this.#spoke = true;
      this.#events.onFirstText();
    }
    const spoken = this.#style().toSpoken(text);
    this.#playout.addText(text, spoken.units);
    this.#written.add(spoken);
    if (spoken.text === '') return;
    this.#utterance ??= this.#open();
    this.#utterance.push(spoken.text);
    if (!this.#utterance.isRemembered) this.#count(this.#utterance, spoken.text.length);
  }

  /** Adds what the voices were given. */
  count(usage: Usage): void {
    for (const [model, tts_characters] of this.#characters) countUse(usage, model, { tts_characters });
  }

  #count({ model }: Utterance, characters: number): void {
    this.#characters.set(model, (this.#characters.get(model) ?? 0) + characters);
  }

  /** Resolves when the playout has all audio of what was said so far. More may be said afterwards. */
  async flush(): Promise<void> {
    while (this.#utterance) {
      this.#utterance.end();
      await this.#utterance.settled;
      this.#signal.throwIfAborted();
      if (!this.#utterance.failure) {
        this.#utterance = undefined;
        return;
      }
      await this.#recover();
    }
  }

  #open(): Utterance {
    this.#voicesAt = this.#voices.changes;
    return new Utterance({
      voice: this.#voices.current,
      playout: this.#playout,
      output: this.#output,
      amplify: this.#style().amplify,
      written: this.#written,
      keep: this.#keep,
      signal: this.#signal,
      onAudio: () => {
        if (this.#audible) return;
        this.#audible = true;
        this.#events.onFirstAudio();
      },
    });
  }

  /** Says in a new utterance what the failed utterance left unsaid. */
  async #recover(): Promise<void> {
    for (let tries = 0; ; tries++) {
      const failed = this.#utterance!;
      const error = failed.failure!;
      this.#events.onTrouble(error);
      const unrecoverable = error.fault === 'auth' || tries > 0;
      if (unrecoverable && !this.#voices.fallBack()) throw error;
      const rest = failed.unspokenText();
      this.#written.resume(rest === '' ? 0 : rest.split(/\s+/).length);
      this.#utterance = rest === '' ? undefined : this.#open();
      if (!this.#utterance) return;
      // Who failed to speak it did not.
      this.#count(failed, -rest.length);
      this.#count(this.#utterance, rest.length);
      this.#utterance.push(rest);
      // The first audio, or a failure, shows whether the new utterance works.
      await this.#utterance.begun;
      this.#signal.throwIfAborted();
      if (!this.#utterance.failure) return;
    }
  }
}

/** One utterance of a voice, and how far it got. */
class Utterance {
  readonly model: TtsProvider['model'];
  readonly #tts: TtsUtterance;
  readonly #baseMs: number;
  readonly #playout: Playout;
  #text = '';
  #wordsTold = 0;
  #ended = false;
  failure: ProviderError | undefined;
  /** Resolves when all audio came, or the utterance failed or was aborted. */
  readonly settled: Promise<void>;
  /** Resolves with the first audio, or when settled. */
  readonly begun: Promise<void>;

  constructor({
    voice,
    playout,
    output,
    amplify,
    written,
    keep,
    signal,
    onAudio,
  }: {
    voice: TtsProvider;
    playout: Playout;
    output: AudioFormat;
    amplify: SpokenStyle['amplify'];
    written: WrittenWords;
    keep: boolean;
    signal: AbortSignal;
    onAudio: () => void;
  }) {
    this.model = voice.model;
    this.#playout = playout;
    this.#baseMs = playout.writtenMs;
    const converter = new AudioConverter(voice.format, output);
    let settle!: () => void;
    let begin!: () => void;
    this.settled = new Promise((resolve) => (settle = resolve));
    this.begun = new Promise((resolve) => (begin = resolve));
    const write = (bytes: Uint8Array) => {
      amplify?.(bytes);
      playout.write(bytes);
    };
    const finish = () => {
      signal.removeEventListener('abort', finish);
      settle();
      begin();
    };
    signal.addEventListener('abort', finish, { once: true });
    this.#tts = voice.open(
      {
        onAudio: (bytes) => {
          if (signal.aborted) return;
          onAudio();
          begin();
          write(converter.convert(bytes));
        },
        onWords: (words) => {
          if (signal.aborted) return;
          this.#wordsTold += words.length;
          playout.addWords(written.take(words), this.#baseMs);
        },
        onDone: () => {
          if (!signal.aborted) {
            write(converter.flush());
            playout.addWords(written.finish(), this.#baseMs);
          }
          finish();
        },
        onFailed: (error) => {
          this.failure = error;
          finish();
        },
      },
      signal,
      { keep },
    );
  }

  /** What was pushed is heard from memory: no provider has to speak it. */
  get isRemembered(): boolean {
    return this.#tts.isRemembered ?? false;
  }

  push(text: string): void {
    if (this.failure) {
      this.#text += ` ${text}`;
      return;
    }
    this.#text = this.#text === '' ? text : `${this.#text} ${text}`;
    this.#tts.push(text);
  }

  end(): void {
    if (this.#ended || this.failure) return;
    this.#ended = true;
    this.#tts.end();
  }

  /** The text for which no audio came; an estimate where the voice gives no word times. */
  unspokenText(): string {
    const words = this.#text.split(/\s+/).filter((word) => word !== '');
    if (this.#wordsTold > 0) return words.slice(this.#wordsTold).join(' ');
    // Without word times: about 15 characters a second.
    const spokenMs = this.#playout.writtenMs - this.#baseMs;
    if (spokenMs < 200) return this.#text;
    let chars = (spokenMs / 1000) * 15;
    const rest = words.findIndex((word) => (chars -= word.length + 1) < 0);
    return rest === -1 ? '' : words.slice(rest).join(' ');
  }
}
