import t from 'tap';
import { callingWindowsSchema, isOpen, nextOpening, type CallingWindows } from './calling-windows.ts';

type Day = CallingWindows['windows'][number]['days'][number];
const ALL: Day[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const WEEKDAYS: Day[] = ['mon', 'tue', 'wed', 'thu', 'fri'];

function open(timezone: string, start: string, end: string, days: Day[] = ALL): CallingWindows {
  return { timezone, use_contact_timezone: false, windows: [{ days, start, end }] };
}

void t.test('windows have bounds', (t) => {
  const window = { days: ['mon'], start: '09:00', end: '18:00' };
  const valid = { timezone: 'Asia/Kolkata', windows: [window] };
  t.match(callingWindowsSchema.parse(valid), { use_contact_timezone: false });
  for (const [problem, value] of Object.entries({
    'no window': { ...valid, windows: [] },
    'too many windows': { ...valid, windows: Array.from({ length: 22 }, () => window) },
    'no timezone': { windows: [window] },
    'a timezone that is none': { ...valid, timezone: 'Europe/Atlantis' },
    'over midnight': { ...valid, windows: [{ ...window, start: '22:00', end: '06:00' }] },
    'no length': { ...valid, windows: [{ ...window, start: '09:00', end: '09:00' }] },
    'a start at the end of the day': { ...valid, windows: [{ ...window, start: '24:00' }] },
    'a time that is none': { ...valid, windows: [{ ...window, end: '24:30' }] },
    'no day': { ...valid, windows: [{ ...window, days: [] }] },
    'a day that is none': { ...valid, windows: [{ ...window, days: ['day'] }] },
  }))
    t.notOk(callingWindowsSchema.safeParse(value).success, problem);
  t.end();
});

void t.test('each day of the week is its own', (t) => {
  for (const [nth, day] of ALL.entries()) {
    // From a Monday on.
    const windows = open('UTC', '09:00', '18:00', [day]);
    t.same(
      ALL.map((_, at) => isOpen(windows, Date.UTC(2026, 5, 1 + at, 12))),
      ALL.map((_, at) => at === nth),
      day,
    );
  }
  t.end();
});

void t.test('a window is open from its start until before its end, on its days', (t) => {
  for (const [timezone, at, expected] of [
    // 2026-06-01 is a Monday.
    ['UTC', '2026-06-01T08:59:59.999Z', false],
    ['UTC', '2026-06-01T09:00:00.000Z', true],
    ['UTC', '2026-06-01T17:59:59.999Z', true],
    ['UTC', '2026-06-01T18:00:00.000Z', false],
    ['UTC', '2026-06-05T12:00:00.000Z', true],
    ['UTC', '2026-06-06T12:00:00.000Z', false],
    ['UTC', '2026-06-07T12:00:00.000Z', false],
    // Zones of half hours and quarters of them.
    ['Asia/Kolkata', '2026-06-01T03:29:59.999Z', false],
    ['Asia/Kolkata', '2026-06-01T03:30:00.000Z', true],
    ['Asia/Kolkata', '2026-06-01T12:29:59.999Z', true],
    ['Asia/Kolkata', '2026-06-01T12:30:00.000Z', false],
    ['Asia/Kathmandu', '2026-06-01T03:14:59.999Z', false],
    ['Asia/Kathmandu', '2026-06-01T03:15:00.000Z', true],
    ['America/St_Johns', '2026-06-01T11:30:00.000Z', true],
    // The day is the zone's: it is Monday there, and Sunday in UTC; and the other way round.
    ['Pacific/Auckland', '2026-05-31T21:00:00.000Z', true],
    ['Pacific/Auckland', '2026-06-05T21:00:00.000Z', false],
    ['America/Los_Angeles', '2026-06-06T00:30:00.000Z', true],
    ['America/Los_Angeles', '2026-06-01T00:30:00.000Z', false],
  ] as const)
    t.equal(
      isOpen(open(timezone, '09:00', '18:00', WEEKDAYS), Date.parse(at)),
      expected,
      `${at} in ${timezone}`,
    );
  t.end();
});

void t.test('24:00 ends a day', (t) => {
  const windows = open('Europe/Berlin', '20:00', '24:00', ['fri']);
  t.ok(isOpen(windows, Date.parse('2026-06-05T21:59:59.999Z')));
  t.notOk(isOpen(windows, Date.parse('2026-06-05T22:00:00.000Z')));
  const always = open('Europe/Berlin', '00:00', '24:00');
  for (let hour = 0; hour < 24 * 7; hour++)
    if (!isOpen(always, Date.parse('2026-03-26T00:00:00Z') + hour * 3_600_000)) t.fail(`hour ${hour}`);
  t.end();
});

void t.test('a contact is called by its own clock, where the windows say so', (t) => {
  const windows = open('UTC', '09:00', '10:00');
  const at = Date.parse('2026-06-01T03:30:00Z');
  const contact = { contactTimezone: 'Asia/Kolkata' };
  t.notOk(isOpen(windows, at, contact));
  t.ok(isOpen({ ...windows, use_contact_timezone: true }, at, contact));
  t.notOk(isOpen({ ...windows, use_contact_timezone: true }, at, { contactTimezone: null }));
  t.equal(
    nextOpening({ ...windows, use_contact_timezone: true }, at + 7_200_000, contact),
    Date.parse('2026-06-02T03:30:00Z'),
  );
  t.end();
});

void t.test('a closed date is the day of the zone', (t) => {
  const windows = open('Asia/Kolkata', '00:00', '24:00');
  const closed = { closedDates: ['2026-08-15'] };
  t.ok(isOpen(windows, Date.parse('2026-08-14T18:29:59Z'), closed));
  t.notOk(isOpen(windows, Date.parse('2026-08-14T18:30:00Z'), closed));
  t.notOk(isOpen(windows, Date.parse('2026-08-15T18:29:59Z'), closed));
  t.equal(
    nextOpening(windows, Date.parse('2026-08-15T06:00:00Z'), closed),
    Date.parse('2026-08-15T18:30:00Z'),
  );
  t.end();
});

void t.test('the next opening', (t) => {
  const office = open('Europe/Berlin', '09:00', '18:00', WEEKDAYS);
  const two: CallingWindows = {
    ...office,
    windows: [
      { days: ['wed'], start: '14:00', end: '16:00' },
      { days: ['wed', 'mon'], start: '10:00', end: '12:00' },
    ],
  };
  const year = Array.from({ length: 60 }, (_, week) =>
    new Date(Date.parse('2026-06-01T00:00:00Z') + week * 7 * 86_400_000).toISOString().slice(0, 10),
  );
  for (const [what, windows, at, expected, closedDates] of [
    ['it is open', office, '2026-06-01T10:00:00.001Z', '2026-06-01T10:00:00.001Z'],
    ['later today', office, '2026-06-01T03:00:00Z', '2026-06-01T07:00:00Z'],
    ['tomorrow', office, '2026-06-01T16:00:00Z', '2026-06-02T07:00:00Z'],
    ['after the weekend', office, '2026-06-05T16:00:00Z', '2026-06-08T07:00:00Z'],
    [
      'after the weekend and a holiday',
      office,
      '2026-06-05T16:00:00Z',
      '2026-06-09T07:00:00Z',
      ['2026-06-08'],
    ],
    ['windows in any order', two, '2026-06-03T00:00:00Z', '2026-06-03T08:00:00Z'],
    ['the second of the day', two, '2026-06-03T10:00:00Z', '2026-06-03T12:00:00Z'],
    ['over the year', office, '2026-12-31T20:00:00Z', '2027-01-04T08:00:00Z', ['2027-01-01']],
    ['over the change of clocks', office, '2026-10-23T17:00:00Z', '2026-10-26T08:00:00Z'],
    ['in sixty weeks', open('UTC', '09:00', '10:00', ['mon']), '2026-06-01T00:00:00Z', null, year],
  ] as [string, CallingWindows, string, string | null, string[]?][]) {
    const found = nextOpening(windows, Date.parse(at), { closedDates });
    t.equal(found, expected === null ? null : Date.parse(expected), what);
  }
  t.end();
});

void t.test('clocks that are changed, by the clock on the wall', (t) => {
  for (const [what, [start, end], at, expected] of [
    // Berlin leaves 02:00 to 03:00 out on 2026-03-29, at 01:00Z.
    ['a start left out', ['02:30', '04:00'], '2026-03-29T00:00:00Z', '2026-03-29T01:00:00Z'],
    ['a window left out', ['02:00', '03:00'], '2026-03-29T00:30:00Z', '2026-03-30T00:00:00Z'],
    // It repeats 02:00 to 03:00 on 2026-10-25, at 01:00Z.
    ['the first of two', ['02:15', '02:45'], '2026-10-25T00:00:00Z', '2026-10-25T00:15:00Z'],
    ['the second of two', ['02:15', '02:45'], '2026-10-25T00:45:00Z', '2026-10-25T01:15:00Z'],
    ['into what is repeated', ['01:30', '02:30'], '2026-10-25T00:30:00Z', '2026-10-25T01:00:00Z'],
  ] as const)
    t.equal(
      nextOpening(open('Europe/Berlin', start, end), Date.parse(at)),
      Date.parse(expected),
      `${what} in Berlin`,
    );
  for (const [zone, [start, end], at, expected] of [
    // Clocks go from 24:00 to 01:00: the day begins within the window.
    ['Africa/Cairo', ['00:30', '02:00'], '2026-04-23T21:30:00Z', '2026-04-23T22:00:00Z'],
    // By half an hour, from 02:00 back to 01:30.
    ['Australia/Lord_Howe', ['01:40', '01:50'], '2026-04-04T14:50:00Z', '2026-04-04T15:10:00Z'],
    // From 24:00 back to 23:00 of the same day.
    ['America/Santiago', ['23:00', '24:00'], '2026-04-05T02:30:00Z', '2026-04-05T02:30:00Z'],
  ] as const)
    t.equal(nextOpening(open(zone, start, end), Date.parse(at)), Date.parse(expected), zone);
  t.end();
});

void t.test('no opening is missed, and none is told that is none', (t) => {
  const step = 900_000;
  for (const [zone, from] of [
    ['Europe/Berlin', '2026-03-28T00:00:00Z'],
    ['Europe/Berlin', '2026-10-24T00:00:00Z'],
    ['Africa/Cairo', '2026-04-22T20:00:00Z'],
    ['America/Santiago', '2026-04-04T00:00:00Z'],
    ['Australia/Lord_Howe', '2026-10-03T00:00:00Z'],
    ['America/St_Johns', '2026-11-01T00:00:00Z'],
  ] as const) {
    const windows: CallingWindows = {
      timezone: zone,
      use_contact_timezone: false,
      windows: [
        { days: ['sun', 'thu', 'fri'], start: '00:30', end: '01:45' },
        { days: ALL, start: '02:15', end: '02:45' },
        { days: ALL, start: '23:15', end: '24:00' },
      ],
    };
    const start = Date.parse(from);
    const instants = Array.from({ length: (3 * 86_400_000) / step }, (_, index) => start + index * step);
    let next: number | null = null;
    let wrong = 0;
    // From the last to the first: what is open next is the nearest that was seen.
    for (const at of instants.toReversed()) {
      if (isOpen(windows, at)) next = at;
      if (next !== null && nextOpening(windows, at) !== next) wrong++;
    }
    t.equal(wrong, 0, `${zone} from ${from}`);
  }
  t.end();
});
