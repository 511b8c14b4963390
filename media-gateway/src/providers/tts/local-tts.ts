import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { FLITE_SAMPLE_RATE, LocalSpeechError } from '@parley/shared/speech/flite';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { TtsListener, TtsProvider, TtsUtterance } from './tts-provider.ts';
import { estimateWordTimes } from './word-times.ts';
import type { TtsDescriptor } from '../provider-factory.ts';
import { SharedSpeech } from './shared-speech.ts';

export interface LocalTtsDeps {
  /** Lends the voice of the process, opening it at the first call. */
  speech: () => Promise<LocalSpeech>;
  clock: Clock;
}

const NAME = 'flite';
const NATIVE = { encoding: 'pcm16', sampleRate: FLITE_SAMPLE_RATE } as const;
/** Sentences worked on beside the one that is being delivered. */
const AHEAD = 2;
const SENTENCE_TIMEOUT_MS = 10_000;
/** Converting a whole sentence at once would hold up the other calls. */
const SLICE_SAMPLES = FLITE_SAMPLE_RATE / 10;

export const flite: TtsDescriptor = ({ openSpeech, clock }) => {
  const voice = new SharedSpeech(openSpeech);
  return {
    make: (_plan, { output }) => new LocalTts(output, { speech: () => voice.get(), clock }),
    dispose: () => voice[Symbol.asyncDispose](),
  };
};

/** The built-in English voice: no account, no network. Speaks in whatever form the far end plays. */
export class LocalTts implements TtsProvider {
  readonly name = NAME;
  readonly format: AudioFormat;
  readonly #deps: LocalTtsDeps;
  readonly #open = new Set<Utterance>();

  constructor(format: AudioFormat, deps: LocalTtsDeps) {
    this.format = format;
    this.#deps = deps;
  }

  warm(): void {
    this.#deps.speech().catch(() => undefined);
  }

  open(listener: TtsListener, signal: AbortSignal): TtsUtterance {
    const utterance = new Utterance(this.#deps, this.format, listener, signal, () => {
      this.#open.delete(utterance);
    });
    if (signal.aborted) utterance.cancel();
    else this.#open.add(utterance);
    return utterance;
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const utterance of this.#open) utterance.cancel();
    return Promise.resolve();
  }
}

interface Sentence {
  text: string;
  samples: Promise<Int16Array>;
}

class Utterance implements TtsUtterance {
  readonly #deps: LocalTtsDeps;
  readonly #listener: TtsListener;
  readonly #signal: AbortSignal;
  readonly #onOver: () => void;
  readonly #onAbort = () => this.cancel();
  /** Ends the work on what is not needed any more. */
  readonly #work = new AbortController();
  readonly #converter: AudioConverter;
  readonly #texts: string[] = [];
  readonly #ahead: Sentence[] = [];
  #samples = 0;
  #speakable = false;
  #delivering = false;
  #ended = false;
  #over = false;

  constructor(
    deps: LocalTtsDeps,
    format: AudioFormat,
    listener: TtsListener,
    signal: AbortSignal,
    onOver: () => void,
  ) {
    this.#deps = deps;
    this.#listener = listener;
    this.#signal = signal;
    this.#onOver = onOver;
    this.#converter = new AudioConverter(NATIVE, format);
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  push(text: string): void {
    const trimmed = text.trim();
    if (this.#over || this.#ended || trimmed === '') return;
    this.#speakable ||= /[\p{L}\p{N}]/u.test(trimmed);
    this.#texts.push(trimmed);
    this.#workAhead();
    void this.#deliver();
  }

  end(): void {
    if (this.#over || this.#ended) return;
    this.#ended = true;
    queueMicrotask(() => void this.#deliver());
  }

  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#work.abort();
    this.#onOver();
  }

  #workAhead(): void {
    while (this.#ahead.length < AHEAD && this.#texts.length > 0) {
      const text = this.#texts.shift()!;
      const samples = this.#synthesize(text);
      samples.catch(() => undefined);
      this.#ahead.push({ text, samples });
    }
  }

  async #synthesize(text: string): Promise<Int16Array> {
    const speech = await this.#deps.speech();
    return speech.synthesize(text, { signal: this.#work.signal });
  }

  /** Delivers what there is, sentence by sentence; one run at a time. */
  async #deliver(): Promise<void> {
    if (this.#delivering || this.#over) return;
    this.#delivering = true;
    try {
      for (let next = this.#ahead.shift(); next; next = this.#ahead.shift()) {
        this.#workAhead();
        await this.#say(next);
        if (this.#over) return;
      }
    } catch (error) {
      this.#fail(error);
      return;
    } finally {
      this.#delivering = false;
    }
    if (this.#ended) this.#done();
  }

  async #say({ text, samples: promise }: Sentence): Promise<void> {
    const samples = await this.#inTime(promise);
    if (this.#over || samples.length === 0) return;
    const startMs = (this.#samples * 1000) / FLITE_SAMPLE_RATE;
    const durationMs = (samples.length * 1000) / FLITE_SAMPLE_RATE;
    this.#listener.onWords?.(estimateWordTimes(text, startMs, durationMs));
    for (let at = 0; at < samples.length && !this.#over; at += SLICE_SAMPLES) {
      if (at > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#over) return;
      const bytes = this.#converter.convert(bytesFromPcm16(samples.subarray(at, at + SLICE_SAMPLES)));
      if (bytes.length > 0) this.#listener.onAudio(bytes);
    }
    this.#samples += samples.length;
  }

  async #inTime(samples: Promise<Int16Array>): Promise<Int16Array> {
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = this.#deps.clock.setTimeout(
        () => reject(new ProviderError(NAME, 'timeout', 'the local voice did not answer in time')),
        SENTENCE_TIMEOUT_MS,
      );
    });
    try {
      return await Promise.race([samples, late]);
    } finally {
      timer?.cancel();
    }
  }

  #done(): void {
    if (this.#over) return;
    if (this.#samples === 0 && this.#speakable) {
      this.#fail(new ProviderError(NAME, 'unavailable', 'no audio was returned'));
      return;
    }
    const rest = this.#samples > 0 ? this.#converter.flush() : new Uint8Array(0);
    this.cancel();
    if (rest.length > 0) this.#listener.onAudio(rest);
    this.#listener.onDone();
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.cancel();
    this.#listener.onFailed(toProviderError(error));
  }
}

function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof LocalSpeechError && error.reason === 'busy') {
    return new ProviderError(NAME, 'rate_limit', 'too many syntheses are running', { cause: error });
  }
  const fault = error instanceof RangeError ? 'protocol' : 'unavailable';
  return new ProviderError(NAME, fault, 'the local voice failed', { cause: error });
}
