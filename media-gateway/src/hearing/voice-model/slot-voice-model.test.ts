import t from 'tap';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { referenceNoise } from './fixtures/reference-sound.ts';
import { pushPieces, readVerdicts } from './fixtures/verdicts.ts';
import { SlotJudge } from './slot-judge.ts';
import { SlotVoiceModel } from './slot-voice-model.ts';
import { allocateSlots } from './slots.ts';
import { SyncVoiceModel } from './sync-voice-model.ts';

// Both sides of the shared memory in one thread, so that a test says when each of them works.

const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;
const sound = encodeMulaw(referenceNoise());

function open(maxStreams = 16) {
  const memory = allocateSlots(maxStreams);
  const worker = { gone: false };
  const judge = new SlotJudge(memory);
  return {
    worker,
    model: new SlotVoiceModel(memory, maxStreams, worker),
    /** Judges all there is. @returns how many windows */
    judgeAll() {
      let judged = 0;
      for (let more = true; more;) {
        const round = judge.round();
        judged += round.judged;
        more = round.more;
      }
      return judged;
    },
  };
}

void t.test('many streams get the verdicts that each gets alone', async (t) => {
  const { model, judgeAll } = open();
  // Nine streams, so that fours are mixed and one is left over; each begins somewhere else.
  const parts = Array.from({ length: 9 }, (_, i) => sound.subarray(i * 10_000, i * 10_000 + 16_000));
  const streams = parts.map(() => model.open(PCMU)!);
  const found = parts.map((): unknown[] => []);
  for (const stream of streams) stream.judging = true;
  for (let at = 0; at < 16_000; at += 160) {
    parts.forEach((part, i) => streams[i]!.push(part.subarray(at, at + 160)));
    if (at % 480 === 0) judgeAll();
    streams.forEach((stream, i) => found[i]!.push(...readVerdicts(stream)));
  }
  judgeAll();
  streams.forEach((stream, i) => found[i]!.push(...readVerdicts(stream)));
  const sync = new SyncVoiceModel();
  for (const [i, part] of parts.entries()) {
    const alone = sync.open(PCMU);
    alone.judging = true;
    alone.push(part);
    t.same(found[i], readVerdicts(alone));
  }
});

void t.test('judging begins with the last 96 ms and anew; after a short pause it goes on', async (t) => {
  const { model, judgeAll } = open();
  const alone = new SyncVoiceModel().open(PCMU);
  const stream = model.open(PCMU)!;
  /** The same for both: judged or not, so much audio. */
  let at = 0;
  for (const [judging, bytes] of [
    [false, 4000],
    [true, 2000],
    [false, 400],
    [true, 2000],
    [false, 3000],
    [true, 1000],
  ] as const) {
    for (const each of [alone, stream]) {
      each.judging = judging;
      pushPieces(each, sound.subarray(at, at + bytes));
    }
    judgeAll();
    t.same(readVerdicts(stream), readVerdicts(alone));
    t.equal(stream.behindMs, alone.behindMs);
    at += bytes;
  }
});

void t.test('nothing is judged that need not be', async (t) => {
  const { model, judgeAll } = open();
  const stream = model.open(PCMU)!;
  pushPieces(stream, sound.subarray(0, 8000));
  t.equal(judgeAll(), 0);
  stream.judging = true;
  t.equal(judgeAll(), 3);
  stream.close();
  stream.push(sound.subarray(8000, 9000));
  t.equal(judgeAll(), 0);
  t.equal(stream.behindMs, 0);
});

void t.test('a judge that is late judges the end of what it missed', async (t) => {
  const { model, judgeAll } = open();
  const stream = model.open(PCMU)!;
  stream.judging = true;
  pushPieces(stream, sound.subarray(0, 4096));
  t.equal(stream.behindMs, 512);
  t.equal(judgeAll(), 16, 'half a second is not late');
  readVerdicts(stream);
  pushPieces(stream, sound.subarray(4096, 24_096));
  t.equal(stream.behindMs, 2500);
  t.equal(judgeAll(), 3);
  t.same(
    readVerdicts(stream).map(({ endMs }) => endMs),
    [2948, 2980, 3012],
  );
  t.equal(stream.behindMs, 0);
});

void t.test('verdicts that nobody reads make room for newer ones', async (t) => {
  const { model, judgeAll } = open();
  const stream = model.open(PCMU)!;
  stream.judging = true;
  for (let at = 0; at < 16_000; at += 1600) {
    pushPieces(stream, sound.subarray(at, at + 1600));
    judgeAll();
  }
  const ends = readVerdicts(stream).map(({ endMs }) => endMs);
  t.equal(ends.length, 31);
  t.equal(ends.at(-1), 1984);
  t.same(readVerdicts(stream), []);
});

void t.test('a place is given again, and the new stream knows nothing of the old one', async (t) => {
  const { model, judgeAll, worker } = open(2);
  const first = model.open(PCMU)!;
  const second = model.open(PCMU)!;
  t.equal(model.open(PCMU), undefined, 'no place is left');
  first.judging = true;
  pushPieces(first, sound.subarray(0, 4000));
  judgeAll();
  first.close();
  first.close();
  const third = model.open(PCMU)!;
  t.same(readVerdicts(third), []);
  t.equal(model.open(PCMU), undefined, 'closing twice gives one place');
  third.judging = true;
  t.equal(third.behindMs, 0);
  t.equal(judgeAll(), 0);
  pushPieces(third, sound.subarray(0, 2000));
  judgeAll();
  const alone = new SyncVoiceModel().open(PCMU);
  alone.judging = true;
  alone.push(sound.subarray(0, 2000));
  t.same(readVerdicts(third), readVerdicts(alone));
  t.same(readVerdicts(first), [], 'the old one hears nothing of the new one');
  second.close();
  worker.gone = true;
  t.equal(model.open(PCMU), undefined, 'nobody judges any more');
});
