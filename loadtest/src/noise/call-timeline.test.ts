import t from 'tap';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { MULAW_SILENCE } from '@parley/emulators/carriers/agent-playback';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { addCall, newFigures, voicedFrames, type CallTimeline, type Reply } from './call-timeline.ts';
import { falseStopsAMinute, roomMarkdown, roomRow, roomTable } from './noise-report.ts';
import { allLines, INTERRUPTIONS_A_CALL, roomTalk, spokenMs, taughtLines } from './room-talk.ts';
import type { RoomResult } from './run-room.ts';

/** Frames of a call in which the agent is heard in these stretches, ms. */
function heardIn(durationMs: number, ...stretches: [number, number][]): boolean[] {
  return Array.from({ length: durationMs / 20 }, (_, frame) =>
    stretches.some(([from, to]) => frame * 20 >= from && frame * 20 < to),
  );
}

function figuresOf(call: Partial<CallTimeline>) {
  const figures = newFigures();
  addCall(figures, {
    heard: [],
    received: [],
    clears: [],
    replies: [],
    questions: [],
    durationMs: 20_000,
    ...call,
  });
  return figures;
}

const REPLY: Reply = { fromMs: 1000, untilMs: 9000, nominalMs: 2000, outcome: 'complete', timed: true };

void t.test('an answer in quiet has its own length, and pauses between words are no silence', async (t) => {
  const figures = figuresOf({
    heard: heardIn(20_000, [1600, 2400], [2500, 3600]),
    received: [1580, 1700, 1800],
    replies: [REPLY],
  });
  t.match(figures, {
    calls: 1,
    callMs: 20_000,
    speakingMs: 2000,
    silentMs: 0,
    falseStops: 0,
    lengths: [1],
    turnEnds: [580],
    stops: [],
    givenUp: 0,
    unanswered: 0,
  });
});

void t.test(
  'an answer that is stopped and goes on is longer, silent in between, and was stopped falsely',
  async (t) => {
    const figures = figuresOf({
      heard: heardIn(20_000, [1600, 2600], [4600, 5600]),
      received: [1580, 4500],
      // The last two are of other answers.
      clears: [2590, 3500, 6000, 900],
      replies: [REPLY],
    });
    t.match(figures, { speakingMs: 4000, silentMs: 2000, falseStops: 2, lengths: [2] });
    t.equal(falseStopsAMinute(figures), 60);
  },
);

void t.test('the silence of an answer that never went on counts until it was given up', async (t) => {
  const figures = figuresOf({
    heard: heardIn(20_000, [1600, 2600]),
    received: [1580],
    clears: [2590],
    replies: [{ ...REPLY, untilMs: 10_600, outcome: 'given_up' }],
  });
  t.match(figures, { speakingMs: 9000, silentMs: 8000, falseStops: 1, givenUp: 1, lengths: [4.5] });
});

void t.test('an interruption is timed to its clear, and missed without one', async (t) => {
  const interrupted: Reply = {
    ...REPLY,
    untilMs: 3600,
    outcome: 'interrupted',
    timed: false,
    interruption: { fromMs: 3600, toMs: 5200 },
  };
  const call = { heard: heardIn(20_000, [1600, 3700]), received: [1580], replies: [interrupted] };
  t.match(figuresOf({ ...call, clears: [3661] }), { stops: [61], falseStops: 0, silentMs: 0, lengths: [] });
  t.match(figuresOf({ ...call, clears: [2000, 5400] }), { stops: [1800], falseStops: 1 });
  t.match(figuresOf({ ...call, clears: [5600] }), { stops: [Infinity], falseStops: 0 });
  t.same(figuresOf(call).turnEnds, [], 'a question over an agent that had not finished is no measure');
});

void t.test('a question without an answer took for ever', async (t) => {
  const figures = figuresOf({ replies: [{ ...REPLY, outcome: 'unanswered' }] });
  t.match(figures, { unanswered: 1, turnEnds: [Infinity], speakingMs: 0, lengths: [] });
});

void t.test(
  'a turn is cut off by agent audio in the midst of it, and not by the rest of what came before',
  async (t) => {
    const questions = [{ fromMs: 1000, toMs: 3000 }];
    t.match(figuresOf({ questions, received: [900, 1200, 3100] }), { questions: 1, cutOffs: 0 });
    t.match(figuresOf({ questions, received: [900, 2000, 2100] }), { questions: 1, cutOffs: 1 });
  },
);

void t.test('frames of what was heard are voice or not', async (t) => {
  const heard = new Uint8Array(480).fill(MULAW_SILENCE);
  heard.set(encodeMulaw(new Int16Array(160).fill(3000)), 160);
  t.same(voicedFrames(heard), [false, true, false]);
});

void t.test('the table leaves out the providers, and tells late runs', async (t) => {
  const result: RoomResult = {
    system: 'parley',
    noise: 'tv:-20',
    figures: {
      ...newFigures(),
      speakingMs: 4000,
      silentMs: 1000,
      falseStops: 1,
      lengths: [1, 2, 3],
      stops: [100, 200, Infinity, 300],
      turnEnds: [510, 520, Infinity],
      questions: 7,
      unanswered: 1,
    },
    refused: 0,
    run: { cpuSecondsPerCallMinute: 0.1234, latenessP99Ms: 9, valid: false, foreignCores: 0 },
  };
  const cells = [
    '25.0',
    '2.00 / 3.00',
    '20.0',
    '0',
    '4',
    '1 (25 %)',
    '200 / 300',
    '0 of 7',
    '20 / ∞',
    '1',
    '0.123',
    '9.0',
  ];
  t.same(roomRow(result, 500), ['parley', 'tv:-20 (late)', ...cells]);
  t.equal(roomTable([result], 500).split('\n').length, 2);
  t.match(
    roomMarkdown([result], 500),
    /^\| system \| noise .*\n\| --- .*\n\| parley \| tv:-20 \(late\) \| 25\.0 /,
  );
});

void t.test('what the ears are taught is what is asked, in every call', async (t) => {
  const steps = roomTalk(seededRandom(1));
  t.equal(steps.filter((step) => step.do === 'interrupt').length, INTERRUPTIONS_A_CALL);
  t.same(
    steps.flatMap((step) => (step.do === 'ask_with_pause' ? [step.first, step.then] : [step.line])),
    taughtLines(),
  );
  for (const step of steps) {
    if (step.do !== 'interrupt') continue;
    t.notOk(taughtLines().includes(step.words));
    t.ok(allLines().includes(step.words));
    t.ok(
      step.afterMs + 2500 < spokenMs(step.answer),
      'the agent has more to say than the interruption takes',
    );
  }
});
