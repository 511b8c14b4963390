import t from 'tap';
import { medianReply, reasonShares } from './comparison.ts';
import type { CallFigures } from './comparison.ts';

const figures = (ends: Record<string, number>, more: Partial<CallFigures> = {}): CallFigures => ({
  sessions: Object.values(ends).reduce((sum, count) => sum + count, 0),
  ...{ minutes: 0, answer_rate: null },
  end_reasons: Object.entries(ends).map(([reason, sessions]) => ({ reason, sessions })),
  reply_latency: {
    ...{ replies: 0, median_ms: null },
    ...{ turn_end_median_ms: null, llm_median_ms: null, voice_median_ms: null },
  },
  ...more,
});

void t.test('ways to end are shares of the calls of their time, the most frequent first', async (t) => {
  t.same(reasonShares(figures({}), figures({})), []);
  t.same(reasonShares(figures({}), figures({ no_answer: 1, caller_hangup: 3 })), [
    { reason: 'caller_hangup', today: null, week: 0.75 },
    { reason: 'no_answer', today: null, week: 0.25 },
  ]);
  const many = figures({ a: 60, b: 50, c: 40, d: 30, e: 12, f: 5, g: 3 });
  const shares = reasonShares(figures({ g: 1, a: 3 }), many);
  t.same(
    shares.map(({ reason }) => reason),
    ['a', 'b', 'c', 'd', 'e', 'in_other_ways'],
  );
  t.same(shares.at(-1), { reason: 'in_other_ways', today: 0.25, week: 0.04 });
});

void t.test('a median reply has the parts that were measured', async (t) => {
  t.equal(medianReply(figures({})), null);
  const reply_latency = {
    ...{ replies: 9, median_ms: 800 },
    ...{ turn_end_median_ms: 300, llm_median_ms: null, voice_median_ms: 150 },
  };
  t.same(medianReply(figures({}, { reply_latency })), {
    total: 800,
    parts: [
      { part: 'turn_end', ms: 300 },
      { part: 'voice', ms: 150 },
    ],
    saved: 0,
  });
});
