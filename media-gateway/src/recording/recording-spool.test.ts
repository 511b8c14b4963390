import { createHash } from 'node:crypto';
import * as nodeFs from 'node:fs/promises';
import { mkdtemp, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MPEGDecoder } from 'mpg123-decoder';
import t from 'tap';
import type { Test } from 'tap';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { parseWav } from '@parley/shared/audio/wav';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import type { RecordingResult } from '@parley/shared/contracts/recordings';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { checkEvent } from '../../../shared/test/fixtures/strict-events.ts';
import { EventOutbox } from '../reporting/event-outbox.ts';
import { RecordingSpool } from './recording-spool.ts';
import { fileStore } from './recording-store.ts';
import type { RecordingFs } from './part-file.ts';
import type { RecordingStore } from './recording-store.ts';
import { until } from '../../test/fixtures/until.ts';

const PCMU: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };
const KEY = 'recordings/org_1/prj_1/rec_1.wav';
const MP3_KEY = KEY.replace('.wav', '.mp3');

interface Options {
  dir?: string;
  fs?: RecordingFs;
  store?: RecordingStore;
  channels?: 'dual' | 'mono';
  caller?: AudioFormat;
  agent?: AudioFormat;
  format?: 'wav' | 'mp3';
  /** Something of the call is masked. */
  masks?: boolean;
}

async function open(t: Test, options: Options = {}) {
  const dir = options.dir ?? (await mkdtemp(path.join(tmpdir(), 'parley-recording-')));
  if (!options.dir) t.teardown(() => rm(dir, { recursive: true, force: true }));
  const storage = path.join(dir, 'storage');
  const spoolDir = path.join(dir, 'spool');
  await mkdir(spoolDir, { recursive: true });
  const clock = new ManualClock();
  const logger = silentLogger();
  const sent: CallEvent[] = [];
  const outbox = new EventOutbox({
    clock,
    logger,
    events: {
      append: (events) => Promise.resolve(void sent.push(...events)),
    },
  });
  const spool = await RecordingSpool.open({
    dir: spoolDir,
    gatewayId: 'gw_1',
    stores: { file: options.store ?? fileStore(storage, nodeFs) },
    outbox,
    clock,
    logger,
    ...(options.fs ? { fs: options.fs } : {}),
  });
  t.teardown(() => spool[Symbol.asyncDispose]());
  const told: { type: string; data: object }[] = [];
  const recorder = (store: 'file' | 's3' = 'file') =>
    spool.recorder({
      plan: {
        session_id: '01890000-0000-7000-8000-000000000001',
        claim_id: 'claim_1',
        first_event_index: 0,
        redaction: { kinds: options.masks ? ['card_number'] : [], before_llm: false },
        record: {
          enabled: true,
          recording_id: 'rec_1',
          channels: options.channels ?? 'dual',
          format: options.format ?? 'wav',
          store,
          key: options.format === 'mp3' ? MP3_KEY : KEY,
        },
      },
      participant: { inputFormat: options.caller ?? PCMU, outputFormat: options.agent ?? PCMU },
      answeredAt: clock.now(),
      reporter: {
        emit(type, data) {
          checkEvent({ type, data });
          told.push({ type, data });
        },
      },
      logger,
    });
  const read = async () => parseWav(await readFile(path.join(storage, KEY)));
  return { spool, spoolDir, storage, clock, sent, outbox, told, recorder, read };
}

/** 20 ms of one value, in mu-law at 8 kHz. */
const frame = (value: number) => encodeMulaw(new Int16Array(160).fill(value));

/** The sample of one side at a time. */
function at(
  wav: { sampleRate: number; channels: number; samples: Int16Array },
  ms: number,
  channel = 0,
): number {
  return wav.samples[Math.round((ms * wav.sampleRate) / 1000) * wav.channels + channel]!;
}

const near = (a: number, b: number) => Math.abs(a - b) <= 300;

/** A real disk that fails when told to, and says when it has nothing to do. */
function disk() {
  const state = {
    ...nodeFs,
    fails: undefined as string | undefined,
    started: 0,
    finished: 0,
    open: (async (...args: Parameters<typeof nodeFs.open>) => {
      const handle = await nodeFs.open(...args);
      if (!String(args[0]).endsWith('.part')) return handle;
      const write = handle.write.bind(handle) as (...args: unknown[]) => Promise<unknown>;
      handle.write = (async (...writeArgs: unknown[]) => {
        state.started++;
        try {
          if (state.fails) throw Object.assign(new Error(state.fails), { code: state.fails });
          return await write(...writeArgs);
        } finally {
          state.finished++;
        }
      }) as typeof handle.write;
      return handle;
    }) as typeof nodeFs.open,
    async idle(): Promise<void> {
      do {
        for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
      } while (state.started === 0 || state.started !== state.finished);
    },
  };
  return state;
}

/** Lets time pass in steps of 20 ms, with a disk that keeps up. */
async function live(fs: ReturnType<typeof disk>, toMs: number, step: (ms: number) => void): Promise<void> {
  for (let ms = 0; ms < toMs; ms += 20) {
    step(ms);
    if (ms % 1000 === 0) await fs.idle();
  }
}

void t.test('both sides lie on one clock, caller left and agent right, with silence between', async (t) => {
  const fs = disk();
  const { recorder, read, spoolDir, storage } = await open(t, { fs });
  const call = recorder();
  await live(fs, 10_000, (ms) => {
    if (ms < 3000) call.caller(frame(4000), ms);
    if (ms >= 5000 && ms < 9000) call.caller(frame(8000), ms);
    // What was played is known later than what was heard.
    const playedMs = ms - 2000;
    if (playedMs >= 2000 && playedMs < 2500) call.agent(frame(-4000), playedMs);
    if (playedMs >= 6000 && playedMs % 100 === 0) {
      call.agent(encodeMulaw(new Int16Array(800).fill(-8000)), playedMs);
    }
  });
  const result = await call.finish(10_000);
  const wav = await read();
  t.equal(wav.channels, 2);
  t.equal(wav.sampleRate, 8000);
  t.equal(wav.samples.length, 10 * 8000 * 2);
  const expected: [number, number, number][] = [
    [0, 4000, 0],
    [1990, 4000, 0],
    [2010, 4000, -4000],
    [2100, 4000, -4000],
    [2490, 4000, -4000],
    [2510, 4000, 0],
    [2700, 4000, 0],
    [4000, 0, 0],
    [5100, 8000, 0],
    [6100, 8000, -8000],
    [8990, 8000, 0],
    [9900, 0, 0],
  ];
  for (const [ms, left, right] of expected) {
    t.ok(near(at(wav, ms, 0), left), `left at ${ms}`);
    t.ok(near(at(wav, ms, 1), right), `right at ${ms}`);
  }
  const file = await readFile(path.join(storage, KEY));
  t.same(result, {
    recording_id: 'rec_1',
    status: 'stored',
    key: KEY,
    size_bytes: file.length,
    sha256: createHash('sha256').update(file).digest('hex'),
    duration_ms: 10_000,
    channels: 2,
    format: 'wav',
  });
  t.same(await readdir(spoolDir), ['rec_1.recording.json'], 'until the report is on disk');
  call.settled();
  await until(async () => (await readdir(spoolDir)).length === 0);
  t.equal((await stat(path.join(storage, KEY))).mode & 0o077, 0);
  t.equal(await call.finish(1), await call.finish(2), 'finished once');
});

void t.test('frames that jitter a little leave no seams', async (t) => {
  const { recorder, read } = await open(t);
  const call = recorder();
  for (let i = 0; i < 100; i++) call.caller(frame(4000), i * 20 + [0, 7, -6, 13, 2][i % 5]!);
  await call.finish(2000);
  const { samples } = await read();
  const silent = samples.filter((value, i) => i % 2 === 0 && Math.abs(value) < 3000).length;
  t.equal(silent, 0);
});

void t.test('in mono both sides are mixed, and do not wrap around', async (t) => {
  const { recorder, read } = await open(t, { channels: 'mono' });
  const call = recorder();
  for (let ms = 0; ms < 1000; ms += 20) call.caller(frame(20_000), ms);
  for (let ms = 500; ms < 1500; ms += 20) call.agent(frame(20_000), ms);
  await call.finish(1500);
  const wav = await read();
  t.equal(wav.channels, 1);
  t.ok(near(at(wav, 200), 20_000) || Math.abs(at(wav, 200) - 20_000) < 1000);
  t.equal(at(wav, 700), 32_767);
  t.ok(Math.abs(at(wav, 1200) - 20_000) < 1000);
});

void t.test('an MP3 is made when the call is over', async (t) => {
  /** How loud a stretch of one side is, of 1. */
  const level = (samples: Float32Array, fromMs: number, toMs: number) => {
    const part = samples.subarray(fromMs * 8, toMs * 8);
    return Math.hypot(...part) / Math.sqrt(part.length);
  };
  const tone = (ms: number) =>
    encodeMulaw(
      Int16Array.from(
        { length: 160 },
        (_, i) => 16_000 * Math.sin(((ms * 8 + i) * 2 * Math.PI * 440) / 8000),
      ),
    );
  const decode = async (file: string) => {
    const decoder = new MPEGDecoder({ enableGapless: true });
    await decoder.ready;
    const { channelData, sampleRate } = decoder.decode(await readFile(file));
    decoder.free();
    return { channelData, sampleRate };
  };

  await t.test('of both sides, each where it was, and silent where something is masked', async (t) => {
    const { recorder, storage, spoolDir } = await open(t, { format: 'mp3', masks: true });
    const call = recorder();
    for (let ms = 0; ms < 4000; ms += 20) {
      call.caller(tone(ms), ms);
      if (ms >= 2000) call.agent(tone(ms), ms);
    }
    call.redact!.mute('caller', 1500, 1600);
    call.redact!.judged(4000);
    const first = await call.finish(4000);
    const file = path.join(storage, MP3_KEY);
    await until(async () => (await readdir(spoolDir)).join() === 'rec_1.recording.json');
    const bytes = await readFile(file);
    if (first.status === 'stored')
      t.same(first, {
        recording_id: 'rec_1',
        status: 'stored',
        key: MP3_KEY,
        size_bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
        duration_ms: 4000,
        channels: 2,
        format: 'mp3',
      });
    t.ok(bytes.length < (4000 * 8 * 4) / 7, 'a seventh of the WAV');
    const { channelData, sampleRate } = await decode(file);
    t.equal(sampleRate, 8000);
    t.same(
      channelData.map((side) => side.length),
      [32_000, 32_000],
      'as long as the call',
    );
    const [caller, agent] = channelData as [Float32Array, Float32Array];
    t.ok(level(caller, 0, 50) > 0.2, 'the first word is not lost');
    t.ok(level(caller, 100, 900) > 0.3);
    t.ok(level(caller, 1150, 1750) < 0.001, 'masked');
    t.ok(level(caller, 2000, 3900) > 0.3);
    t.ok(level(agent, 0, 1900) < 0.001, 'nothing of one side is on the other');
    t.ok(level(agent, 2020, 3980) > 0.3);
  });

  await t.test('in mono, and of a recording that another process left', async (t) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'parley-recording-'));
    t.teardown(() => rm(dir, { recursive: true, force: true }));
    const died = await open(t, { dir, format: 'mp3', channels: 'mono' });
    const call = died.recorder();
    for (let ms = 0; ms < 6000; ms += 20) call.caller(tone(ms), ms);
    const job = path.join(died.spoolDir, 'rec_1.recording.json');
    const part = path.join(died.spoolDir, 'rec_1.part');
    await until(async () => (await stat(part).catch(() => undefined))?.size === 44 + 2 * 16_000);
    // Each is written by itself.
    await until(async () => (await readdir(died.spoolDir)).includes(path.basename(job)));
    const left = [await readFile(job), await readFile(part)] as const;
    await call.finish(6000);
    await died.spool[Symbol.asyncDispose]();
    await rm(path.join(died.storage, MP3_KEY), { force: true });
    await writeFile(job, left[0]);
    await writeFile(part, left[1]);
    const next = await open(t, { dir, format: 'mp3' });
    await until(() => Promise.resolve(next.sent.length > 0 || next.outbox.pushed > 0));
    const { channelData } = await decode(path.join(next.storage, MP3_KEY));
    // The decoder has two channels of everything.
    t.equal(channelData[0]!.length, 16_000, 'what was on disk');
    t.ok(level(channelData[0]!, 0, 2000) > 0.3);
  });
});

void t.test('sides of different rates are recorded at the higher one', async (t) => {
  const caller: AudioFormat = { encoding: 'pcm16', sampleRate: 16_000 };
  const { recorder, read } = await open(t, { caller });
  const call = recorder();
  for (let ms = 0; ms < 1000; ms += 20) {
    call.caller(bytesFromPcm16(new Int16Array(320).fill(3000)), ms);
    call.agent(frame(-3000), ms);
  }
  await call.finish(1000);
  const wav = await read();
  t.equal(wav.sampleRate, 16_000);
  t.equal(at(wav, 500, 0), 3000);
  t.ok(near(at(wav, 500, 1), -3000));
  t.ok(near(at(wav, 990, 1), -3000), 'to the end: nothing stays in the resampler');
});

void t.test('each stretch of a side that is resampled is whole, and stays where it was', async (t) => {
  const wide: AudioFormat = { encoding: 'pcm16', sampleRate: 16_000 };
  for (const side of ['caller', 'agent'] as const) {
    const { recorder, read } = await open(t, { [side === 'caller' ? 'agent' : 'caller']: wide });
    const call = recorder();
    const stretches = [
      [500, 8000],
      [1000, -8000],
      [1500, 8000],
    ] as const;
    for (const [startMs, value] of stretches)
      for (let ms = 0; ms < 300; ms += 20) call[side](frame(value), startMs + ms);
    await call.finish(2000);
    const wav = await read();
    const channel = side === 'caller' ? 0 : 1;
    for (const [startMs, value] of stretches) {
      t.ok(at(wav, startMs + 1, channel) / value > 0.8, `${side}: the first of what began at ${startMs}`);
      t.ok(at(wav, startMs + 299, channel) / value > 0.8, 'and the last');
      t.equal(at(wav, startMs - 10, channel), 0);
      t.equal(at(wav, startMs + 310, channel), 0);
    }
  }
});

void t.test('what is known so late that its second is written is a gap, counted and told', async (t) => {
  const fs = disk();
  const { recorder, told } = await open(t, { fs });
  const call = recorder();
  await live(fs, 6000, (ms) => call.caller(frame(4000), ms));
  t.same(told, []);
  // The second that is going on is the sixth; three before it are still open.
  call.agent(encodeMulaw(new Int16Array(800).fill(4000)), 1950);
  call.agent(frame(4000), 1000);
  const result = await call.finish(6000);
  t.same(told, [{ type: 'warning', data: { code: 'recording_gap' } }], 'told once');
  t.equal(result.gap_ms, 70, '50 of 100 ms, and 20');
});

void t.test('audio after the end is cut off and a short call is filled up', async (t) => {
  const { recorder, read } = await open(t);
  const call = recorder();
  for (let ms = 0; ms < 5000; ms += 20) call.caller(frame(4000), ms);
  await call.finish(2500);
  t.equal((await read()).samples.length, 2.5 * 8000 * 2);
});

void t.test('a call that is not recorded, or whose store this gateway lacks, costs nothing', async (t) => {
  const { recorder, spoolDir } = await open(t);
  const call = recorder('s3');
  call.caller(frame(1), 0);
  t.same(await call.finish(10), { recording_id: 'rec_1', status: 'failed', error: 'store_unsupported' });
  t.same(await readdir(spoolDir), []);
});

void t.test('a full disk ends the recording and not the call', async (t) => {
  const fs = disk();
  const { recorder, told, spoolDir } = await open(t, { fs });
  const call = recorder();
  await live(fs, 12_000, (ms) => {
    if (ms === 6000) fs.fails = 'ENOSPC';
    call.caller(frame(4000), ms);
  });
  t.same(told, [{ type: 'warning', data: { code: 'recording_failed', error: 'disk_full' } }]);
  t.same(await call.finish(12_000), { recording_id: 'rec_1', status: 'failed', error: 'disk_full' });
  t.same(await readdir(spoolDir), [], 'what is useless does not stay on a full disk');
});

void t.test('rule 35: a disk that does not keep up leaves silence, counted and told once', async (t) => {
  const gate = Promise.withResolvers<void>();
  const fs: RecordingFs = {
    ...nodeFs,
    open: (async (...args: Parameters<typeof nodeFs.open>) => {
      if (String(args[0]).endsWith('.part')) await gate.promise;
      return nodeFs.open(...args);
    }) as typeof nodeFs.open,
  };
  const { recorder, told, read } = await open(t, { fs });
  const call = recorder();
  for (let ms = 0; ms < 10_000; ms += 20) call.caller(frame(4000), ms);
  gate.resolve();
  const result = await call.finish(10_000);
  t.same(told, [{ type: 'warning', data: { code: 'recording_gap' } }]);
  t.equal(result.status, 'stored');
  t.equal(result.gap_ms, 4000, 'of six seconds that were handed over, two could wait');
  const wav = await read();
  t.equal(wav.samples.length, 10 * 8000 * 2);
  t.ok(near(at(wav, 1500), 4000));
  t.equal(at(wav, 4500), 0);
  t.ok(near(at(wav, 9500), 4000));
});

/** A store that fails as often as told. */
function failingStore(times: number): RecordingStore & { tries: number; stored: string[] } {
  return {
    tries: 0,
    stored: [],
    async store(part, file) {
      if (this.tries++ < times) throw new Error('unreachable');
      this.stored.push(file.key);
      await rm(part);
    },
  };
}

void t.test('what can not be stored is tried again, and told when it is', async (t) => {
  const store = failingStore(3);
  const { recorder, clock, told, spoolDir } = await open(t, { store });
  const call = recorder();
  call.caller(frame(4000), 0);
  const finishing = call.finish(1000);
  await until(() => store.tries > 0);
  await until(() => clock.pendingTimers >= 2);
  clock.advance(2000);
  t.same(await finishing, { recording_id: 'rec_1', status: 'recording' }, 'the call does not wait for it');
  t.same((await readdir(spoolDir)).sort(), ['rec_1.part', 'rec_1.recording.json']);
  await until(async () => (await clock.advanceAsync(1000, 500), told.length > 0));
  t.match(told, [{ type: 'recording', data: { status: 'stored', key: KEY, duration_ms: 1000 } }]);
  t.equal(store.tries, 4);
  await until(async () => (await clock.advanceAsync(1000, 500), (await readdir(spoolDir)).length === 0));
});

void t.test('after a day it is given up, and the file is kept for whoever looks', async (t) => {
  const store = failingStore(Infinity);
  const { recorder, clock, told, spoolDir } = await open(t, { store });
  const call = recorder();
  call.caller(frame(4000), 0);
  const finishing = call.finish(1000);
  await until(() => store.tries > 0);
  await until(() => clock.pendingTimers >= 2);
  await until(async () => {
    await clock.advanceAsync(10 * 60_000, 5 * 60_000);
    return told.length > 0;
  });
  await finishing;
  t.match(told, [{ type: 'recording', data: { status: 'failed', error: 'store_failed' } }]);
  await until(async () => (await clock.advanceAsync(1000, 500), (await readdir(spoolDir)).length === 1));
  t.same(await readdir(spoolDir), ['rec_1.part.failed']);
});

void t.test(
  'a process that dies between storing and telling leaves the telling to the next one',
  async (t) => {
    const first = await open(t);
    const call = first.recorder();
    call.caller(frame(4000), 0);
    const stored = await call.finish(1000);
    t.equal(stored.status, 'stored');
    // It dies here: the report of the call does not say so.
    const second = await open(t, { dir: path.dirname(first.spoolDir) });
    await until(async () => (await second.clock.advanceAsync(20), second.sent.length > 0));
    t.match(second.sent, [{ type: 'recording', index: 99_998, data: stored }]);
    await until(
      async () => (await second.clock.advanceAsync(1000, 500), (await readdir(first.spoolDir)).length === 0),
    );
    const third = await open(t, { dir: path.dirname(first.spoolDir) });
    await third.clock.advanceAsync(1000, 100);
    t.same(third.sent, [], 'once it was told, nobody tells it again');
  },
);

void t.test('a process that dies when the store has just taken the file has stored it', async (t) => {
  const files = path.join(await mkdtemp(path.join(tmpdir(), 'parley-taken-')), 'storage');
  t.teardown(() => rm(path.dirname(files), { recursive: true, force: true }));
  const taken = Promise.withResolvers<void>();
  const store: RecordingStore = {
    async store(part, file, signal) {
      await fileStore(files, nodeFs).store(part, file, signal);
      taken.resolve();
      // It dies here.
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('dead'))));
    },
  };
  const first = await open(t, { store });
  const call = first.recorder();
  call.caller(frame(4000), 0);
  void call.finish(1000);
  await taken.promise;
  const second = await open(t, { dir: path.dirname(first.spoolDir) });
  await until(async () => (await second.clock.advanceAsync(20), second.sent.length > 0));
  const { size } = await stat(path.join(files, KEY));
  t.match(second.sent, [
    { type: 'recording', data: { status: 'stored', key: KEY, size_bytes: size, duration_ms: 1000 } },
  ]);
});

void t.test('a side is silent where something of it is masked', async (t) => {
  for (const channels of ['dual', 'mono'] as const) {
    const { recorder, read } = await open(t, { channels, masks: true });
    const call = recorder();
    for (let ms = 0; ms < 4000; ms += 20) {
      call.caller(frame(4000), ms);
      call.agent(frame(2000), ms);
    }
    call.redact!.mute('caller', 2000, 2500);
    call.redact!.judged(4000);
    await call.finish(4000);
    const wav = await read();
    const side = channels === 'dual' ? 1 : 0;
    const agent = channels === 'dual' ? 2000 : 6000;
    t.ok(near(at(wav, 1400), channels === 'dual' ? 4000 : 6000), 'before');
    t.same(
      [at(wav, 1520), at(wav, 2300), at(wav, 2780)],
      [0, 0, 0],
      'from a little before until a little after',
    );
    t.ok(near(at(wav, 2900), channels === 'dual' ? 4000 : 6000), 'after');
    if (channels === 'dual') t.ok(near(at(wav, 2300, side), agent), 'the other side is kept');
  }
});

void t.test('of a recording whose process died nothing is kept that was not looked at', async (t) => {
  const fs = disk();
  const first = await open(t, { fs, masks: true });
  const call = first.recorder();
  await live(fs, 8000, (ms) => call.caller(frame(4000), ms));
  call.redact!.mute('caller', 1000, 1500);
  call.redact!.judged(2500);
  const job = path.join(first.spoolDir, 'rec_1.recording.json');
  const part = path.join(first.spoolDir, 'rec_1.part');
  await until(async () => (await readFile(job, 'utf8').catch(() => '')).includes('2500'));
  await until(async () => (await stat(part).catch(() => ({ size: 0 }))).size >= 44 + 4 * 32_000);
  const second = await open(t, { dir: path.dirname(first.spoolDir) });
  await until(async () => (await second.clock.advanceAsync(20), second.sent.length > 0));
  const wav = await second.read();
  t.ok(near(at(wav, 300), 4000));
  t.equal(at(wav, 1200), 0, 'masked');
  t.ok(near(at(wav, 2400), 4000));
  t.same([at(wav, 2600), at(wav, 3800)], [0, 0], 'nobody knows what was said here');
});

void t.test('a recording whose process died is stored by the next one, as far as it goes', async (t) => {
  const fs = disk();
  const first = await open(t, { fs });
  const call = first.recorder();
  await live(fs, 8000, (ms) => call.caller(frame(4000), ms));
  const part = path.join(first.spoolDir, 'rec_1.part');
  await until(async () => (await stat(part).catch(() => ({ size: 0 }))).size >= 44 + 4 * 32_000);
  await until(async () => (await readdir(first.spoolDir)).includes('rec_1.recording.json'));
  await nodeFs.appendFile(part, Uint8Array.of(1, 2, 3)); // half a frame

  const second = await open(t, { dir: path.dirname(first.spoolDir) });
  await until(async () => (await second.clock.advanceAsync(20), second.sent.length > 0));
  const [event] = second.sent;
  t.match(event, {
    type: 'recording',
    session_id: '01890000-0000-7000-8000-000000000001',
    claim_id: 'claim_1',
    index: 99_998,
    data: { recording_id: 'rec_1', status: 'stored', key: KEY, channels: 2 },
  });
  const wav = await second.read();
  const { duration_ms: durationMs } = event!.data as RecordingResult;
  t.ok(durationMs! >= 4000);
  t.equal(Math.round(wav.samples.length / 2 / 8), durationMs, 'the header says what there is');
  t.ok(near(at(wav, 3500), 4000));
});

void t.test('storing twice is harmless, storing something else under the same key is not', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'parley-store-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const store = fileStore(path.join(dir, 'storage'), nodeFs);
  const part = path.join(dir, 'x.part');
  const put = async (content: string, key = KEY) => {
    await writeFile(part, content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    await store.store(
      part,
      { recordingId: 'x', key, sizeBytes: content.length, sha256 },
      AbortSignal.timeout(5000),
    );
  };
  await put('one');
  await put('one');
  t.same(await readdir(dir), ['storage'], 'the part is gone');
  await t.rejects(put('two'), { name: 'StoreConflictError' });
  t.equal(await readFile(path.join(dir, 'storage', KEY), 'utf8'), 'one');
  await t.rejects(put('one', '../../outside.wav'), /outside the storage folder/);
});

void t.test('a storage folder on another disk gets a copy', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'parley-store-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const part = path.join(dir, 'x.part');
  await writeFile(part, 'audio');
  const fs: RecordingFs = {
    ...nodeFs,
    rename: (from, to) =>
      from === part ? Promise.reject(Object.assign(new Error(), { code: 'EXDEV' })) : nodeFs.rename(from, to),
  };
  const sha256 = createHash('sha256').update('audio').digest('hex');
  const file = { recordingId: 'x', key: KEY, sizeBytes: 5, sha256 };
  await fileStore(path.join(dir, 's'), fs).store(part, file, AbortSignal.timeout(5000));
  t.equal(await readFile(path.join(dir, 's', KEY), 'utf8'), 'audio');
  t.same(await readdir(dir), ['s']);
});

void t.test('a spool that is disposed of leaves no file open, whatever calls there are', async (t) => {
  const handles: nodeFs.FileHandle[] = [];
  const fs: RecordingFs = {
    ...nodeFs,
    open: async (...args: Parameters<typeof nodeFs.open>) => {
      const handle = await nodeFs.open(...args);
      handles.push(handle);
      return handle;
    },
  };
  const { spool, recorder } = await open(t, { fs });
  recorder().caller(frame(1), 0);
  await until(() => handles.length === 2);
  await spool[Symbol.asyncDispose]();
  t.same(
    handles.map(({ fd }) => fd),
    [-1, -1],
  );
});
