import t from 'tap';
import { daysFrom, formatDay, today } from './days.ts';

void t.test('days are those of a time zone', async (t) => {
  const now = Date.parse('2026-02-28T23:30:00Z');
  t.same(
    ['UTC', 'Asia/Kolkata', 'Mars/Olympus'].map((zone) => today(zone, now)),
    ['2026-02-28', '2026-03-01', '2026-02-28'],
  );
  t.same(daysFrom('2026-02-27', '2026-03-01'), ['2026-02-27', '2026-02-28', '2026-03-01']);
  t.equal(formatDay('2026-03-01'), '1 Mar');
});
