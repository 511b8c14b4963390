import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { nthId } from '../src/composition/sample.ts';
import { databaseCollection, databaseRowCollection } from '../src/databases/database-model.ts';
import type { DatabaseRecord } from '../src/databases/database-model.ts';
import { rowContent } from '../src/databases/row-values.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

/** `npm run test:long` measures at a million; otherwise the same requests are tried on a few. */
const MOST = Number(process.env['DATABASE_TEST_ROWS'] ?? 1_000_000);
const SIZES = LONG ? [1000, 100_000, 1_000_000].filter((size) => size <= MOST) : [150, 600];
const ROUNDS = LONG ? 40 : 2;
/** How many times the 95th percentile of few rows that of many may be. */
const MOST_TIMES = 5;
const MOST_MEMORY_MB = 50;
const BATCH = 2000;
t.setTimeout(3_600_000);

const plane = await openTestControlPlane();
t.teardown(() => plane[Symbol.asyncDispose]());
const { database } = plane.app.services;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
const STAGES = ['new', 'won', 'lost'];

/** A database of so many rows, straight into the store. */
async function filled(count: number): Promise<string> {
  const columns = [
    { key: 'score', type: 'number' },
    { key: 'name', type: 'text' },
    { key: 'stage', type: 'enum', options: STAGES },
    { key: 'at', type: 'datetime' },
  ];
  const made = await plane.call<{ id: string }>('POST', `${P}/databases`, { body: { name: 'x', columns } });
  const record = (await database.model(databaseCollection).findById(made.body.id).lean<DatabaseRecord>())!;
  const rows = database.model(databaseRowCollection).collection;
  for (let from = 0; from < count; from += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => {
      const n = from + index;
      const _id = nthId('dbr', count * 2 + n);
      const created_at = new Date(Date.parse('2020-01-01T00:00:00Z') + n * 60_000);
      const values = {
        score: (n * 7919) % 1000,
        name: `Person ${(n * 104729) % count}`,
        stage: STAGES[n % 3],
        at: created_at.toISOString(),
      };
      return {
        ...{ _id, org_id: record.org_id, project_id: record.project_id, database_id: record._id },
        ...{ session_id: null, agent_id: null, source: 'api', subjects: [] },
        ...{ created_at, updated_at: created_at },
        ...rowContent(record, _id, values),
      };
    });
    await rows.insertMany(batch as never[], { ordered: false });
  }
  await database.model(databaseCollection).updateOne({ _id: record._id }, { $set: { row_count: count } });
  return record._id;
}

/** With how many rows each leaves, of so many. What one begins with is its kind: page, filter or sort. */
const REQUESTS: Record<string, [query: string, left: (count: number) => number]> = {
  page: ['limit=50', (count) => count],
  'filter, a third fits': ['filter=stage:eq:won', (count) => Math.floor((count + 1) / 3)],
  'filter, all but a third': ['filter=stage:ne:won', (count) => count - Math.floor((count + 1) / 3)],
  'filter, one row': ['filter=name:eq:Person%2077', () => 1],
  'filter, half a range': ['filter=score:gte:500', (count) => scores(count, (score) => score >= 500)],
  'filter, narrow range': ['filter=score:lt:3', (count) => scores(count, (score) => score < 3)],
  'filter, none is empty': ['filter=score:empty', () => 0],
  'filter, two': [
    'filter=stage:eq:won&filter=score:gte:500',
    (count) => scores(count, (score, n) => n % 3 === 1 && score >= 500),
  ],
  'filter, wide and narrow': [
    'filter=stage:eq:won&filter=score:lt:3',
    (count) => scores(count, (score, n) => n % 3 === 1 && score < 3),
  ],
  'sort, by number': ['sort=-score', (count) => count],
  'sort, by text': ['sort=name', (count) => count],
  'sort, and filter': ['sort=-score&filter=stage:eq:lost', (count) => Math.floor(count / 3)],
  'sort, by what is filtered': [
    'sort=at&filter=at:gte:2020-01-01T02:00:00Z',
    (count) => Math.max(0, count - 120),
  ],
};

function scores(count: number, fits: (score: number, n: number) => boolean): number {
  let left = 0;
  for (let n = 0; n < count; n++) if (fits((n * 7919) % 1000, n)) left++;
  return left;
}

function row(name: string, p95s: readonly number[]): string {
  return `${name} | ${p95s.map((ms) => ms.toFixed(1)).join(' | ')}`;
}

/** Milliseconds of page after page, and what the first page says of how many there are. */
async function measure(id: string, query: string) {
  const times: number[] = [];
  let [cursor, total] = ['', -1];
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    const { status, body } = await plane.call<{
      items: object[];
      total: number;
      total_capped?: boolean;
      next_cursor: string | null;
    }>('GET', `/v1/databases/${id}/rows?${query}${cursor}`);
    times.push(performance.now() - begun);
    if (status !== 200) throw new Error(`${query}: ${status} ${JSON.stringify(body)}`);
    if (round === 0) total = body.total_capped ? Infinity : body.total;
    cursor = body.next_cursor === null || round % 4 === 3 ? '' : `&cursor=${body.next_cursor}`;
  }
  return { times, total };
}

function p95(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)]!;
}

void t.test('many rows cost little more than few', async (t) => {
  const ids: string[] = [];
  for (const size of SIZES) ids.push(await filled(size));
  const kinds: Record<string, number[][]> = {};
  for (const [name, [query, left]] of Object.entries(REQUESTS)) {
    const ofKind = (kinds[name.split(',')[0]!] ??= SIZES.map(() => []));
    const p95s: number[] = [];
    for (const [n, id] of ids.entries()) {
      await measure(id, query);
      const { times, total } = await measure(id, query);
      p95s.push(p95(times));
      ofKind[n]!.push(...times);
      const expected = left(SIZES[n]!);
      t.ok(total === expected || (total === Infinity && expected > 1000), `${name}: ${total} of ${expected}`);
    }
    t.comment(row(name, p95s));
  }
  for (const [kind, times] of Object.entries(kinds)) {
    const p95s = times.map(p95);
    t.comment(row(`every ${kind}`, p95s));
    if (LONG) t.ok(p95s.at(-1)! <= MOST_TIMES * p95s[0]!, row(kind, p95s));
  }

  for (const format of LONG ? ['csv', 'json'] : []) {
    globalThis.gc?.();
    const idle = process.memoryUsage().rss;
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50);
    const bytes = await download(`/v1/databases/${ids.at(-1)}/export?format=${format}`);
    clearInterval(watch);
    const grown = Math.max(0, peak - idle) / 1e6;
    const about = `export as ${format}: ${(bytes / 1e6).toFixed(1)} MB, ${grown.toFixed(0)} MB of memory over idle`;
    t.comment(about);
    t.ok(bytes > SIZES.at(-1)! * 10, about);
    t.ok(grown <= MOST_MEMORY_MB, about);
  }
});

/** @returns how many bytes there were */
async function download(path: string): Promise<number> {
  const client = request(`${plane.url}${path}`, {
    headers: { authorization: `Bearer ${plane.first.apiKey}` },
  });
  client.end();
  const [answer] = (await once(client, 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) bytes += chunk.length;
  return bytes;
}
