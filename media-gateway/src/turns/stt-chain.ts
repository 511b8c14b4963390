import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { ProviderError } from '@parley/shared/errors/provider-error';
import type {
  SttListener,
  SttOptions,
  SttProvider,
  SttStream,
  SttTranscript,
} from '../providers/stt/stt-provider.ts';
import { AudioPlaces } from './audio-places.ts';

/** Times of words are milliseconds from the answer of the call. */
export interface SttChainEvents extends Required<Omit<SttListener, 'onFailed'>> {
  /** An STT failed and was replaced, if there was another one. */
  onTrouble(error: ProviderError): void;
  /** The last STT has failed. */
  onLost(error: ProviderError): void;
}

/** The STT of a call: the one in use, and those that stand in for it, each opened when the one before has failed. */
export class SttChain {
  readonly #options: () => SttOptions;
  readonly #events: SttChainEvents;
  #providers: readonly (() => SttProvider)[];
  #index = -1;
  #stream: SttStream | undefined;
  #model: SttProvider['model'];
  #places = new AudioPlaces();
  #bytesPerMs = 1;
  #lost = false;
  #closed = false;

  /** @param deps.options asked for each STT that is opened */
  constructor(deps: {
    providers: readonly (() => SttProvider)[];
    options: () => SttOptions;
    events: SttChainEvents;
  }) {
    this.#providers = deps.providers;
    this.#options = deps.options;
    this.#events = deps.events;
  }

  /** Opens the next STT. @returns whether there was one */
  open(): boolean {
    const make = this.#providers[++this.#index];
    if (!make) return false;
    const stt = make();
    this.#model = stt.model;
    const options = this.#options();
    this.#bytesPerMs = bytesPerMs(options.format);
    const places = (this.#places = new AudioPlaces());
    this.#stream = stt.open(options, {
      ...this.#events,
      onInterim: (transcript) => this.#events.onInterim(placed(transcript, places)),
      onTurnEnd: (transcript) => this.#events.onTurnEnd(placed(transcript, places)),
      onEagerTurnEnd: (transcript) => this.#events.onEagerTurnEnd(placed(transcript, places)),
      onFailed: (error) => this.#onFailed(error),
    });
    return true;
  }

  /** What hears now, or did last. */
  get model(): SttProvider['model'] {
    return this.#model;
  }

  /** The last STT has failed. */
  get lost(): boolean {
    return this.#lost;
  }

  /** See `SttStream`. @param atMs where it begins, ms from the answer */
  write(bytes: Uint8Array, mayWait: boolean, atMs: number): void {
    this.#places.note(bytes.length / this.#bytesPerMs, atMs);
    this.#stream?.write(bytes, mayWait);
  }

  /** See `SttStream`. */
  finalize(): void {
    this.#stream?.finalize();
  }

  /** Others take the place of all: what is written from now on, they get. Where none was opened, none is. */
  replace(providers: readonly (() => SttProvider)[]): void {
    const before = this.#stream;
    const listens = this.#index >= 0;
    this.#providers = providers;
    this.#index = -1;
    this.#lost = false;
    if (listens) this.open();
    void before?.[Symbol.asyncDispose]().catch(() => {});
  }

  /** Stops listening. Rejects when the STT does not close. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#stream?.[Symbol.asyncDispose]();
  }

  #onFailed(error: ProviderError): void {
    if (this.#closed) return;
    this.#events.onTrouble(error);
    void this.#stream?.[Symbol.asyncDispose]();
    this.#stream = undefined;
    if (this.open()) return;
    this.#lost = true;
    this.#events.onLost(error);
  }
}

function placed(transcript: SttTranscript, places: AudioPlaces): SttTranscript {
  if (!transcript.words) return transcript;
  const words = transcript.words.map(({ text, startMs, endMs }) => ({
    text,
    startMs: places.startOf(startMs),
    endMs: places.endOf(endMs),
  }));
  return { ...transcript, words };
}
