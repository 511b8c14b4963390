import { ALAW_TO_PCM16, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';

/** Raw encodings the emulator can listen to, by the vendor's names. */
export const RAW_ENCODINGS = ['mulaw', 'alaw', 'linear16'] as const;

export type RawEncoding = (typeof RAW_ENCODINGS)[number];

/** Mono audio as it is on the wire. */
export interface RawFormat {
  encoding: RawEncoding;
  /** Hz */
  sampleRate: number;
}

export const BLOCK_MS = 10;

const MULAW_POWER = Float64Array.from(MULAW_TO_PCM16, (sample) => sample * sample);
const ALAW_POWER = Float64Array.from(ALAW_TO_PCM16, (sample) => sample * sample);

/**
 * Measures the power of a byte stream in blocks of 10 ms, whatever the sizes of its pieces. G.711 is looked up byte
 * by byte without being decoded, and nothing is allocated: one core must do this for hundreds of calls.
 */
export class LevelMeter {
  /** The exact length of a block; a little off 10 ms where the rate is no multiple of 100 Hz. */
  readonly blockMs: number;
  readonly #blockSamples: number;
  readonly #power: Float64Array | undefined;
  readonly #onBlock: (meanSquare: number) => void;
  #sum = 0;
  #samples = 0;
  #oddByte = -1;

  constructor({ encoding, sampleRate }: RawFormat, onBlock: (meanSquare: number) => void) {
    this.#blockSamples = Math.max(1, Math.round((sampleRate * BLOCK_MS) / 1000));
    this.blockMs = (this.#blockSamples * 1000) / sampleRate;
    this.#power = encoding === 'mulaw' ? MULAW_POWER : encoding === 'alaw' ? ALAW_POWER : undefined;
    this.#onBlock = onBlock;
  }

  push(bytes: Uint8Array): void {
    const power = this.#power;
    if (!power) {
      this.#pushLinear(bytes);
      return;
    }
    for (let at = 0; at < bytes.length;) {
      const end = Math.min(bytes.length, at + this.#blockSamples - this.#samples);
      let sum = this.#sum;
      this.#samples += end - at;
      for (; at < end; at++) sum += power[bytes[at]!]!;
      this.#sum = sum;
      if (this.#samples === this.#blockSamples) this.#endBlock();
    }
  }

  #pushLinear(bytes: Uint8Array): void {
    let low = this.#oddByte;
    for (let at = 0; at < bytes.length; at++) {
      if (low < 0) {
        low = bytes[at]!;
        continue;
      }
      const sample = ((bytes[at]! << 24) >> 16) | low;
      low = -1;
      this.#sum += sample * sample;
      if (++this.#samples === this.#blockSamples) this.#endBlock();
    }
    this.#oddByte = low;
  }

  #endBlock(): void {
    const meanSquare = this.#sum / this.#blockSamples;
    this.#sum = 0;
    this.#samples = 0;
    this.#onBlock(meanSquare);
  }
}
