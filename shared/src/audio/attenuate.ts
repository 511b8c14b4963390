import type { AudioFormat } from './audio-frame.ts';
import { ALAW_TO_PCM16, encodeAlaw, encodeMulaw, MULAW_TO_PCM16 } from './g711.ts';

/**
 * Makes audio of one format softer.
 * @param db how much, above 0
 * @returns the softer audio of each piece: the same memory each time, good until the next piece
 */
export function attenuator({ encoding }: AudioFormat, db: number): (bytes: Uint8Array) => Uint8Array {
  const gain = 10 ** (-db / 20);
  let softer = new Uint8Array(1600);
  const room = (length: number) => {
    if (softer.length < length) softer = new Uint8Array(length);
    return softer.subarray(0, length);
  };
  if (encoding === 'pcm16')
    return (bytes) => {
      const out = room(bytes.length & ~1);
      for (let i = 0; i < out.length; i += 2) {
        const sample = Math.round((((bytes[i]! | (bytes[i + 1]! << 8)) << 16) >> 16) * gain);
        out[i] = sample & 0xff;
        out[i + 1] = sample >> 8;
      }
      return out;
    };
  const [decoded, encode] = encoding === 'pcmu' ? [MULAW_TO_PCM16, encodeMulaw] : [ALAW_TO_PCM16, encodeAlaw];
  const table = encode(decoded.map((sample) => Math.round(sample * gain)));
  return (bytes) => {
    const out = room(bytes.length);
    for (let i = 0; i < bytes.length; i++) out[i] = table[bytes[i]!]!;
    return out;
  };
}
