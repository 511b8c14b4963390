import type { RawEncoding, RawFormat } from '../../recogniser/level-meter.ts';

/** The bytes are not audio of the announced kind: close code 1008, DATA-0000. */
export class UndecodableAudioError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UndecodableAudioError';
  }
}

/** How containers begin: RIFF, Ogg, FLAC, Matroska (WebM), MP3 with a tag. */
const CONTAINER_STARTS = ['RIFF', 'OggS', 'fLaC', '\x1aE\xdf\xa3', 'ID3'];
const MAX_HEADER_BYTES = 64 * 1024;
const WAV_ENCODINGS: Record<number, RawEncoding> = { 1: 'linear16', 6: 'alaw', 7: 'mulaw' };

/**
 * Takes audio in pieces of any size: finds the WAV header where no encoding was announced, and splits interleaved
 * channels. A single raw channel passes through untouched.
 */
export class AudioIntake {
  #format: RawFormat | undefined;
  #channels: number;
  readonly #onFormat: (format: RawFormat, channels: number) => void;
  readonly #onAudio: (channel: number, bytes: Uint8Array) => void;
  #started = false;
  #pending: Buffer = Buffer.alloc(0);

  /** @param onFormat runs once, before the first audio, when the format is known */
  constructor(options: {
    format: RawFormat | undefined;
    channels: number;
    onFormat: (format: RawFormat, channels: number) => void;
    onAudio: (channel: number, bytes: Uint8Array) => void;
  }) {
    this.#format = options.format;
    this.#channels = options.channels;
    this.#onFormat = options.onFormat;
    this.#onAudio = options.onAudio;
  }

  /** @throws UndecodableAudioError */
  push(bytes: Buffer): void {
    const raw = this.#started ? bytes : this.#start(bytes);
    if (!raw || raw.length === 0) return;
    if (this.#channels === 1) this.#onAudio(0, raw);
    else this.#split(raw);
  }

  #start(bytes: Buffer): Buffer | undefined {
    const all = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
    if (this.#format) {
      const start = all.toString('latin1', 0, 4);
      if (CONTAINER_STARTS.some((one) => start.startsWith(one))) {
        throw new UndecodableAudioError('The audio is in a container, but raw audio was announced.');
      }
      this.#begin(this.#format);
      return all;
    }
    const header = readWavHeader(all);
    if (!header) {
      // A copy: the next message may reuse the memory.
      this.#pending = Buffer.from(all);
      return undefined;
    }
    this.#pending = Buffer.alloc(0);
    this.#channels = header.channels;
    this.#begin(header.format);
    return all.subarray(header.dataOffset);
  }

  #begin(format: RawFormat): void {
    this.#format = format;
    this.#started = true;
    this.#onFormat(format, this.#channels);
  }

  #split(bytes: Buffer): void {
    const all = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
    const width = this.#format!.encoding === 'linear16' ? 2 : 1;
    const stride = width * this.#channels;
    const frames = Math.floor(all.length / stride);
    this.#pending = Buffer.from(all.subarray(frames * stride));
    for (let channel = 0; channel < this.#channels; channel++) {
      const own = Buffer.allocUnsafe(frames * width);
      for (let frame = 0; frame < frames; frame++) {
        const from = frame * stride + channel * width;
        for (let byte = 0; byte < width; byte++) own[frame * width + byte] = all[from + byte]!;
      }
      if (own.length > 0) this.#onAudio(channel, own);
    }
  }
}

/**
 * Reads the header of a WAV stream whose length may be unknown.
 * @returns undefined while more bytes are needed
 * @throws UndecodableAudioError
 */
function readWavHeader(
  bytes: Buffer,
): { format: RawFormat; channels: number; dataOffset: number } | undefined {
  if (bytes.length < 12) return undefined;
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') {
    throw new UndecodableAudioError('Without an encoding, this emulator reads only WAV.');
  }
  let format: RawFormat | undefined;
  let channels = 1;
  for (let at = 12; at + 8 <= bytes.length;) {
    const id = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (id === 'data') {
      if (!format) throw new UndecodableAudioError('The WAV data comes before its format.');
      return { format, channels, dataOffset: at + 8 };
    }
    if (id === 'fmt ') {
      if (at + 24 > bytes.length) return undefined;
      const encoding = WAV_ENCODINGS[bytes.readUInt16LE(at + 8)];
      const bits = bytes.readUInt16LE(at + 22);
      if (!encoding || bits !== (encoding === 'linear16' ? 16 : 8)) {
        throw new UndecodableAudioError('This emulator reads WAV with 16-bit PCM, mu-law or A-law.');
      }
      channels = bytes.readUInt16LE(at + 10);
      format = { encoding, sampleRate: bytes.readUInt32LE(at + 12) };
      if (channels < 1 || format.sampleRate < 4000)
        throw new UndecodableAudioError('The WAV format is not valid.');
    }
    at += 8 + size + (size & 1);
  }
  if (bytes.length > MAX_HEADER_BYTES) throw new UndecodableAudioError('The WAV header is too long.');
  return undefined;
}
