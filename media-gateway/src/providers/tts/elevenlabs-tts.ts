import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { ELEVENLABS } from './elevenlabs-pool.ts';
import type { Alignment } from './elevenlabs-messages.ts';
import type { ContextListener, VoiceContext, VoicePool } from './elevenlabs-pool.ts';
import type { TtsListener, TtsProvider, TtsUtterance } from './tts-provider.ts';
import { WordTimes } from './word-times.ts';
import { ElevenLabsPools } from './elevenlabs-pool.ts';
import type { TtsDescriptor } from '../provider-factory.ts';

export interface ElevenLabsDeps {
  pools: ElevenLabsPools;
  clock: Clock;
  /** From a text to its first audio, and between two pieces of audio while text is waiting; 4 s unless given. */
  audioTimeoutMs?: number;
}

export interface ElevenLabsVoice {
  /** What the far end plays. */
  output: AudioFormat;
  /** The agent's; the provider takes 0.7 to 1.2. */
  speed: number;
  /** 0 to 1; null = the voice's own. */
  stability: number | null;
}

const AUDIO_TIMEOUT_MS = 4000;
const PCM_RATES = [8000, 16_000, 22_050, 24_000, 44_100];
const SETTINGS = ['stability', 'similarity_boost', 'style', 'use_speaker_boost'];

export const elevenLabs: TtsDescriptor = (shared) => {
  const pools = new ElevenLabsPools(shared);
  return {
    make: (plan, voice) => new ElevenLabsTts(plan, voice, { pools, clock: shared.clock }),
    dispose: () => pools[Symbol.asyncDispose](),
  };
};

/**
 * ElevenLabs over its multi-context socket. The provider object belongs to one call, the sockets to the process:
 * each reply is a context, opened with its first text and closed with its last.
 */
export class ElevenLabsTts implements TtsProvider {
  readonly name = ELEVENLABS;
  readonly format: AudioFormat;
  readonly #pool: VoicePool;
  readonly #deps: ElevenLabsDeps;
  readonly #settings: object;
  readonly #open = new Set<Utterance>();
  #disposed = false;

  constructor(plan: PlanProvider, voice: ElevenLabsVoice, deps: ElevenLabsDeps) {
    this.#deps = deps;
    const { format, name } = nearestFormat(voice.output);
    this.format = format;
    this.#settings = voiceSettings(plan, voice);
    this.#pool = deps.pools.acquire(plan, name);
  }

  warm(): void {
    if (!this.#disposed) this.#pool.warm();
  }

  open(listener: TtsListener, signal: AbortSignal): TtsUtterance {
    const utterance = new Utterance({
      listener,
      signal,
      clock: this.#deps.clock,
      timeoutMs: this.#deps.audioTimeoutMs ?? AUDIO_TIMEOUT_MS,
      format: this.format,
      openContext: (told) => (this.#disposed ? undefined : this.#pool.open(this.#settings, told)),
      onOver: () => this.#open.delete(utterance),
    });
    if (this.#disposed || signal.aborted) utterance.cancel();
    else this.#open.add(utterance);
    return utterance;
  }

  [Symbol.asyncDispose](): Promise<void> {
    if (!this.#disposed) {
      this.#disposed = true;
      for (const utterance of this.#open) utterance.cancel();
      this.#pool.release();
    }
    return Promise.resolve();
  }
}

interface UtteranceOptions {
  listener: TtsListener;
  signal: AbortSignal;
  clock: Clock;
  timeoutMs: number;
  format: AudioFormat;
  openContext: (listener: ContextListener) => VoiceContext | undefined;
  onOver: () => void;
}

class Utterance implements TtsUtterance, ContextListener {
  readonly #options: UtteranceOptions;
  readonly #onAbort = () => this.cancel();
  readonly #bytesPerMs: number;
  readonly #sampleBytes: number;
  readonly #words = new WordTimes();
  #context: VoiceContext | undefined;
  #timer: Timer | undefined;
  /** The first half of a sample whose other half is still to come. */
  #oddByte: number | undefined;
  #audioBytes = 0;
  #speakable = false;
  #ended = false;
  #over = false;

  constructor(options: UtteranceOptions) {
    this.#options = options;
    this.#bytesPerMs = bytesPerMs(options.format);
    this.#sampleBytes = options.format.encoding === 'pcm16' ? 2 : 1;
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  push(text: string): void {
    const trimmed = text.trim();
    if (this.#over || this.#ended || trimmed === '') return;
    this.#context ??= this.#options.openContext(this);
    if (!this.#context) {
      queueMicrotask(() => this.#fail('rate_limit', 'all connections are in use'));
      return;
    }
    this.#speakable ||= /[\p{L}\p{N}]/u.test(trimmed);
    this.#context.speak(trimmed);
    this.#armTimer();
  }

  end(): void {
    if (this.#over || this.#ended) return;
    this.#ended = true;
    if (this.#context) {
      this.#context.end();
      this.#armTimer();
    } else {
      queueMicrotask(() => this.#done());
    }
  }

  /** Frees everything; nothing is told any more. */
  cancel(): void {
    if (this.#over) return;
    this.#finish();
    this.#context?.cancel();
  }

  onAudio(audio: string, alignment: Alignment | undefined): void {
    if (alignment) this.#notifyWords(alignment);
    const bytes = this.#wholeSamples(Buffer.from(audio, 'base64'));
    if (bytes.length === 0) return;
    this.#audioBytes += bytes.length;
    // Until the end is announced, silence may just mean that there was no more text.
    if (this.#ended) this.#armTimer();
    else this.#timer?.cancel();
    this.#options.listener.onAudio(bytes);
  }

  onFinal(): void {
    if (!this.#ended) this.#fail('unavailable', 'the context was closed too early');
    else if (this.#audioBytes === 0 && this.#speakable)
      this.#fail('unavailable', 'the provider returned no audio');
    else this.#done();
  }

  onFailed(error: ProviderError): void {
    if (this.#over) return;
    this.#finish();
    this.#options.listener.onFailed(error);
  }

  #done(): void {
    if (this.#over) return;
    const last = this.#words.end();
    this.#finish();
    if (last.length > 0) this.#options.listener.onWords?.(last);
    this.#options.listener.onDone();
  }

  #fail(fault: 'timeout' | 'unavailable' | 'rate_limit', message: string): void {
    if (this.#over) return;
    this.cancel();
    this.#options.listener.onFailed(new ProviderError(ELEVENLABS, fault, message));
  }

  #finish(): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#options.onOver();
  }

  #armTimer(): void {
    const { clock, timeoutMs } = this.#options;
    this.#timer?.cancel();
    this.#timer = clock.setTimeout(() => {
      const what = this.#audioBytes === 0 ? 'no audio arrived' : 'the audio stalled: none arrived';
      this.#fail('timeout', `${what} within ${timeoutMs} ms`);
    }, timeoutMs);
  }

  #notifyWords({ chars, startsMs, durationsMs }: Alignment): void {
    const { listener } = this.#options;
    if (!listener.onWords) return;
    const words = this.#words.push(chars, startsMs, durationsMs, this.#audioBytes / this.#bytesPerMs);
    if (words.length > 0) listener.onWords(words);
  }

  #wholeSamples(bytes: Uint8Array): Uint8Array {
    if (this.#sampleBytes === 1 || (this.#oddByte === undefined && bytes.length % 2 === 0)) return bytes;
    let whole = bytes;
    if (this.#oddByte !== undefined) {
      whole = new Uint8Array(bytes.length + 1);
      whole[0] = this.#oddByte;
      whole.set(bytes, 1);
      this.#oddByte = undefined;
    }
    if (whole.length % 2 === 0) return whole;
    this.#oddByte = whole[whole.length - 1];
    return whole.subarray(0, -1);
  }
}

/** Telephone audio comes as the telephone needs it; anything else as PCM of the same rate, or 24 kHz. */
function nearestFormat(output: AudioFormat): { format: AudioFormat; name: string } {
  const { encoding, sampleRate } = output;
  if (encoding !== 'pcm16' && sampleRate === 8000) {
    return { format: output, name: encoding === 'pcmu' ? 'ulaw_8000' : 'alaw_8000' };
  }
  const rate = PCM_RATES.includes(sampleRate) ? sampleRate : 24_000;
  return { format: { encoding: 'pcm16', sampleRate: rate }, name: `pcm_${rate}` };
}

function voiceSettings(plan: PlanProvider, voice: ElevenLabsVoice): object {
  const settings: Record<string, unknown> = {};
  for (const name of SETTINGS) {
    const value = plan.options[name];
    if (value !== undefined && value !== null) settings[name] = value;
  }
  if (voice.stability !== null) settings['stability'] = voice.stability;
  settings['speed'] = Math.min(1.2, Math.max(0.7, voice.speed));
  return settings;
}
