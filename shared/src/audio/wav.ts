import { pcm16FromBytes, pcm16FromFloat } from './audio-frame.ts';
import { decodeAlaw, decodeMulaw } from './g711.ts';

/** The bytes are no WAV file, or one of a kind that is not read here. */
export class WavError extends Error {
  /** It is a WAV file, whose encoding is not read here. */
  readonly unsupported: boolean;

  constructor(message: string, { unsupported = false } = {}) {
    super(message);
    this.name = 'WavError';
    this.unsupported = unsupported;
  }
}

const FORMAT_PCM = 1;
const FORMAT_FLOAT = 3;
const FORMAT_ALAW = 6;
const FORMAT_MULAW = 7;
const FORMAT_EXTENSIBLE = 0xfffe;
const MAX_DATA_BYTES = 0xffff_ffff - 36;

/**
 * The 44 bytes before PCM16 data.
 * @throws WavError when the data would be longer than the format can say (4 GiB)
 * @see Multimedia Programming Interface and Data Specifications 1.0 (IBM, Microsoft 1991), "WAVE"
 */
export function wavHeader(options: { sampleRate: number; channels: number; dataBytes: number }): Uint8Array {
  const { sampleRate, channels, dataBytes } = options;
  if (dataBytes > MAX_DATA_BYTES) throw new WavError('A WAV file cannot hold more than 4 GiB.');
  const header = new Uint8Array(44);
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  writeTag(header, 0, 'RIFF');
  view.setUint32(4, 36 + dataBytes, true);
  writeTag(header, 8, 'WAVE');
  writeTag(header, 12, 'fmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, FORMAT_PCM, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * channels * 2, true);
  view.setUint16(32, channels * 2, true);
  view.setUint16(34, 16, true);
  writeTag(header, 36, 'data');
  view.setUint32(40, dataBytes, true);
  return header;
}

/**
 * Reads a WAV file of PCM (8, 16, 24 or 32 bit), 32-bit floating point, mu-law or A-law. A data chunk that claims more
 * than there is, as streaming writers leave it, holds all that follows.
 * @returns samples of all channels, interleaved
 * @throws WavError
 */
export function parseWav(bytes: Uint8Array): { sampleRate: number; channels: number; samples: Int16Array } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || readTag(bytes, 0) !== 'RIFF' || readTag(bytes, 8) !== 'WAVE') {
    throw new WavError('This is not a WAV file.');
  }
  let format: WavFormat | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const tag = readTag(bytes, at);
    const length = view.getUint32(at + 4, true);
    const content = at + 8;
    if (tag === 'fmt ') format = readFormat(view, content, length);
    if (tag === 'data') {
      if (!format) throw new WavError('The WAV file has data before its format.');
      const samples = readSamples(bytes.subarray(content, Math.min(content + length, bytes.length)), format);
      return { sampleRate: format.sampleRate, channels: format.channels, samples };
    }
    at = content + length + (length % 2); // chunks begin at even offsets
  }
  throw new WavError('The WAV file has no data.');
}

interface WavFormat {
  code: number;
  channels: number;
  sampleRate: number;
  bits: number;
}

function readFormat(view: DataView, at: number, length: number): WavFormat {
  if (length < 16 || at + length > view.byteLength)
    throw new WavError('The format chunk of the WAV file is incomplete.');
  let code = view.getUint16(at, true);
  if (code === FORMAT_EXTENSIBLE && length >= 26) code = view.getUint16(at + 24, true);
  const channels = view.getUint16(at + 2, true);
  const sampleRate = view.getUint32(at + 4, true);
  if (channels === 0 || sampleRate === 0)
    throw new WavError('The WAV file has no channels or no sample rate.');
  return { code, channels, sampleRate, bits: view.getUint16(at + 14, true) };
}

function readSamples(data: Uint8Array, { code, bits, channels }: WavFormat): Int16Array {
  const frameBytes = channels * (bits / 8);
  const whole = data.subarray(0, data.length - (data.length % frameBytes));
  // A copy, so that the caller's buffer is not kept alive or changed through the samples.
  if (code === FORMAT_PCM && bits === 16) return pcm16FromBytes(whole.slice());
  if (code === FORMAT_PCM && bits === 8) return Int16Array.from(whole, (byte) => (byte - 128) << 8);
  if (code === FORMAT_PCM && (bits === 24 || bits === 32)) return readUpperHalves(whole, bits / 8);
  if (code === FORMAT_FLOAT && bits === 32) return readFloats(whole);
  if (code === FORMAT_MULAW && bits === 8) return decodeMulaw(whole);
  if (code === FORMAT_ALAW && bits === 8) return decodeAlaw(whole);
  throw new WavError(`WAV format ${code} with ${bits} bits is not supported; use PCM16.`, {
    unsupported: true,
  });
}

/** The two highest bytes of each little-endian sample. */
function readUpperHalves(data: Uint8Array, sampleBytes: number): Int16Array {
  const samples = new Int16Array(data.length / sampleBytes);
  for (let i = 0, at = sampleBytes - 2; i < samples.length; i++, at += sampleBytes)
    samples[i] = data[at]! | (data[at + 1]! << 8);
  return samples;
}

function readFloats(data: Uint8Array): Int16Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const samples = new Int16Array(data.length / 4);
  for (let i = 0; i < samples.length; i++) samples[i] = pcm16FromFloat(view.getFloat32(4 * i, true));
  return samples;
}

function writeTag(bytes: Uint8Array, at: number, tag: string): void {
  for (let i = 0; i < 4; i++) bytes[at + i] = tag.charCodeAt(i);
}

function readTag(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}
