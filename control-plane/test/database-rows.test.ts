import { request } from 'node:http';
import { once } from 'node:events';
import t from 'tap';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { databaseCollection, databaseRowCollection, SORT_SLOTS } from '../src/databases/database-model.ts';
import type { DatabaseRecord } from '../src/databases/database-model.ts';
import { rowContent } from '../src/databases/row-values.ts';
import { newId } from '@parley/shared/ids/new-id';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Row {
  id: string;
  values: Record<string, unknown>;
  created_at: string;
}
interface Page {
  items: Row[];
  total: number;
  total_capped?: boolean;
  next_cursor: string | null;
}
interface Refused {
  detail: { loc: string[]; msg: string; type: string }[];
}

const plane = await openTestControlPlane();
t.teardown(() => plane[Symbol.asyncDispose]());
const { database } = plane.app.services;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
const rows = database.model(databaseRowCollection);

async function makeDatabase(columns: object[]): Promise<string> {
  const { body } = await plane.call<{ id: string }>('POST', `${P}/databases`, {
    body: { name: 'x', columns },
  });
  return body.id;
}
const stored = async (id: string) =>
  (await database.model(databaseCollection).findById(id).lean<DatabaseRecord>())!;
/** Straight into the database, one second after the other. */
async function fill(
  id: string,
  values: Record<string, unknown>[],
  from = Date.parse('2026-01-01T00:00:00Z'),
) {
  const record = await stored(id);
  const made = values.map((one, n) => {
    const _id = newId('dbr', from + n * 1000);
    const created_at = new Date(from + n * 1000);
    return {
      ...{ _id, org_id: record.org_id, project_id: record.project_id, database_id: id },
      ...{
        session_id: null,
        agent_id: null,
        source: 'api',
        subjects: [],
        created_at,
        updated_at: created_at,
      },
      ...rowContent(record, _id, one),
    };
  });
  await rows.collection.insertMany(made as never[]);
  await database.model(databaseCollection).updateOne({ _id: id }, { $inc: { row_count: made.length } });
  return made;
}
const query = (id: string, params: [string, string][]) =>
  plane.call<Page>('GET', `/v1/databases/${id}/rows?${new URLSearchParams(params).toString()}`);

/** Every page, by cursor. */
async function walk(id: string, params: [string, string][], limit: number): Promise<Row[]> {
  const all: Row[] = [];
  for (let cursor: string | null = null; ;) {
    const { status, body }: { status: number; body: Page } = await query(id, [
      ...params,
      ['limit', String(limit)],
      ...(cursor === null ? [] : ([['cursor', cursor]] as [string, string][])),
    ]);
    if (status !== 200) throw new Error(JSON.stringify(body));
    all.push(...body.items);
    cursor = body.next_cursor;
    if (cursor === null) {
      if (body.total !== all.length) throw new Error(`${body.total} were counted, ${all.length} given`);
      return all;
    }
  }
}

const COLUMNS = [
  { key: 'n', type: 'number' },
  { key: 'word', type: 'text' },
  { key: 'flag', type: 'boolean' },
  { key: 'at', type: 'datetime' },
  { key: 'stage', type: 'enum', options: ['new', 'won', 'lost'] },
  { key: 'tel', type: 'phone' },
  { key: 'raw', type: 'json' },
];
const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)]!;
const POOL: Record<string, readonly unknown[]> = {
  n: [null, -10, -1.5, 0, 1, 2, 10, 1e9],
  word: [null, 'a', 'A', 'ab', 'b.c', 'zebra', '(x)', '日本', 'a'.repeat(300)],
  flag: [null, true, false],
  at: [null, '2026-01-01T00:00:00.000Z', '2026-06-01T12:00:00.000Z', '1999-12-31T23:59:59.999Z'],
  stage: [null, 'new', 'won', 'lost'],
  tel: [null, '+14155550100', '+4930123456'],
  raw: [null, { a: 1 }],
};
type Compare = (value: unknown, wanted: unknown) => boolean;
const some =
  (test: Compare): Compare =>
  (value, wanted) =>
    value !== null && test(value, wanted);
const less: Compare = (a, b) =>
  typeof a === 'number'
    ? a < (b as number)
    : Buffer.compare(Buffer.from(a as string), Buffer.from(b as string)) < 0;
const MEANING: Record<string, Compare> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: some(less),
  gt: some((a, b) => less(b, a)),
  lte: some((a, b) => !less(b, a)),
  gte: some((a, b) => !less(a, b)),
  contains: some((a, b) => (a as string).toLowerCase().includes((b as string).toLowerCase())),
};
const OPS_OF: Record<string, string[]> = {
  n: ['eq', 'ne', 'lt', 'gt', 'lte', 'gte', 'empty'],
  word: ['eq', 'ne', 'lt', 'gt', 'lte', 'gte', 'contains', 'empty'],
  flag: ['eq', 'ne', 'empty'],
  at: ['eq', 'ne', 'lt', 'gt', 'lte', 'gte', 'empty'],
  stage: ['eq', 'ne', 'contains', 'empty'],
  tel: ['eq', 'contains', 'empty'],
  raw: ['empty'],
};

void t.test('filters, orders and pages are those of a plain table', async (t) => {
  const id = await makeDatabase(COLUMNS);
  const values = () => Object.fromEntries(Object.entries(POOL).map(([key, pool]) => [key, pick(pool)]));
  const made = await fill(id, Array.from({ length: 120 }, values));
  const table = made.map((row) => ({
    id: row._id as string,
    values: row.values,
    at: row.created_at.getTime(),
  }));
  for (let round = 0; round < 40; round++) {
    const filters = Array.from({ length: round % 4 }, () => {
      const key = pick(Object.keys(OPS_OF));
      const op = pick(OPS_OF[key]!);
      if (op === 'empty') {
        const wanted = pick(['true', 'false', '']);
        const text = wanted === '' ? `${key}:empty` : `${key}:empty:${wanted}`;
        return { text, fits: (row: Row['values']) => (row[key] === undefined) === (wanted !== 'false') };
      }
      const wanted = pick(POOL[key]!.filter((one) => one !== null && String(one).length < 200));
      return {
        text: `${key}:${op}:${String(wanted)}`,
        fits: (row: Row['values']) => MEANING[op]!(row[key] ?? null, wanted),
      };
    });
    const column = pick(['created_at', 'n', 'word', 'flag', 'at', 'stage', 'tel']);
    const sort = pick(['', '-']) + column;
    const direction = sort.startsWith('-') ? -1 : 1;
    const params: [string, string][] = [
      ['sort', sort],
      ...filters.map(({ text }): [string, string] => ['filter', text]),
    ];
    const found = await walk(id, params, pick([7, 50, 200]));
    const expected = table.filter((row) => filters.every(({ fits }) => fits(row.values)));
    const about = JSON.stringify(params);
    t.same(found.map((row) => row.id).sort(), expected.map((row) => row.id).sort(), about);
    const keys = found.map((row) =>
      column === 'created_at' ? Date.parse(row.created_at) : (row.values[column] ?? null),
    );
    const firstEmpty = keys.indexOf(null);
    if (firstEmpty >= 0)
      t.ok(
        keys.slice(firstEmpty).every((key) => key === null),
        `${about}: empty ones come last`,
      );
    const given = keys
      .filter((key) => key !== null)
      .map((key) => (typeof key === 'boolean' ? Number(key) : key));
    const ordered = given.every((key, n) => {
      const before = n === 0 ? key : given[n - 1]!;
      return direction === 1 ? !less(key, before) : !less(before, key);
    });
    t.ok(ordered, `${about}: ${JSON.stringify(given)}`);
  }
});

void t.test('what says nothing about this database is refused', async (t) => {
  const id = await makeDatabase(COLUMNS);
  const refused: [string, string, RegExp][] = [
    ['filter', 'n', /<column>:<op>:<value>/],
    ['filter', 'n:near:1', /<column>:<op>:<value>/],
    ['filter', 'none:eq:1', /must name a column/],
    ['filter', 'n:eq:', /must have a value/],
    ['filter', 'n:eq:one', /must be a number/],
    ['filter', 'n:contains:1', /type number/],
    ['filter', 'flag:gt:true', /has no order/],
    ['filter', 'raw:eq:1', /type json/],
    ['filter', 'raw:empty:maybe', /true or false/],
    ['filter', `word:eq:${'a'.repeat(200)}`, /less than 200/],
    ['filter', 'at:eq:2026', /must be a time/],
    ['sort', 'none', /a column of this database/],
    ['sort', 'raw', /type json/],
    ['cursor', 'x', /next_cursor/],
    ['cursor', Buffer.from('{"sort":"n"}').toString('base64url'), /next_cursor/],
  ];
  for (const [name, value, msg] of refused) {
    const answer = await query(id, [[name, value]]);
    t.equal(answer.status, 422, value);
    t.match((answer.body as unknown as Refused).detail, [{ loc: ['query', name], msg }], value);
  }
  const many = Array.from({ length: 11 }, (): [string, string] => ['filter', 'n:eq:1']);
  t.match(await query(id, many), { status: 422, body: { detail: [{ type: 'too_long' }] } });
  await fill(id, [{ n: 1 }, { n: 2 }]);
  const { body } = await query(id, [['limit', '1']]);
  t.match(
    await query(id, [
      ['cursor', body.next_cursor!],
      ['sort', 'n'],
    ]),
    { status: 422 },
  );
  t.match(
    await query(id, [
      ['offset', '1'],
      ['sort', 'n'],
    ]),
    { status: 422 },
  );
  t.equal((await query(id, [['offset', '1']])).body.items.length, 1);
});

void t.test('rows from before a column stand at the end, and any column sorts', async (t) => {
  const first = { key: 'first', type: 'number' };
  const id = await makeDatabase([first]);
  await fill(id, [{ first: 2 }, { first: 1 }]);
  const later = Array.from({ length: SORT_SLOTS + 2 }, (_, n) => ({ key: `later_${n}`, type: 'number' }));
  await plane.call('PATCH', `/v1/databases/${id}`, { body: { columns: [first, ...later] } });
  const last = later.at(-1)!.key;
  await fill(
    id,
    [
      { first: 3, later_0: 7, [last]: 1 },
      { first: 4, later_0: 6 },
    ],
    Date.now() + 120_000,
  );
  const order = async (sort: string, filter?: string) =>
    (
      await walk(
        id,
        [['sort', sort], ...(filter === undefined ? [] : ([['filter', filter]] as [string, string][]))],
        1,
      )
    ).map(({ values }) => values['first']);
  t.same(await order('later_0'), [4, 3, 1, 2]);
  t.same(await order('-later_0'), [3, 4, 1, 2]);
  t.same(await order(last), [3, 4, 1, 2], 'beyond the columns with an index');
  t.same(await order('first', 'later_0:empty'), [1, 2]);
  t.same(await order('first', 'later_0:ne:7'), [1, 2, 4]);
  t.same(await order('first', 'later_0:empty:false'), [3, 4]);
});

void t.test('an export has every row once, with formulas defused', async (t) => {
  const id = await makeDatabase([
    { key: 'word', type: 'text', label: '=Word' },
    { key: 'n', type: 'number', label: 'Number, exact' },
  ]);
  await fill(id, [
    ...Array.from({ length: 1201 }, (_, n) => ({ n })),
    { word: ' =1+1', n: -5 },
    { word: 'a"b' },
  ]);
  const path = `/v1/databases/${id}/export`;
  const csv = await fetch(`${plane.url}${path}?filter=n:lt:1`, {
    headers: { authorization: `Bearer ${plane.first.apiKey}` },
  });
  t.match(csv.headers.get('content-type'), 'text/csv');
  t.match(csv.headers.get('content-disposition'), /attachment; filename="dbs_.*\.csv"/);
  const bytes = Buffer.from(await csv.arrayBuffer());
  t.same([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
  t.equal(bytes.toString('utf8').slice(1), '\'=Word,"Number, exact"\r\n,0\r\n\' =1+1,-5\r\n');
  const json = await plane.call<{ items: Row[] }>('GET', `${path}?format=json`);
  t.equal(json.body.items.length, 1203);
  t.equal(new Set(json.body.items.map((row) => row.id)).size, 1203);
  t.match(json.body.items.at(-1), { values: { word: 'a"b', n: null } });
  t.same((await plane.call('GET', `${path}?format=json&filter=n:gt:99999`)).body, { items: [] });
  t.match(await plane.call('GET', `${path}?filter=none:eq:1`), { status: 422 });
  t.equal(
    await database.model(auditCollection).countDocuments({ action: 'database.exported', target: id }),
    3,
  );
});

void t.test('an export is read no faster than its client reads, and ends with it', async (t) => {
  const id = await makeDatabase([{ key: 'word', type: 'text' }]);
  await fill(
    id,
    Array.from({ length: 6000 }, () => ({ word: 'x'.repeat(2000) })),
  );
  let pages = 0;
  const { find } = rows;
  rows.find = ((...args: Parameters<typeof find>) => {
    pages++;
    return find.apply(rows, args);
  }) as typeof find;
  t.teardown(() => (rows.find = find));
  const client = request(`${plane.url}/v1/databases/${id}/export`, {
    headers: { authorization: `Bearer ${plane.first.apiKey}` },
  });
  client.end();
  const [answer] = (await once(client, 'response')) as [import('node:http').IncomingMessage];
  await once(answer, 'readable');
  answer.read(1);
  const settled = await quiet(() => pages);
  t.ok(settled < 12, `${settled} of 12 pages were read while nobody took them`);
  client.destroy();
  // A page that was asked for before it went may still come.
  const atTheEnd = await quiet(() => pages);
  t.ok(atTheEnd < 12, `${atTheEnd} of 12 after the client had gone`);
});

/** Once it has not changed for a while. */
async function quiet(count: () => number): Promise<number> {
  for (let before = -1; ;) {
    if (count() === before) return before;
    before = count();
    for (let n = 0; n < 20; n++) await plane.call('GET', '/v1/me');
  }
}
