import type { AudioFormat } from './audio-frame.ts';
import { amplifier } from './gain.ts';

/**
 * Makes audio of one format softer.
 * @param db how much, above 0
 * @returns the softer audio of each piece: the same memory each time, good until the next piece
 */
export function attenuator(format: AudioFormat, db: number): (bytes: Uint8Array) => Uint8Array {
  const soften = amplifier(format, 10 ** (-db / 20));
  let softer = new Uint8Array(1600);
  return (bytes) => {
    const length = format.encoding === 'pcm16' ? bytes.length & ~1 : bytes.length;
    if (softer.length < length) softer = new Uint8Array(length);
    const out = softer.subarray(0, length);
    out.set(length === bytes.length ? bytes : bytes.subarray(0, length));
    soften(out);
    return out;
  };
}
