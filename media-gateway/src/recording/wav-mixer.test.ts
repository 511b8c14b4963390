import t from 'tap';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { bytesFromPcm16, pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { encodeAlaw, encodeMulaw } from '@parley/shared/audio/g711';
import type { PartFile } from './part-file.ts';
import { WavMixer } from './wav-mixer.ts';

const RATE = 8000;
const PCM: AudioFormat = { encoding: 'pcm16', sampleRate: RATE };

/** A mixer over a file in memory, which may take nothing. */
function mixerOf({
  channels = 'dual' as 'dual' | 'mono',
  caller = PCM,
  agent = PCM,
}: { channels?: 'dual' | 'mono'; caller?: AudioFormat; agent?: AudioFormat } = {}) {
  const writes: { data: Int16Array; offset: number; done: () => void }[] = [];
  const file = { full: 0, failure: undefined as Error | undefined, settles: 0, dataBytes: -1 };
  let gaps = 0;
  const mixer = new WavMixer({
    file: {
      get failure() {
        return file.failure;
      },
      write(data: Uint8Array, offset: number, done: () => void) {
        if (file.failure || file.full > 0) return false;
        writes.push({ data: pcm16FromBytes(data.slice()), offset, done });
        return true;
      },
      settled: () => Promise.resolve(void (file.settles++, file.full--)),
      finish: (dataBytes: number) => Promise.resolve(void (file.dataBytes = dataBytes)),
    } as unknown as PartFile,
    sampleRate: RATE,
    channels,
    caller,
    agent,
    onGap: () => void gaps++,
  });
  /** The samples of one side, as they are in the file. */
  const side = (channel: number, seconds: number) => {
    const per = mixer.channels;
    const all = new Int16Array(seconds * RATE * per);
    for (const { data, offset } of writes) all.set(data, offset / 2);
    return all.filter((_, at) => at % per === channel);
  };
  return { mixer, writes, file, side, gaps: () => gaps };
}

const audio = (ms: number, value: number) => bytesFromPcm16(new Int16Array((ms * RATE) / 1000).fill(value));
/** Where a value stands, in samples: first, last, how many. */
const where = (samples: Int16Array, value: number) => [
  samples.indexOf(value),
  samples.lastIndexOf(value),
  samples.filter((one) => one === value).length,
];

void t.test('a second is written once audio is three seconds further', async (t) => {
  const { mixer, writes, side, file } = mixerOf();
  mixer.caller(audio(1000, 5), 0);
  mixer.caller(audio(1000, 6), 1000);
  mixer.caller(audio(1000, 7), 2000);
  mixer.caller(audio(1000, 8), 3000);
  t.equal(writes.length, 0);
  mixer.caller(audio(20, 9), 4000);
  t.same(
    writes.map(({ offset }) => offset),
    [0],
  );
  mixer.caller(audio(20, 9), 10_000);
  t.same(
    writes.map(({ offset }) => offset / RATE / 4),
    [0, 1, 2, 3, 4],
  );
  t.same(await mixer.finish(10_020), { durationMs: 10_020, dataBytes: 10_020 * 8 * 4 });
  t.equal(file.dataBytes, 10_020 * 8 * 4);
  t.same(where(side(0, 11), 7), [16_000, 23_999, 8000]);
  t.same(where(side(0, 11), 9), [32_000, 80_159, 320]);
  t.equal(mixer.gapMs, 0);
});

void t.test('audio follows the last without a seam where it is hardly out of place', async (t) => {
  const { mixer, side } = mixerOf();
  mixer.caller(audio(20, 1), 100);
  mixer.caller(audio(20, 2), 160);
  mixer.caller(audio(20, 3), 100);
  mixer.caller(audio(20, 4), 201);
  await mixer.finish(1000);
  const samples = side(0, 1);
  t.same(where(samples, 1), [800, 959, 160]);
  t.same(where(samples, 2), [960, 1119, 160], '40 ms late');
  t.same(where(samples, 3), [1120, 1279, 160], '40 ms early');
  t.same(where(samples, 4), [1608, 1767, 160], '41 ms late is a pause');
});

void t.test('both sides have their channel, or are summed without wrapping around', async (t) => {
  const dual = mixerOf();
  dual.mixer.caller(audio(20, 7), 0);
  dual.mixer.agent(audio(20, 9), 20);
  await dual.mixer.finish(1000);
  t.same(where(dual.side(0, 1), 7), [0, 159, 160]);
  t.same(where(dual.side(1, 1), 9), [160, 319, 160]);
  t.equal(dual.side(1, 1)[0], 0);
  const mono = mixerOf({ channels: 'mono' });
  for (const value of [30_000, -30_000, 10])
    for (const one of ['caller', 'agent'] as const) {
      const at = { 30000: 0, [-30_000]: 100, 10: 200 }[value]!;
      mono.mixer[one](audio(20, value), at);
    }
  await mono.mixer.finish(1000);
  const samples = mono.side(0, 1);
  t.same([samples[0], samples[800], samples[1600]], [32_767, -32_768, 20]);
});

void t.test('what comes too late is a gap, of that length', async (t) => {
  const { mixer, side, gaps } = mixerOf();
  mixer.caller(audio(20, 1), 5000);
  mixer.agent(audio(500, 2), 1800);
  t.equal(mixer.gapMs, 200);
  t.equal(gaps(), 1);
  mixer.agent(audio(20, 3), 500);
  t.equal(mixer.gapMs, 220);
  mixer.agent(audio(20, 4), 2400);
  t.equal(gaps(), 2);
  await mixer.finish(6000);
  t.same(where(side(1, 6), 2), [16_000, 18_399, 2400], 'the rest of it is kept');
});

void t.test('a disk that does not keep up loses a second, one that has failed tells so itself', async (t) => {
  const { mixer, file, gaps } = mixerOf();
  file.full = 1;
  mixer.caller(audio(20, 1), 0);
  mixer.caller(audio(20, 1), 4500);
  t.equal(mixer.gapMs, 1000);
  t.equal(gaps(), 1);
  file.failure = new Error('full');
  mixer.caller(audio(20, 1), 9000);
  t.equal(gaps(), 1);
  await mixer.finish(9000);
  t.equal(file.settles, 0);
});

void t.test('at the end each second waits for the disk, and nothing is taken any more', async (t) => {
  const { mixer, file, writes } = mixerOf();
  mixer.caller(audio(20, 1), 1500);
  mixer.caller(audio(20, 1), 0);
  file.full = 2;
  await mixer.finish(1520);
  t.equal(file.settles, 2);
  t.same(
    writes.map(({ offset }) => offset / RATE / 4),
    [0, 1],
    'in order',
  );
  mixer.caller(audio(20, 1), 1520);
  t.equal(writes.length, 2);
  for (const { done } of writes) done();
  t.same(await mixerOf().mixer.finish(-5), { durationMs: 0, dataBytes: 0 });
  t.same((await mixerOf().mixer.finish(25 * 3_600_000)).durationMs, 24 * 3_600_000, 'no call is longer');
});

void t.test('telephones are taken by table, other rates are made the same', async (t) => {
  for (const [encoding, encode] of [
    ['pcmu', encodeMulaw],
    ['pcma', encodeAlaw],
  ] as const) {
    const { mixer, side } = mixerOf({ caller: { encoding, sampleRate: RATE } });
    mixer.caller(encode(new Int16Array(160).fill(1000)), 0);
    await mixer.finish(20);
    const [first] = side(0, 1);
    t.ok(Math.abs(first! - 1000) < 40, `${encoding} ${first}`);
  }
  const { mixer, side } = mixerOf({ caller: { encoding: 'pcm16', sampleRate: 16_000 } });
  mixer.caller(bytesFromPcm16(new Int16Array(3200).fill(1000)), 0);
  mixer.caller(bytesFromPcm16(new Int16Array(3200).fill(-1000)), 500);
  await mixer.finish(1000);
  const samples = side(0, 1);
  t.ok(Math.abs(samples[800]! - 1000) < 20 && Math.abs(samples[4800]! + 1000) < 20);
  t.equal(samples[3000], 0, 'what the resampler held belongs to the first piece');
  t.ok(samples.slice(1500, 1600).some((one) => one !== 0));
});

void t.test('a block that was written is used again, silent', async (t) => {
  const { mixer, writes, side } = mixerOf();
  mixer.caller(audio(1000, 5), 0);
  mixer.caller(audio(20, 6), 4000);
  writes[0]!.done();
  mixer.caller(audio(20, 7), 6000);
  await mixer.finish(7000);
  t.equal(where(side(0, 7), 5)[2], 8000, 'nothing of it is heard again');
  t.same(where(side(0, 7), 7), [48_000, 48_159, 160]);
});
