import t from 'tap';
import { proofDeadline } from './complaint-deadline.ts';

void t.test('a proof is due at the end of the fifth business day in India', (t) => {
  const cases: [heard: string, due: string, about: string][] = [
    // 2026-11-23 is a Monday.
    ['2026-11-23T10:00:00+05:30', '2026-12-01T00:00:00+05:30', 'Monday: the Monday after'],
    ['2026-11-24T10:00:00+05:30', '2026-12-02T00:00:00+05:30', 'Tuesday: the Tuesday after'],
    ['2026-11-27T23:59:59+05:30', '2026-12-05T00:00:00+05:30', 'late on Friday: the Friday after'],
    ['2026-11-28T00:00:00+05:30', '2026-12-05T00:00:00+05:30', 'Saturday counts from Monday on'],
    ['2026-11-29T12:00:00+05:30', '2026-12-05T00:00:00+05:30', 'Sunday, too'],
    // 18:31 UTC on Sunday is Monday in India.
    ['2026-11-29T18:31:00Z', '2026-12-08T00:00:00+05:30', "it is India's day that counts"],
    ['2026-12-30T09:00:00+05:30', '2027-01-07T00:00:00+05:30', 'over the end of a year'],
  ];
  for (const [heard, due, about] of cases)
    t.equal(proofDeadline(Date.parse(heard)).toISOString(), new Date(due).toISOString(), about);
  t.end();
});
