/** `pcmu`, `pcma`: G.711, a byte per sample. `pcm16`: signed 16-bit, little-endian. All are mono. */
export type AudioEncoding = 'pcmu' | 'pcma' | 'pcm16';

export interface AudioFormat {
  encoding: AudioEncoding;
  /** Hz. */
  sampleRate: number;
}

/** A piece of audio that says what it is. */
export interface AudioFrame extends AudioFormat {
  bytes: Uint8Array;
}

/** Bytes of one millisecond, 8 for PCMU at 8 kHz. Not whole for every rate (44.1 for 22.05 kHz PCM). */
export function bytesPerMs({ encoding, sampleRate }: AudioFormat): number {
  return ((encoding === 'pcm16' ? 2 : 1) * sampleRate) / 1000;
}

export function durationMs(frame: AudioFrame): number {
  return frame.bytes.length / bytesPerMs(frame);
}

/** What a silent line sounds like, in whole samples. */
export function silence(format: AudioFormat, ms: number): Uint8Array {
  const samples = Math.max(0, Math.round((format.sampleRate * ms) / 1000));
  if (format.encoding === 'pcm16') return new Uint8Array(samples * 2);
  return new Uint8Array(samples).fill(format.encoding === 'pcmu' ? 0xff : 0xd5);
}

const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer, 0, 1)[0] === 1;

/**
 * PCM16 bytes as samples: the same memory where it is aligned, otherwise a copy. An odd last byte is left out.
 */
export function pcm16FromBytes(bytes: Uint8Array): Int16Array {
  const length = bytes.length >> 1;
  if (LITTLE_ENDIAN && bytes.byteOffset % 2 === 0)
    return new Int16Array(bytes.buffer, bytes.byteOffset, length);
  const samples = new Int16Array(length);
  for (let i = 0; i < length; i++) samples[i] = bytes[2 * i]! | (bytes[2 * i + 1]! << 8);
  return samples;
}

/** Samples as PCM16 bytes: the same memory on a little-endian machine. */
export function bytesFromPcm16(samples: Int16Array): Uint8Array {
  if (LITTLE_ENDIAN) return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  const bytes = new Uint8Array(samples.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < samples.length; i++) view.setInt16(2 * i, samples[i]!, true);
  return bytes;
}

/** A sample from -1 to 1 as PCM16, clipped beyond; what is no number is silence. */
export function pcm16FromFloat(sample: number): number {
  return sample >= 1 ? 32_767 : sample <= -1 ? -32_768 : Math.round(sample * 32_767) || 0;
}
