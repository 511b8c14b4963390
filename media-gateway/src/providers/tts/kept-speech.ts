import { createHash } from 'node:crypto';
import type { UsedModel } from '@parley/shared/contracts/call-prices';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { VoiceOptions } from '../provider-factory.ts';
import type { TtsListener, TtsProvider, TtsUtterance } from './tts-provider.ts';

/** How long a text is not spoken anew. */
const MAX_AGE_MS = 3_600_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** A text as a voice has spoken it: what its listener was told, in order. */
type Spoken =
  | { type: 'audio'; bytes: Uint8Array }
  | { type: 'words'; words: Parameters<NonNullable<TtsListener['onWords']>>[0] };

interface Entry {
  spoken: readonly Spoken[];
  bytes: number;
  madeAt: number;
}

/** What voices have spoken of texts that calls say again and again, for all calls of a process. */
export class KeptSpeech implements Disposable {
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimeout'>;
  readonly #maxBytes: number;
  /** The oldest first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  /** Texts may name a caller: they go in time, also from a gateway that has no more calls. */
  #timer: Timer | undefined;

  constructor({
    clock,
    maxBytes = MAX_BYTES,
  }: {
    clock: Pick<Clock, 'monotonic' | 'setTimeout'>;
    maxBytes?: number;
  }) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  /** Of audio. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): readonly Spoken[] | undefined {
    this.#dropOld(this.#maxBytes);
    return this.#entries.get(key)?.spoken;
  }

  add(key: string, spoken: readonly Spoken[]): void {
    const bytes = spoken.reduce((sum, one) => sum + (one.type === 'audio' ? one.bytes.length : 0), 0);
    // One that is still to be dropped for age, or that another call has made in the meantime.
    this.#drop(key);
    if (bytes === 0 || bytes > this.#maxBytes) return;
    this.#dropOld(this.#maxBytes - bytes);
    this.#entries.set(key, { spoken, bytes, madeAt: this.#clock.monotonic() });
    this.#bytes += bytes;
    this.#awaitOldest();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#entries.clear();
    this.#bytes = 0;
  }

  #awaitOldest(): void {
    const [oldest] = this.#entries.values();
    if (!oldest || this.#timer) return;
    const age = this.#clock.monotonic() - oldest.madeAt;
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = undefined;
      this.#dropOld(this.#maxBytes);
      this.#awaitOldest();
    }, MAX_AGE_MS - age);
  }

  #dropOld(maxBytes: number): void {
    const since = this.#clock.monotonic() - MAX_AGE_MS;
    for (const [key, { madeAt }] of this.#entries) {
      if (madeAt > since && this.#bytes <= maxBytes) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}

/** All that a text sounds otherwise by, as a key: the model and the voice, whose they are, and how they are to speak. */
export function voiceKey(orgId: string, one: PlanProvider, voice: VoiceOptions): string {
  const { credential, ...named } = one;
  const facts = [orgId, named, credential?.reveal() ?? null, voice];
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64');
}

/** A voice that speaks a fixed text once, and then from memory. @param key of all but the text, see `voiceKey` */
export function keepingTts(
  tts: TtsProvider,
  { kept, key, model }: { kept: KeptSpeech; key: string; model?: UsedModel },
): TtsProvider {
  return {
    name: tts.name,
    model,
    format: tts.format,
    warm: () => tts.warm(),
    open: (listener, signal, options) =>
      options?.keep ? new KeepingUtterance({ tts, kept, key, listener, signal }) : tts.open(listener, signal),
    [Symbol.asyncDispose]: () => tts[Symbol.asyncDispose](),
  };
}

/** One fixed text, pushed as a whole. */
class KeepingUtterance implements TtsUtterance {
  readonly #tts: TtsProvider;
  readonly #kept: KeptSpeech;
  readonly #key: string;
  readonly #listener: TtsListener;
  readonly #signal: AbortSignal;
  readonly #texts: string[] = [];
  /** Undefined until a voice has to speak. */
  #voiced: TtsUtterance | undefined;
  #remembered: readonly Spoken[] | undefined;

  constructor(deps: {
    tts: TtsProvider;
    kept: KeptSpeech;
    key: string;
    listener: TtsListener;
    signal: AbortSignal;
  }) {
    this.#tts = deps.tts;
    this.#kept = deps.kept;
    this.#key = deps.key;
    this.#listener = deps.listener;
    this.#signal = deps.signal;
  }

  get isRemembered(): boolean {
    return this.#remembered !== undefined;
  }

  push(text: string): void {
    this.#texts.push(text);
    if (this.#texts.length === 1) this.#remembered = this.#kept.get(`${this.#key} ${text}`);
    if (this.#texts.length === 1 && this.#remembered) return;
    // What is more than one text is not kept: nobody says it twice.
    const unspoken = this.#voiced ? [text] : this.#texts;
    this.#remembered = undefined;
    this.#voiced ??= this.#tts.open(this.#recording(), this.#signal);
    for (const one of unspoken) this.#voiced.push(one);
  }

  end(): void {
    if (this.#voiced) this.#voiced.end();
    else queueMicrotask(() => this.#play());
  }

  #play(): void {
    if (this.#signal.aborted) return;
    for (const one of this.#remembered ?? []) {
      // The listener may change what it gets.
      if (one.type === 'audio') this.#listener.onAudio(one.bytes.slice());
      else this.#listener.onWords?.(one.words);
    }
    this.#listener.onDone();
  }

  #recording(): TtsListener {
    const spoken: Spoken[] = [];
    const listener = this.#listener;
    return {
      onAudio: (bytes) => {
        spoken.push({ type: 'audio', bytes: bytes.slice() });
        listener.onAudio(bytes);
      },
      onWords: (words) => {
        spoken.push({ type: 'words', words });
        listener.onWords?.(words);
      },
      onDone: () => {
        if (this.#texts.length === 1) this.#kept.add(`${this.#key} ${this.#texts[0]!}`, spoken);
        listener.onDone();
      },
      onFailed: (error) => listener.onFailed(error),
    };
  }
}
