import * as nodeFs from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { WAV_HEADER_BYTES, type RecordingFs } from './part-file.ts';
import { mutedAfterCrash, muteFile, recordingRedaction, type MutedStretch } from './muted-stretches.ts';

const stretch = (from_ms: number, to_ms: number | null, channel: number | null = null): MutedStretch => ({
  channel,
  from_ms,
  to_ms,
});

void t.test('a stretch is muted with what lies around it, once', (t) => {
  const job = { channels: 2, sample_rate: 8000, muted: [] as MutedStretch[], judged_ms: 0 };
  let changes = 0;
  const redaction = recordingRedaction(job, () => void changes++);
  redaction.mute('caller', 2000, 3000);
  redaction.mute('caller', 2000, 3000);
  t.same(job.muted, [stretch(1500, 3300, 0)]);
  t.equal(changes, 1);
  redaction.mute('agent', 2000, 3000);
  redaction.mute('caller', 2000, 3100);
  redaction.mute('caller', 2100, 3000);
  t.same(job.muted.slice(1), [stretch(1500, 3300, 1), stretch(1500, 3400, 0), stretch(1600, 3300, 0)]);
  redaction.mute('agent', 200, 300);
  t.same(job.muted.at(-1), stretch(0, 600, 1), 'not before the beginning');
  redaction.judged(5000);
  t.equal(job.judged_ms, 5000);
  t.equal(changes, 6, 'each is written down');
  t.end();
});

void t.test('on one channel both sides are muted', (t) => {
  const job = { channels: 1, sample_rate: 8000, muted: [] as MutedStretch[], judged_ms: 0 };
  recordingRedaction(job, () => undefined).mute('agent', 1000, 1000);
  t.same(job.muted, [stretch(500, 1300)]);
  t.end();
});

void t.test('after a crash the rest is muted where something of a call is masked', (t) => {
  const job = { channels: 1, sample_rate: 8000, muted: [stretch(0, 100)] };
  t.same(mutedAfterCrash({ ...job, judged_ms: 700 }), [stretch(0, 100), stretch(700, null)]);
  t.same(mutedAfterCrash({ ...job, judged_ms: 0 }), [stretch(0, 100), stretch(0, null)]);
  t.same(mutedAfterCrash({ ...job, judged_ms: null }), [stretch(0, 100)]);
  t.end();
});

void t.test('samples of the stretch become silence and no other, over however many pieces', async (t) => {
  const file = path.join(t.testdir({}), 'a.wav');
  // Of a rate of 1000 a sample is a millisecond.
  const muted = async (channels: number, frames: number, ...stretches: MutedStretch[]) => {
    const samples = new Int16Array(frames * channels).fill(7);
    const header = Buffer.alloc(WAV_HEADER_BYTES, 1);
    await nodeFs.writeFile(file, Buffer.concat([header, Buffer.from(samples.buffer)]));
    await muteFile(file, nodeFs, { channels, sample_rate: 1000 }, stretches);
    const bytes = await nodeFs.readFile(file);
    t.equal(bytes.length, WAV_HEADER_BYTES + samples.byteLength, 'it is as long as it was');
    t.same(bytes.subarray(0, WAV_HEADER_BYTES), header, 'the header stays');
    const silent = Array.from({ length: channels }, () => [] as number[]);
    for (let at = 0; at < frames * channels; at++)
      if (bytes.readInt16LE(WAV_HEADER_BYTES + at * 2) === 0)
        silent[at % channels]!.push(Math.floor(at / channels));
    return silent.map((frames) =>
      frames.length === 0 ? '' : `${frames[0]}-${frames.at(-1)} ${frames.length}`,
    );
  };
  t.same(await muted(1, 100, stretch(10, 20)), ['10-19 10']);
  t.same(await muted(1, 100, stretch(10.5, 20.5)), ['10-20 11'], 'a part of a sample is the whole');
  t.same(await muted(2, 100, stretch(10, 20)), ['10-19 10', '10-19 10']);
  t.same(await muted(2, 100, stretch(10, 20, 0)), ['10-19 10', '']);
  t.same(await muted(2, 100, stretch(10, 20, 1)), ['', '10-19 10']);
  t.same(await muted(1, 100, stretch(10, 20, 0)), ['10-19 10'], 'of mono, all');
  t.same(await muted(2, 100, stretch(90, null, 1)), ['', '90-99 10'], 'to the end');
  t.same(await muted(1, 100, stretch(90, 500)), ['90-99 10'], 'not beyond it');
  t.same(await muted(1, 100, stretch(10, 12), stretch(14, 16)), ['10-15 4']);
  t.same(await muted(2, 40_000, stretch(5, 39_990, 1)), ['', '5-39989 39985']);
  t.same(await muted(1, 40_000, stretch(5, null)), ['5-39999 39995']);
});

void t.test('a recording of which nothing is masked is not opened', async (t) => {
  const fs = { open: () => Promise.reject(new Error('opened')) } as unknown as RecordingFs;
  await muteFile('a.wav', fs, { channels: 1, sample_rate: 8000 }, []);
  await t.rejects(muteFile('a.wav', fs, { channels: 1, sample_rate: 8000 }, [stretch(0, 1)]), /opened/);
});
