import type { Worker } from 'node:worker_threads';
import t from 'tap';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { until } from '../../../test/fixtures/until.ts';
import { referenceNoise } from './fixtures/reference-sound.ts';
import { readVerdicts, type Verdict } from './fixtures/verdicts.ts';
import { SyncVoiceModel } from './sync-voice-model.ts';
import { openVoiceModel, startVoiceModelWorker } from './threaded-voice-model.ts';
import type { VoiceModelStream } from './voice-model.ts';

const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;
const sound = encodeMulaw(referenceNoise());
/** Fewer than what is dropped as too old. */
const PIECE = 3200;

/** Pushes audio, and waits until all whole windows of it are judged. */
async function judged(stream: VoiceModelStream, bytes: Uint8Array): Promise<Verdict[]> {
  const found: Verdict[] = [];
  for (let at = 0; at < bytes.length; at += PIECE) {
    stream.push(bytes.subarray(at, at + PIECE));
    await until(() => stream.behindMs < 32);
    found.push(...readVerdicts(stream));
  }
  return found;
}

void t.test('rule 28: a thread judges, sleeps, is woken and ends', async (t) => {
  const model = await openVoiceModel({ maxStreams: 4, clock: new ManualClock(), logger: silentLogger() });
  const alone = new SyncVoiceModel().open(PCMU);
  alone.judging = true;
  alone.push(sound.subarray(0, 16_000));
  const expected = readVerdicts(alone);
  for (const round of ['first', 'second']) {
    const stream = model.open(PCMU)!;
    stream.judging = true;
    t.same(await judged(stream, sound.subarray(0, 16_000)), expected, round);
    stream.close();
  }
  await model[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  t.equal(model.open(PCMU), undefined);
});

void t.test('a thread that ends is started again, five times', async (t) => {
  const clock = new ManualClock();
  const workers: Worker[] = [];
  const lines: string[] = [];
  const logger = Object.assign(silentLogger(), {
    warn: (_: object, line: string) => lines.push(line),
    error: (_: object, line: string) => lines.push(line),
  });
  const model = await openVoiceModel({
    maxStreams: 4,
    clock,
    logger,
    startWorker(data) {
      const worker = startVoiceModelWorker(data);
      workers.push(worker);
      return worker;
    },
  });
  t.teardown(() => model[Symbol.asyncDispose]());
  const stream = model.open(PCMU)!;
  stream.judging = true;
  await judged(stream, sound.subarray(0, 3000));

  await workers[0]!.terminate();
  stream.push(sound.subarray(3000, 6000));
  t.same(readVerdicts(stream), []);
  t.ok(stream.behindMs > 300);
  t.ok(model.open(PCMU), 'a thread is coming');
  clock.advance(60_000);
  await until(() => stream.behindMs < 32);
  t.same(
    readVerdicts(stream).map(({ endMs }) => endMs),
    Array.from({ length: 12 }, (_, i) => 384 + 32 * i),
    'the stream goes on where it stopped',
  );

  for (let restarts = 1; restarts <= 5; restarts++) {
    await workers.at(-1)!.terminate();
    clock.advance(60_000);
    t.equal(workers.length, Math.min(6, restarts + 2));
  }
  t.equal(model.open(PCMU), undefined);
  t.equal(lines.filter((line) => line.includes('started again')).length, 5);
  t.match(lines.at(-1), 'ended too often');
});

void t.test('a thread that does not come up is an error', async (t) => {
  await t.rejects(
    openVoiceModel({
      maxStreams: 1,
      clock: new ManualClock(),
      logger: silentLogger(),
      startWorker: () => startVoiceModelWorker({ memory: new SharedArrayBuffer(0) }),
    }),
  );
});
