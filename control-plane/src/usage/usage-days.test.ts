import t from 'tap';
import { ValidationError } from '@parley/shared/errors/app-error';
import { MAX_DAYS, usagePeriod } from './usage-days.ts';

const NOW = Date.parse('2026-11-22T20:00:00Z');
const hours = ({ starts }: { starts: number[] }) =>
  starts.slice(1).map((start, index) => (start - starts[index]!) / 3_600_000);

/** The day of an instant, as `Intl` says it. */
function dayOf(ms: number, format: Intl.DateTimeFormat): string {
  return format.format(ms);
}

void t.test('days are as long as they are', (t) => {
  for (const [zone, day, length, start] of [
    ['Europe/Berlin', '2026-03-29', 23, '2026-03-28T23:00:00.000Z'],
    ['Europe/Berlin', '2026-10-25', 25, '2026-10-24T22:00:00.000Z'],
    ['Australia/Lord_Howe', '2026-10-04', 23.5, '2026-10-03T13:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05', 24.5, '2026-04-04T13:00:00.000Z'],
    ['Asia/Kathmandu', '2026-05-01', 24, '2026-04-30T18:15:00.000Z'],
    ['Pacific/Chatham', '2026-09-27', 23, '2026-09-26T11:15:00.000Z'],
    // Clocks go from 24:00 to 01:00: midnight does not exist.
    ['Africa/Cairo', '2026-04-24', 23, '2026-04-23T22:00:00.000Z'],
    ['America/Santiago', '2026-09-06', 23, '2026-09-06T04:00:00.000Z'],
    ['Asia/Beirut', '2026-03-29', 23, '2026-03-28T22:00:00.000Z'],
    // The day that Samoa left out.
    ['Pacific/Apia', '2011-12-30', 0, '2011-12-30T10:00:00.000Z'],
  ] as const) {
    const period = usagePeriod({ from: day, to: day }, zone, NOW);
    t.same(hours(period), [length], `${day} in ${zone}`);
    t.equal(new Date(period.starts[0]!).toISOString(), start);
  }
  t.end();
});

void t.test('each quarter of an hour of a year is of the day that Intl says', (t) => {
  for (const zone of [
    'Africa/Cairo',
    'America/Santiago',
    'America/St_Johns',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Pacific/Chatham',
  ]) {
    const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone });
    const { days, starts } = usagePeriod({ from: '2026-01-01', to: '2026-12-31' }, zone, NOW);
    t.equal(days.length, 365);
    let wrong = 0;
    for (const [index, date] of days.entries()) {
      const [start, end] = [starts[index]!, starts[index + 1]!];
      t.equal(start % 900_000, 0);
      for (const at of [start, start + 900_000, end - 900_000, end - 1])
        if (dayOf(at, format) !== date) wrong++;
      if (dayOf(start - 1, format) === date) wrong++;
    }
    t.equal(wrong, 0, zone);
  }
  t.end();
});

void t.test('a period is this month until today, unless it says otherwise', (t) => {
  const of = (from: string | undefined, to: string | undefined, zone = 'UTC') => {
    const { days } = usagePeriod({ from, to }, zone, NOW);
    return [days[0], days.at(-1), days.length];
  };
  t.same(of(undefined, undefined), ['2026-11-01', '2026-11-22', 22]);
  t.same(of(undefined, undefined, 'Asia/Tokyo'), ['2026-11-01', '2026-11-23', 23], 'it is tomorrow there');
  t.same(of(undefined, '2026-02-10'), ['2026-02-01', '2026-02-10', 10]);
  t.same(of('2026-11-20', undefined), ['2026-11-20', '2026-11-22', 3]);
  t.same(of('2024-01-01', '2024-12-31'), ['2024-01-01', '2024-12-31', MAX_DAYS]);
  t.throws(() => of('2024-01-01', '2025-01-01'), ValidationError);
  t.throws(() => of('2026-11-23', undefined), ValidationError);
  t.throws(() => of('2026-02-02', '2026-02-01'), ValidationError);
  t.end();
});

void t.test('the period before it has as many days', (t) => {
  const period = usagePeriod({ from: '2026-03-30', to: '2026-03-31' }, 'Europe/Berlin', NOW);
  t.equal(
    new Date(period.previousStart).toISOString(),
    '2026-03-27T23:00:00.000Z',
    'one of them has 23 hours',
  );
  t.end();
});
