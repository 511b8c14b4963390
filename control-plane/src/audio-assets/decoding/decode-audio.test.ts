import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { bytesFromPcm16, pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { wavHeader } from '@parley/shared/audio/wav';
import { ASSET_RATES } from '@parley/shared/contracts/audio-assets';
import type { AssetRate } from '@parley/shared/contracts/audio-assets';
import { systemClock } from '@parley/shared/time/clock';
import type { AudioFileFormat } from '../audio-format.ts';
import { AUDIO_FAILURES, AudioError } from './audio-error.ts';
import type { AudioFailure } from './audio-error.ts';
import { decodeAudio } from './decode-audio.ts';
import { readAudio } from './read-audio.ts';

const folder = await mkdtemp(join(tmpdir(), 'parley-audio-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));
let count = 0;

async function stored(content: Uint8Array): Promise<string> {
  const path = join(folder, `${++count}`);
  await writeFile(path, content);
  return path;
}

/** In a process of its own, as uploads are. */
async function decode(format: AudioFileFormat, content: Uint8Array, signal = new AbortController().signal) {
  const path = await stored(content);
  const samples = new Map<AssetRate, Int16Array>();
  const told = await decodeAudio(
    { path, format },
    {
      clock: systemClock,
      signal,
      async store(rate, content) {
        const parts: Uint8Array[] = [];
        for await (const part of content) parts.push(part);
        samples.set(rate, pcm16FromBytes(Buffer.concat(parts)));
      },
    },
  );
  return { ...told, samples };
}

function wav(samples: Int16Array, sampleRate: number, channels = 1): Buffer {
  const data = bytesFromPcm16(samples);
  return Buffer.concat([wavHeader({ sampleRate, channels, dataBytes: data.length }), data]);
}

/** How often the wave goes up through zero, a second. */
function pitch(samples: Int16Array, rate: number): number {
  let ups = 0;
  for (let i = 1; i < samples.length; i++) if (samples[i - 1]! < 0 && samples[i]! >= 0) ups++;
  return (ups * rate) / samples.length;
}

function loudness(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

/** 440 Hz at half of full scale for half a second, the same on both sides, of 44.1 kHz (Opus: of 48). */
const stereo = Int16Array.from({ length: 44_100 }, (_, i) =>
  Math.round(16_384 * Math.sin((2 * Math.PI * 440 * (i >> 1)) / 44_100)),
);
const fixture = (name: string) => readFile(new URL(`fixtures/${name}`, import.meta.url));
const mp3 = await fixture('tone.mp3');
const vorbis = await fixture('tone-vorbis.ogg');
const opus = await fixture('tone-opus.ogg');

function isTone(t: Test, samples: Int16Array, rate: number): void {
  const middle = samples.subarray(samples.length / 4, (samples.length * 3) / 4);
  t.ok(Math.abs(pitch(middle, rate) - 440) < 6, `${pitch(middle, rate)} Hz`);
  t.ok(Math.abs(loudness(middle) - 11_585) < 600, `as loud: ${loudness(middle)}`);
  const ms = (samples.length / rate) * 1000;
  // The pre-skip of an Opus stream may be left in.
  t.ok(ms >= 500 && ms < 510, `as long: ${ms}`);
}

void t.test('every kind of file is read', async (t) => {
  for (const [format, content, rate] of [
    ['wav', wav(stereo, 44_100, 2), 44_100],
    ['mp3', mp3, 44_100],
    ['vorbis', vorbis, 44_100],
    ['opus', opus, 48_000],
  ] as const)
    await t.test(format, async (t) => {
      const { sampleRate, samples } = await readAudio(await stored(content), format);
      t.equal(sampleRate, rate);
      isTone(t, samples, rate);
    });
});

void t.test('a file is ready at every rate', async (t) => {
  const { sampleRateHz, durationMs, samples } = await decode('wav', wav(stereo, 44_100, 2));
  t.same([sampleRateHz, durationMs], [44_100, 500]);
  t.same([...samples.keys()], [...ASSET_RATES]);
  for (const [rate, pcm] of samples) isTone(t, pcm, rate);
});

void t.test('a file that cannot be made ready says why', async (t) => {
  const doubles = wav(new Int16Array(100), 8000);
  doubles.writeUInt16LE(3, 20);
  const hostile: [what: string, format: AudioFileFormat, content: Uint8Array, failure: AudioFailure][] = [
    ['a WAV file without audio', 'wav', wav(new Int16Array(0), 8000), 'no_audio'],
    ['one cut off in its header', 'wav', wav(new Int16Array(10), 8000).subarray(0, 20), 'broken'],
    ['one of 16-bit floats', 'wav', doubles, 'encoding'],
    ['a rate of 4 GHz', 'wav', wav(new Int16Array(10), 4_000_000_000), 'sample_rate'],
    ['a rate of 1 Hz', 'wav', wav(new Int16Array(10), 1), 'sample_rate'],
    ['9 channels', 'wav', wav(new Int16Array(90), 8000, 9), 'too_many_channels'],
    ['more than 10 minutes', 'wav', wav(new Int16Array(8000 * 600 + 1), 8000), 'too_long'],
    ['an MP3 of words', 'mp3', Buffer.concat([Buffer.from('ID3'), Buffer.alloc(5000, 'no')]), 'no_audio'],
    ['an MP3 that only begins', 'mp3', mp3.subarray(0, 60), 'no_audio'],
    ['Opus cut off in its headers', 'opus', opus.subarray(0, 60), 'broken'],
    ['Vorbis cut off in its headers', 'vorbis', vorbis.subarray(0, 60), 'no_audio'],
  ];
  for (const [what, format, content, failure] of hostile) {
    const error = await readAudio(await stored(content), format).catch((error: unknown) => error);
    t.equal(error instanceof AudioError && error.message, AUDIO_FAILURES[failure], what);
  }
  const odd = decode('wav', wav(new Int16Array(10), 44_101));
  await t.rejects(odd, { message: AUDIO_FAILURES.sample_rate }, 'a rate that no filter leads to');
});

void t.test('whoever stops it ends the process', async (t) => {
  const stop = new AbortController();
  const decoding = decode('wav', wav(new Int16Array(8000 * 60), 8000), stop.signal);
  stop.abort(new Error('stopped'));
  await t.rejects(decoding, { message: 'stopped' });
});
