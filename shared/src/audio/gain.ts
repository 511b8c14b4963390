import type { AudioFormat } from './audio-frame.ts';
import { ALAW_TO_PCM16, encodeAlaw, encodeMulaw, MULAW_TO_PCM16 } from './g711.ts';

/** Bits behind the point of a gain. */
export const GAIN_BITS = 14;

/** A factor from 0 to 16 as a whole number, for `sample * gain >> GAIN_BITS`. */
export function toGain(factor: number): number {
  return Math.round(Math.min(16, Math.max(0, factor)) * (1 << GAIN_BITS));
}

/** A sample kept within 16 bits. */
export function clip16(sample: number): number {
  return sample > 32_767 ? 32_767 : sample < -32_768 ? -32_768 : sample;
}

/**
 * Makes audio of one format louder or softer.
 * @param factor of the amplitude, 0 to 16; what is too loud then is clipped
 * @returns what changes pieces of whole samples where they lie, without any memory of its own
 */
export function amplifier({ encoding }: AudioFormat, factor: number): (bytes: Uint8Array) => void {
  const gain = toGain(factor);
  if (encoding === 'pcm16')
    return (bytes) => {
      for (let i = 0; i + 1 < bytes.length; i += 2) {
        const sample = ((bytes[i]! | (bytes[i + 1]! << 8)) << 16) >> 16;
        const louder = clip16((sample * gain) >> GAIN_BITS);
        bytes[i] = louder & 0xff;
        bytes[i + 1] = louder >> 8;
      }
    };
  const [decoded, encode] = encoding === 'pcmu' ? [MULAW_TO_PCM16, encodeMulaw] : [ALAW_TO_PCM16, encodeAlaw];
  const table = encode(decoded.map((sample) => clip16((sample * gain) >> GAIN_BITS)));
  return (bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = table[bytes[i]!]!;
  };
}
