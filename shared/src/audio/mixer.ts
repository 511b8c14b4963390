import type { AudioFormat } from './audio-frame.ts';
import { clip16, GAIN_BITS, toGain } from './gain.ts';
import { ALAW_TO_PCM16, MULAW_TO_PCM16, PCM16_TO_ALAW, PCM16_TO_MULAW } from './g711.ts';

/** A sound without an end: its samples over and over. */
export interface Loop {
  /** At the rate of the audio that it is mixed into; lent, other calls play it too. */
  readonly samples: Int16Array;
  /** See `toGain`. */
  readonly gain: number;
}

/** @param volume of the amplitude, 1 is as recorded */
export function loopOf(samples: Int16Array, volume: number): Loop {
  return { samples, gain: toGain(volume) };
}

/** Mixes a loop into audio of one format, in integers. */
export interface Mixer {
  /**
   * @param audio whole samples; they stay as they are
   * @param at which sample of the loop belongs to the first one
   * @returns the mix: the same memory each time, good until the next call
   */
  under(audio: Uint8Array, loop: Loop, at: number): Uint8Array;
  /** The loop by itself. @param length bytes, whole samples */
  alone(length: number, loop: Loop, at: number): Uint8Array;
}

export function mixerFor({ encoding }: AudioFormat): Mixer {
  return encoding === 'pcm16'
    ? new LinearMixer()
    : encoding === 'pcmu'
      ? new CompandedMixer(MULAW_TO_PCM16, PCM16_TO_MULAW)
      : new CompandedMixer(ALAW_TO_PCM16, PCM16_TO_ALAW);
}

/** G.711. */
class CompandedMixer implements Mixer {
  readonly #decode: Int16Array;
  readonly #encode: Uint8Array;
  #mix = new Uint8Array(800);

  constructor(decode: Int16Array, encode: Uint8Array) {
    this.#decode = decode;
    this.#encode = encode;
  }

  under(audio: Uint8Array, { samples, gain }: Loop, at: number): Uint8Array {
    const out = this.#room(audio.length);
    const decode = this.#decode;
    const encode = this.#encode;
    for (let i = 0, from = at % samples.length; i < audio.length; i++) {
      const sample = decode[audio[i]!]! + ((samples[from]! * gain) >> GAIN_BITS);
      out[i] = encode[clip16(sample) & 0xffff]!;
      if (++from === samples.length) from = 0;
    }
    return out;
  }

  alone(length: number, { samples, gain }: Loop, at: number): Uint8Array {
    const out = this.#room(length);
    const encode = this.#encode;
    for (let i = 0, from = at % samples.length; i < length; i++) {
      out[i] = encode[clip16((samples[from]! * gain) >> GAIN_BITS) & 0xffff]!;
      if (++from === samples.length) from = 0;
    }
    return out;
  }

  #room(length: number): Uint8Array {
    if (this.#mix.length < length) this.#mix = new Uint8Array(length);
    return this.#mix.length === length ? this.#mix : this.#mix.subarray(0, length);
  }
}

/** PCM16, little-endian. */
class LinearMixer implements Mixer {
  #mix = new Uint8Array(4800);

  under(audio: Uint8Array, loop: Loop, at: number): Uint8Array {
    return this.#add(audio, audio.length, loop, at);
  }

  alone(length: number, loop: Loop, at: number): Uint8Array {
    return this.#add(undefined, length, loop, at);
  }

  #add(audio: Uint8Array | undefined, length: number, { samples, gain }: Loop, at: number): Uint8Array {
    if (this.#mix.length < length) this.#mix = new Uint8Array(length);
    const out = this.#mix.length === length ? this.#mix : this.#mix.subarray(0, length);
    for (let i = 0, from = at % samples.length; i + 1 < length; i += 2) {
      const own = audio ? ((audio[i]! | (audio[i + 1]! << 8)) << 16) >> 16 : 0;
      const sample = clip16(own + ((samples[from]! * gain) >> GAIN_BITS));
      out[i] = sample & 0xff;
      out[i + 1] = sample >> 8;
      if (++from === samples.length) from = 0;
    }
    return out;
  }
}
