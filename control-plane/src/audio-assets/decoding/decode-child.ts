import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { Resampler } from '@parley/shared/audio/resampler';
import { ASSET_RATES } from '@parley/shared/contracts/audio-assets';
import type { AssetRate } from '@parley/shared/contracts/audio-assets';
import type { AudioFileFormat } from '../audio-format.ts';
import { AudioError } from './audio-error.ts';
import type { AudioFailure } from './audio-error.ts';
import { readAudio } from './read-audio.ts';

/**
 * The program that decodes one file. Its only argument is a `DecodeOrder` as JSON; it writes lines of JSON, and behind
 * each line that announces samples so many bytes of PCM16.
 */
export interface DecodeOrder {
  path: string;
  format: AudioFileFormat;
}

export type DecodeLine =
  | { rate: AssetRate; bytes: number }
  | { failure: AudioFailure }
  /** The end: what the file was. */
  | { sample_rate_hz: number; duration_ms: number };

const order = JSON.parse(process.argv[2]!) as DecodeOrder;

/** Waits while the reader is behind. */
async function write(data: string | Uint8Array): Promise<void> {
  if (process.stdout.write(data)) return;
  await new Promise((resolve) => process.stdout.once('drain', resolve));
}

const tell = (line: DecodeLine): Promise<void> => write(`${JSON.stringify(line)}\n`);

function resample(samples: Int16Array, from: number, to: number): Int16Array[] {
  let resampler: Resampler;
  try {
    resampler = new Resampler(from, to);
  } catch (cause) {
    throw new AudioError('sample_rate', { cause });
  }
  return [resampler.process(samples), resampler.flush()];
}

async function decode(): Promise<void> {
  const { sampleRate, samples } = await readAudio(order.path, order.format);
  for (const rate of ASSET_RATES) {
    const parts = resample(samples, sampleRate, rate).map(bytesFromPcm16);
    await tell({ rate, bytes: parts.reduce((sum, part) => sum + part.length, 0) });
    for (const part of parts) await write(part);
  }
  const durationMs = Math.max(1, Math.round((samples.length / sampleRate) * 1000));
  await tell({ sample_rate_hz: sampleRate, duration_ms: durationMs });
}

try {
  await decode();
} catch (error) {
  await tell({ failure: error instanceof AudioError ? error.failure : 'broken' });
}
