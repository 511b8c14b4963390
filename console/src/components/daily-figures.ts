/** An item of the daily statistics, as far as figures are made of it. */
export interface DailyItem {
  date: string;
  agent_id: string | null;
  sessions: number;
  connected_sessions: number;
  minutes: number;
  end_reasons: readonly { reason: string; sessions: number }[];
  reply_times: readonly ReplyBar[];
}

interface ReplyBar {
  up_to_ms: number | null;
  sessions: number;
}

/** What some calls were like. */
export interface Figures {
  sessions: number;
  minutes: number;
  /** Part of the calls in which somebody answered; null without calls. */
  answered: number | null;
  /** Median of the calls' mean reply times; null where none was measured. */
  replyMs: number | null;
}

export function figuresOf(items: readonly DailyItem[]): Figures {
  const sum = (of: (item: DailyItem) => number) => items.reduce((total, item) => total + of(item), 0);
  const sessions = sum((item) => item.sessions);
  return {
    sessions,
    minutes: sum(({ minutes }) => minutes),
    answered: sessions === 0 ? null : sum(({ connected_sessions }) => connected_sessions) / sessions,
    replyMs: medianReply(items),
  };
}

/** How calls ended, the most frequent first. */
export function endReasons(items: readonly DailyItem[]): { reason: string; sessions: number }[] {
  const counts = new Map<string, number>();
  for (const { end_reasons } of items)
    for (const { reason, sessions } of end_reasons) counts.set(reason, (counts.get(reason) ?? 0) + sessions);
  return [...counts]
    .map(([reason, sessions]) => ({ reason, sessions }))
    .sort((a, b) => b.sessions - a.sessions);
}

/** As far into the bar as calls of it are before the median; of the last bar no more than its beginning is known. */
function medianReply(items: readonly DailyItem[]): number | null {
  const bars = items[0]?.reply_times.map(({ up_to_ms }, at) => ({
    end: up_to_ms,
    count: items.reduce((sum, { reply_times }) => sum + (reply_times[at]?.sessions ?? 0), 0),
  }));
  const total = bars?.reduce((sum, { count }) => sum + count, 0) ?? 0;
  if (!bars || total === 0) return null;
  let before = 0;
  let start = 0;
  for (const { end, count } of bars) {
    if (before + count >= total / 2) {
      if (end === null) return start;
      return start + ((end - start) * (total / 2 - before)) / count;
    }
    before += count;
    start = end ?? start;
  }
  return start;
}
