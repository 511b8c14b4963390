import { ALAW_TO_PCM16, decodeAlaw, decodeMulaw, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { pcm16FromBytes, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { Resampler } from '@parley/shared/audio/resampler';
import { MODEL_SAMPLE_RATE } from './silero-model.ts';

/** The latest samples of one stream of caller audio, decoded and resampled to the model's 8 kHz. */
export class SampleRing {
  readonly #encoding: AudioFormat['encoding'];
  readonly #resampler: Resampler | undefined;
  readonly #samples: Int16Array;
  readonly #mask: number;
  /** Samples that were ever written. */
  #written = 0;

  /**
   * @param samples zeros; may be memory that a worker reads
   * @throws RangeError unless the number of samples is a power of two
   */
  constructor({ encoding, sampleRate }: AudioFormat, samples: Int16Array) {
    if (samples.length < 1 || (samples.length & (samples.length - 1)) !== 0)
      throw new RangeError(`A ring must hold a power of two of samples, not ${samples.length}.`);
    this.#encoding = encoding;
    this.#resampler =
      sampleRate === MODEL_SAMPLE_RATE ? undefined : new Resampler(sampleRate, MODEL_SAMPLE_RATE);
    this.#samples = samples;
    this.#mask = samples.length - 1;
  }

  get written(): number {
    return this.#written;
  }

  /** Takes audio of any length. Allocates nothing where it comes at 8 kHz. An odd last byte of PCM16 is left out. */
  push(bytes: Uint8Array): void {
    if (this.#resampler) this.#write(this.#resampler.process(decode(bytes, this.#encoding)));
    else if (this.#encoding === 'pcm16') this.#writePcm16(bytes);
    else this.#writeG711(bytes, this.#encoding === 'pcmu' ? MULAW_TO_PCM16 : ALAW_TO_PCM16);
  }

  #writeG711(bytes: Uint8Array, table: Int16Array): void {
    const samples = this.#samples;
    const mask = this.#mask;
    const at = this.#written;
    for (let i = 0; i < bytes.length; i++) samples[(at + i) & mask] = table[bytes[i]!]!;
    this.#written = at + bytes.length;
  }

  #writePcm16(bytes: Uint8Array): void {
    const samples = this.#samples;
    const mask = this.#mask;
    const at = this.#written;
    const count = bytes.length >> 1;
    for (let i = 0; i < count; i++) samples[(at + i) & mask] = bytes[2 * i]! | (bytes[2 * i + 1]! << 8);
    this.#written = at + count;
  }

  #write(samples: Int16Array): void {
    for (let i = 0; i < samples.length; i++) this.#samples[(this.#written + i) & this.#mask] = samples[i]!;
    this.#written += samples.length;
  }
}

function decode(bytes: Uint8Array, encoding: AudioFormat['encoding']): Int16Array {
  if (encoding === 'pcm16') return pcm16FromBytes(bytes);
  return encoding === 'pcmu' ? decodeMulaw(bytes) : decodeAlaw(bytes);
}
