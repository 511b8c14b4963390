import t from 'tap';
import { CALL_COLUMNS, readColumns } from './call-columns.ts';
import { countFilters, parseDuration, readCallFilter, toCallQuery } from './call-filter.ts';
import { CALLS_PER_PAGE, hasGap, joinCalls, nextCallCursor } from './call-pages.ts';
import { startOfDay } from './day-start.ts';
import { loadViews, removeView, saveView } from './saved-views.ts';

const NOON = Date.parse('2026-06-15T12:34:56.789Z');

void t.test('a filter is read from the address, and what is not understood is left out', (t) => {
  const filter = readCallFilter({
    ...{ status: ['ended', 'failed', 'ended'], direction: 'web', q: 1415, agent_version: '7', period: '7d' },
    ...{ min_duration: 30, max_duration: -1, after: 'yesterday', before: '2026-01-01T01:00:00+01:00' },
    ...{ sort: 'cost', unknown: 'x', outcome: [], language: [{}], agent_id: '' },
  });
  t.same(filter, {
    ...{ status: ['ended', 'failed'], direction: ['web'], q: '1415', agent_version: 7, period: '7d' },
    ...{ min_duration: 30, before: '2026-01-01T00:00:00.000Z' },
  });
  t.same(readCallFilter(JSON.parse(JSON.stringify(filter)) as Record<string, unknown>), filter, 'and again');
  t.equal(countFilters(readCallFilter({ status: 'ended', sort: 'created_at' })), 1);
  t.end();
});

void t.test('calls are narrowed to those in which words were said', (t) => {
  const query = (transcript: string) => toCallQuery(readCallFilter({ transcript }), NOON, 'UTC');
  t.same(query(' refund  order '), { transcript: 'refund order' });
  t.same(query('…'), {}, 'without letters there is nothing to look for');
  t.equal(query('a '.repeat(40)).transcript?.split(' ').length, 16, 'no more words than the API takes');
  t.end();
});

void t.test('a filter becomes a query that the API takes, also while it is being typed', (t) => {
  t.same(toCallQuery({}, NOON, 'UTC'), {});
  t.same(
    toCallQuery({ q: '+', min_duration: 60, max_duration: 5, status: ['ended'] }, NOON, 'UTC'),
    { min_duration_seconds: 60, status: ['ended'] },
    'nothing that would be refused',
  );
  t.same(
    toCallQuery(
      { phone_number: ['+1415', '+14155550100'], campaign_id: ['cmp'], status: ['new'], outcome: ['x'] },
      NOON,
      'UTC',
    ),
    { phone_number: ['+14155550100'], outcome: ['x'] },
    'nor what is half a number',
  );
  t.same(toCallQuery({ period: '24h', after: '2026-01-01T00:00:00.000Z' }, NOON, 'UTC'), {
    created_after: '2026-06-14T12:34:00.000Z',
  });
  t.same(
    toCallQuery({ after: '2026-02-01T00:00:00.000Z', before: '2026-01-01T00:00:00.000Z' }, NOON, 'UTC'),
    {
      created_after: '2026-02-01T00:00:00.000Z',
    },
  );
  t.end();
});

void t.test('today begins at midnight of the zone, also when the clock was changed since', (t) => {
  const at = (time: string, zone: string) => new Date(startOfDay(Date.parse(time), zone)).toISOString();
  t.equal(at('2026-06-15T12:34:56.789Z', 'UTC'), '2026-06-15T00:00:00.000Z');
  t.equal(at('2026-06-15T12:34:56.789Z', 'Asia/Kolkata'), '2026-06-14T18:30:00.000Z');
  t.equal(at('2026-03-29T12:00:00.000Z', 'Europe/Berlin'), '2026-03-28T23:00:00.000Z', 'an hour is missing');
  t.equal(at('2026-10-25T12:00:00.000Z', 'Europe/Berlin'), '2026-10-24T22:00:00.000Z', 'an hour comes twice');
  t.equal(at('2026-06-15T12:00:00.000Z', 'Mars/Base'), '2026-06-15T00:00:00.000Z');
  t.end();
});

void t.test('durations are read as people write them', (t) => {
  for (const [text, seconds] of [
    ['90', 90],
    ['1:30', 90],
    ['1:00:05', 3605],
    ['2m', 120],
    ['1h', 3600],
    ['1m30s', 90],
    [' 5 min ', 300],
    ['', undefined],
    ['soon', undefined],
    ['-1', undefined],
  ] as const)
    t.equal(parseDuration(text), seconds, text);
  t.end();
});

const call = (n: number, created = n) => ({
  session_id: `s${n}`,
  created_at: new Date(created).toISOString(),
});
const page = (from: number) => ({
  items: Array.from({ length: CALLS_PER_PAGE }, (_, at) => call(from - at)),
});

void t.test('pages follow one another by time, and by number in other orders', (t) => {
  const first = page(1_000_000);
  t.same(nextCallCursor([first], {}), { created_before: new Date(1_000_000 - 99 + 1).toISOString() });
  t.same(nextCallCursor([first, first], { sort: 'duration_seconds' }), { offset: 200 });
  t.equal(nextCallCursor([{ items: [call(1)] }], {}), undefined);
  t.equal(nextCallCursor([], {}), undefined);
  const crowd = { items: Array.from({ length: CALLS_PER_PAGE }, (_, n) => call(n, 5)) };
  t.match(nextCallCursor([crowd], {}), { offset: 100 });
  t.end();
});

void t.test('new calls come before the others, each call is there once, as it was read last', (t) => {
  const old = [{ items: [call(3), call(2)] }, { items: [call(2), call(1)] }];
  const newest = [{ ...call(4) }, { ...call(3), status: 'ended' }];
  const joined = joinCalls<{ session_id: string; created_at: string; status?: string }>(old, newest);
  t.same(
    joined.map(({ session_id }) => session_id),
    ['s4', 's3', 's2', 's1'],
  );
  t.equal(joined[1]?.status, 'ended');
  t.equal(hasGap([page(1000)], page(1050).items), false);
  t.equal(hasGap([page(1000)], page(2000).items), true);
  t.equal(hasGap([], page(2000).items), false);
  t.end();
});

void t.test('views are kept in the browser, whatever else lies there', (t) => {
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
  const view = { name: ' <script>', filter: { status: ['failed'] }, columns: readColumns(['id']) };
  saveView(store, 'prj_1', view);
  saveView(store, 'prj_1', { ...view, name: 'b' });
  t.same(loadViews(store, 'prj_2'), []);
  t.same(loadViews(store, 'prj_1')[0], {
    name: '<script>',
    filter: { status: ['failed'] },
    columns: ['time', 'id'],
  });
  t.same(
    removeView(store, 'prj_1', 'b').map(({ name }) => name),
    ['<script>'],
  );
  for (const junk of ['{', '5', '[1,{"name":1},{"name":"a"},null]']) {
    kept.set('parley.calls.views.prj_1', junk);
    t.same(loadViews(store, 'prj_1'), []);
  }
  const full = {
    ...store,
    setItem: () => {
      throw new Error('quota');
    },
  };
  t.equal(saveView(full, 'prj_3', view).length, 1);
  t.ok(readColumns(null).length < CALL_COLUMNS.length);
  t.end();
});
