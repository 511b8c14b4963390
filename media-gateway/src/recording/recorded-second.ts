import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { MULAW_TO_PCM16 } from '@parley/shared/audio/g711';

/** One second of a recording, until it is with the file. */
export interface RecordedSecond {
  /**
   * Lays down `count` pieces of `source`, beginning with `from`.
   * @param channel 0 or 1
   * @param source samples, or the codes that `table` makes samples of
   * @param at where they begin, samples from the begin of the second
   */
  lay(
    channel: number,
    source: Uint8Array | Int16Array,
    table: Int16Array | undefined,
    from: number,
    at: number,
    count: number,
  ): void;
  /** All samples, those of two channels in turn, in shared memory. Nothing is laid down until `clear`. */
  samples(): Int16Array;
  /** Its samples are no longer needed: it is silence again. */
  clear(): void;
}

/** @returns what makes the seconds of a recording of `channels`, out of audio of these formats */
export function recordedSeconds(
  sampleRate: number,
  channels: number,
  formats: readonly AudioFormat[],
): () => RecordedSecond {
  const isMulaw = formats.every((format) => format.encoding === 'pcmu' && format.sampleRate === sampleRate);
  return channels === 2 && isMulaw
    ? () => new MulawSecond(sampleRate)
    : () => new SampleSecond(sampleRate, channels);
}

/** Samples as the file gets them. What is laid down twice on the one channel of a mono recording is added up. */
class SampleSecond implements RecordedSecond {
  readonly #channels: number;
  readonly #samples: Int16Array;

  constructor(sampleRate: number, channels: number) {
    this.#channels = channels;
    this.#samples = sharedSamples(sampleRate * channels);
  }

  lay(
    channel: number,
    source: Uint8Array | Int16Array,
    table: Int16Array | undefined,
    from: number,
    at: number,
    count: number,
  ): void {
    const samples = this.#samples;
    if (this.#channels === 2) {
      for (let i = 0, to = at * 2 + channel; i < count; i++, to += 2) {
        const value = source[from + i]!;
        samples[to] = table ? table[value]! : value;
      }
      return;
    }
    for (let i = 0; i < count; i++) {
      const value = source[from + i]!;
      const sum = samples[at + i]! + (table ? table[value]! : value);
      samples[at + i] = sum > 32_767 ? 32_767 : sum < -32_768 ? -32_768 : sum;
    }
  }

  samples(): Int16Array {
    return this.#samples;
  }

  clear(): void {
    this.#samples.fill(0);
  }
}

/** The code of a sample of 0. */
const SILENCE = 0xff;
/** Samples of seconds that are with the disk at one time are few: their memory is used again by all calls. */
const MAX_SPARE = 32;
const spare: Int16Array[] = [];

/**
 * Both sides as their codes, each by itself, of which samples are made all at once: the usual telephone call. A frame of
 * 20 ms then goes to 160 bytes in a row rather than to 640 in which each second sample is left out. (A-law has no code
 * for 0, and silence would be heard as what it is not.)
 */
class MulawSecond implements RecordedSecond {
  readonly #rate: number;
  readonly #codes: Uint8Array;
  #samples: Int16Array | undefined;

  constructor(sampleRate: number) {
    this.#rate = sampleRate;
    this.#codes = new Uint8Array(2 * sampleRate).fill(SILENCE);
  }

  lay(
    channel: number,
    source: Uint8Array | Int16Array,
    _table: Int16Array | undefined,
    from: number,
    at: number,
    count: number,
  ): void {
    const whole = count === source.length;
    this.#codes.set(whole ? source : source.subarray(from, from + count), channel * this.#rate + at);
  }

  samples(): Int16Array {
    const rate = this.#rate;
    const codes = this.#codes;
    const samples = (this.#samples ??= spareSamples(2 * rate));
    for (let at = 0, to = 0; at < rate; at++, to += 2) {
      samples[to] = MULAW_TO_PCM16[codes[at]!]!;
      samples[to + 1] = MULAW_TO_PCM16[codes[rate + at]!]!;
    }
    return samples;
  }

  clear(): void {
    this.#codes.fill(SILENCE);
    if (this.#samples && spare.length < MAX_SPARE) spare.push(this.#samples);
    this.#samples = undefined;
  }
}

function spareSamples(count: number): Int16Array {
  const samples = spare.pop();
  return samples?.length === count ? samples : sharedSamples(count);
}

/** In shared memory: the thread that writes it to the file needs no copy. */
function sharedSamples(count: number): Int16Array {
  return new Int16Array(new SharedArrayBuffer(count * Int16Array.BYTES_PER_ELEMENT));
}
