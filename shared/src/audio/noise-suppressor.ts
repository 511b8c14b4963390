import { createRequire } from 'node:module';
import type { RnnoiseModule } from '@echogarden/rnnoise-wasm';
import { pcm16FromBytes, bytesFromPcm16, type AudioFormat } from './audio-frame.ts';
import { AudioConverter } from './convert.ts';

/** RNNoise takes 10 ms at 48 kHz. */
const RATE = 48_000;
const FRAME = 480;
/** How much of the sound stays as it was: noise gets about 10 dB softer, or all that the model takes. */
const KEPT = { standard: 0.3, high: 0 } as const;

export type SuppressionLevel = keyof typeof KEPT;

/** Whether this installation can take noise out of audio: an image may leave the package out. */
export function isNoiseSuppressorInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('@echogarden/rnnoise-wasm');
    return true;
  } catch {
    return false;
  }
}

/** @throws when it is not installed */
export async function loadRnnoise(): Promise<RnnoiseModule> {
  const { default: create } = await import('@echogarden/rnnoise-wasm');
  return create();
}

/** Takes noise out of one stream of audio, which comes out 10 ms later. About 13 ms of processor time a second. */
export class NoiseSuppressor {
  readonly #rnnoise: RnnoiseModule;
  readonly #kept: number;
  readonly #up: AudioConverter;
  readonly #down: AudioConverter;
  readonly #state: number;
  readonly #memory: number;
  readonly #frame = new Int16Array(FRAME);
  /** The frame before, since the model is one late. */
  readonly #before = new Int16Array(FRAME);
  #filled = 0;

  constructor(rnnoise: RnnoiseModule, format: AudioFormat, level: SuppressionLevel) {
    this.#rnnoise = rnnoise;
    this.#kept = KEPT[level];
    this.#up = new AudioConverter(format, { encoding: 'pcm16', sampleRate: RATE });
    this.#down = new AudioConverter({ encoding: 'pcm16', sampleRate: RATE }, format);
    this.#state = rnnoise._rnnoise_create(0);
    this.#memory = rnnoise._malloc(FRAME * 4);
  }

  /** @returns what is done by now, in the same format; possibly nothing */
  process(bytes: Uint8Array): Uint8Array {
    const samples = pcm16FromBytes(this.#up.convert(bytes));
    const out = new Int16Array(this.#filled + samples.length);
    let done = 0;
    for (const sample of samples) {
      this.#frame[this.#filled++] = sample;
      if (this.#filled < FRAME) continue;
      this.#filled = 0;
      this.#suppress(out.subarray(done, done + FRAME));
      done += FRAME;
    }
    return this.#down.convert(bytesFromPcm16(out.subarray(0, done)));
  }

  [Symbol.dispose](): void {
    this.#rnnoise._rnnoise_destroy(this.#state);
    this.#rnnoise._free(this.#memory);
  }

  #suppress(out: Int16Array): void {
    const at = this.#memory >> 2;
    this.#rnnoise.HEAPF32.set(this.#frame, at);
    this.#rnnoise._rnnoise_process_frame(this.#state, this.#memory, this.#memory);
    const heap = this.#rnnoise.HEAPF32;
    for (let i = 0; i < FRAME; i++) {
      const mixed = heap[at + i]! * (1 - this.#kept) + this.#before[i]! * this.#kept;
      out[i] = Math.max(-32_768, Math.min(32_767, Math.round(mixed)));
    }
    this.#before.set(this.#frame);
  }
}
