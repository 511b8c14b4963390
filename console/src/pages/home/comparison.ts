import type { ReplyLatency } from '../call/reply-latency.ts';

/** Figures of some calls, as the API tells them, as far as they are compared. */
export interface CallFigures {
  sessions: number;
  minutes: number;
  answer_rate: number | null;
  end_reasons: readonly { reason: string; sessions: number }[];
  reply_latency: {
    replies: number;
    median_ms: number | null;
    turn_end_median_ms: number | null;
    llm_median_ms: number | null;
    voice_median_ms: number | null;
  };
}

/** Ways to end that are shown; the rest is summed up. */
const REASONS = 5;

/** Parts of some calls that ended for a reason; null where there was no call. */
export interface ReasonShares {
  reason: string;
  today: number | null;
  week: number | null;
}

/** How calls ended, today and in the days before, the most frequent first. */
export function reasonShares(today: CallFigures, week: CallFigures): ReasonShares[] {
  const counts = new Map<string, { today: number; week: number }>();
  for (const [when, { end_reasons }] of [['today', today] as const, ['week', week] as const])
    for (const { reason, sessions } of end_reasons) {
      const known = counts.get(reason) ?? { today: 0, week: 0 };
      counts.set(reason, { ...known, [when]: sessions });
    }
  const sorted = [...counts].sort(([, a], [, b]) => b.week + b.today - (a.week + a.today));
  const rest = sorted.slice(REASONS).map(([, count]) => count);
  const shown = sorted.slice(0, REASONS);
  if (rest.length > 0)
    shown.push([
      'in_other_ways',
      {
        today: rest.reduce((sum, count) => sum + count.today, 0),
        week: rest.reduce((sum, count) => sum + count.week, 0),
      },
    ]);
  const share = (count: number, { sessions }: CallFigures) => (sessions === 0 ? null : count / sessions);
  return shown.map(([reason, count]) => ({
    reason,
    today: share(count.today, today),
    week: share(count.week, week),
  }));
}

/** The median reply with the medians of its parts, as the bar of a reply takes it; null where none was measured. */
export function medianReply({ reply_latency: latency }: CallFigures): ReplyLatency | null {
  if (latency.median_ms === null) return null;
  const parts = (
    [
      ['turn_end', latency.turn_end_median_ms],
      ['llm', latency.llm_median_ms],
      ['voice', latency.voice_median_ms],
    ] as const
  ).flatMap(([part, ms]) => (ms === null ? [] : [{ part, ms }]));
  return { total: latency.median_ms, parts, saved: 0 };
}
