import { bytesFromPcm16, pcm16FromBytes } from './audio-frame.ts';
import type { AudioFormat } from './audio-frame.ts';
import { alawToMulaw, decodeAlaw, decodeMulaw, encodeAlaw, encodeMulaw, mulawToAlaw } from './g711.ts';
import { Resampler } from './resampler.ts';

/**
 * Turns one stream of audio from one format into another. Chunks may end anywhere, even inside a PCM16 sample: its
 * first byte waits for the next chunk.
 */
export class AudioConverter {
  /** Both formats are the same: `convert` gives back the very bytes it got. */
  readonly passThrough: boolean;
  readonly #from: AudioFormat;
  readonly #to: AudioFormat;
  readonly #resampler: Resampler | undefined;
  #oddByte: number | undefined;

  constructor(from: AudioFormat, to: AudioFormat) {
    this.#from = from;
    this.#to = to;
    this.#resampler =
      from.sampleRate === to.sampleRate ? undefined : new Resampler(from.sampleRate, to.sampleRate);
    this.passThrough = !this.#resampler && from.encoding === to.encoding;
  }

  /** @returns what is complete so far, possibly nothing */
  convert(bytes: Uint8Array): Uint8Array {
    if (this.passThrough) return bytes;
    if (!this.#resampler) {
      if (this.#from.encoding === 'pcmu' && this.#to.encoding === 'pcma') return mulawToAlaw(bytes);
      if (this.#from.encoding === 'pcma' && this.#to.encoding === 'pcmu') return alawToMulaw(bytes);
      return this.#encode(this.#decode(bytes));
    }
    return this.#encode(this.#resampler.process(this.#decode(bytes)));
  }

  /** Ends the stream: gives what the resampler held back, forgets half a sample, and starts anew. */
  flush(): Uint8Array {
    this.#oddByte = undefined;
    return this.#resampler ? this.#encode(this.#resampler.flush()) : new Uint8Array(0);
  }

  #decode(bytes: Uint8Array): Int16Array {
    if (this.#from.encoding === 'pcmu') return decodeMulaw(bytes);
    if (this.#from.encoding === 'pcma') return decodeAlaw(bytes);
    return pcm16FromBytes(this.#wholeSamples(bytes));
  }

  #wholeSamples(bytes: Uint8Array): Uint8Array {
    let whole = bytes;
    if (this.#oddByte !== undefined && bytes.length > 0) {
      whole = new Uint8Array(1 + bytes.length);
      whole[0] = this.#oddByte;
      whole.set(bytes, 1);
      this.#oddByte = undefined;
    }
    if (whole.length % 2 === 0) return whole;
    this.#oddByte = whole[whole.length - 1]!;
    return whole.subarray(0, -1);
  }

  #encode(samples: Int16Array): Uint8Array {
    if (this.#to.encoding === 'pcmu') return encodeMulaw(samples);
    if (this.#to.encoding === 'pcma') return encodeAlaw(samples);
    return bytesFromPcm16(samples);
  }
}
