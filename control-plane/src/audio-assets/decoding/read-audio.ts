import { readFile } from 'node:fs/promises';
import { pcm16FromFloat } from '@parley/shared/audio/audio-frame';
import { parseWav, WavError } from '@parley/shared/audio/wav';
import { MAX_ASSET_SECONDS } from '@parley/shared/contracts/audio-assets';
import type { AudioFileFormat } from '../audio-format.ts';
import { AudioError } from './audio-error.ts';

const MAX_CHANNELS = 8;
const MIN_RATE_HZ = 4000;
const MAX_RATE_HZ = 192_000;
/** What a decoder is given at a time. A packet of a few bytes may hold a tenth of a second. */
const PIECE_BYTES = 4096;

export interface ReadAudio {
  sampleRate: number;
  /** All channels in one. */
  samples: Int16Array;
}

/** Some decoded audio: as many samples of each channel, from -1 to 1. */
interface Decoded {
  channelData: Float32Array[];
  samplesDecoded: number;
  sampleRate: number;
}

/** A decoder of WebAssembly. */
interface Decoder {
  readonly ready: Promise<void>;
  decode(bytes: Uint8Array): Decoded | Promise<Decoded>;
  /** What is left at the end; mp3 leaves nothing. */
  flush?(): Promise<Decoded>;
}

/**
 * The audio of a file, as one channel. Runs in a process of its own: a file may be made to exhaust whoever reads it.
 * @throws AudioError
 */
export async function readAudio(path: string, format: AudioFileFormat): Promise<ReadAudio> {
  const bytes = await readFile(path);
  let read: ReadAudio;
  try {
    read = format === 'wav' ? readWav(bytes) : await decodeAll(await decoderOf(format), bytes);
  } catch (cause) {
    if (cause instanceof AudioError) throw cause;
    // What decoders throw for what they make nothing of.
    throw new AudioError(cause instanceof WavError && cause.unsupported ? 'encoding' : 'broken', { cause });
  }
  if (read.samples.length === 0) throw new AudioError('no_audio');
  return read;
}

function readWav(bytes: Uint8Array): ReadAudio {
  const { sampleRate, channels, samples } = parseWav(bytes);
  check(sampleRate, channels, samples.length / channels);
  if (channels === 1) return { sampleRate, samples };
  const mixed = new Int16Array(samples.length / channels);
  for (let i = 0; i < mixed.length; i++) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) sum += samples[i * channels + channel]!;
    mixed[i] = Math.round(sum / channels);
  }
  return { sampleRate, samples: mixed };
}

async function decoderOf(format: Exclude<AudioFileFormat, 'wav'>): Promise<Decoder> {
  switch (format) {
    case 'mp3':
      return new (await import('mpg123-decoder')).MPEGDecoder();
    case 'opus':
      return new (await import('ogg-opus-decoder')).OggOpusDecoder();
    case 'vorbis':
      return new (await import('@wasm-audio-decoders/ogg-vorbis')).OggVorbisDecoder();
  }
}

/** What is damaged in the middle is left out, as players do. */
async function decodeAll(decoder: Decoder, bytes: Uint8Array): Promise<ReadAudio> {
  await decoder.ready;
  const pieces: Int16Array[] = [];
  let sampleRate = 0;
  let length = 0;
  const take = ({ channelData, samplesDecoded, sampleRate: rate }: Decoded): void => {
    if (samplesDecoded === 0) return;
    if (sampleRate !== 0 && rate !== sampleRate) throw new AudioError('broken');
    sampleRate = rate;
    length += samplesDecoded;
    check(rate, channelData.length, length);
    pieces.push(mix(channelData, samplesDecoded));
  };
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    take(await decoder.decode(bytes.subarray(at, at + PIECE_BYTES)));
  if (decoder.flush) take(await decoder.flush());
  const samples = new Int16Array(length);
  let at = 0;
  for (const piece of pieces) {
    samples.set(piece, at);
    at += piece.length;
  }
  return { sampleRate, samples };
}

function mix(channels: readonly Float32Array[], length: number): Int16Array {
  const mixed = new Int16Array(length);
  for (let i = 0; i < length; i++) {
    let sum = 0;
    for (const channel of channels) sum += channel[i]!;
    mixed[i] = pcm16FromFloat(sum / channels.length);
  }
  return mixed;
}

/** @throws AudioError */
function check(sampleRate: number, channels: number, length: number): void {
  if (sampleRate < MIN_RATE_HZ || sampleRate > MAX_RATE_HZ) throw new AudioError('sample_rate');
  if (channels > MAX_CHANNELS) throw new AudioError('too_many_channels');
  if (length > MAX_ASSET_SECONDS * sampleRate) throw new AudioError('too_long');
}
