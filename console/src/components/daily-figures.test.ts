import t from 'tap';
import { endReasons, figuresOf } from './daily-figures.ts';
import type { DailyItem } from './daily-figures.ts';
import { daysFrom, formatDay, today } from './days.ts';

const day = (sessions: number, connected: number, replies: readonly number[]): DailyItem => ({
  date: '2026-01-31',
  agent_id: null,
  sessions,
  connected_sessions: connected,
  minutes: sessions * 2,
  end_reasons: [
    { reason: 'no_answer', sessions: sessions - connected },
    { reason: 'caller_hangup', sessions: connected },
  ],
  reply_times: [500, 1000, null].map((up_to_ms, at) => ({ up_to_ms, sessions: replies[at] ?? 0 })),
});

void t.test('figures of several days and agents are those of their calls together', async (t) => {
  t.same(figuresOf([]), { sessions: 0, minutes: 0, answered: null, replyMs: null });
  t.same(figuresOf([day(4, 3, [])]), { sessions: 4, minutes: 8, answered: 0.75, replyMs: null });
  t.same(figuresOf([day(1, 1, [1]), day(3, 1, [0, 3])]), {
    sessions: 4,
    minutes: 8,
    answered: 0.5,
    replyMs: 500 + 500 / 3,
  });
  t.equal(figuresOf([day(9, 9, [1, 1, 7])]).replyMs, 1000, 'of the last bar its beginning is known');
  t.same(endReasons([day(5, 1, []), day(2, 2, [])]), [
    { reason: 'no_answer', sessions: 4 },
    { reason: 'caller_hangup', sessions: 3 },
  ]);
});

void t.test('days are those of a time zone', async (t) => {
  const now = Date.parse('2026-02-28T23:30:00Z');
  t.same(
    ['UTC', 'Asia/Kolkata', 'Mars/Olympus'].map((zone) => today(zone, now)),
    ['2026-02-28', '2026-03-01', '2026-02-28'],
  );
  t.same(daysFrom('2026-02-27', '2026-03-01'), ['2026-02-27', '2026-02-28', '2026-03-01']);
  t.equal(formatDay('2026-03-01'), '1 Mar');
});
