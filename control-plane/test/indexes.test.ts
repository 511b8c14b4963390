import { randomInt } from 'node:crypto';
import mongoose from 'mongoose';
import t from 'tap';
import { z } from 'zod';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { LONG } from '../../shared/test/fixtures/long.ts';
import type { Operation } from '../src/http/operation.ts';
import { TOTAL_LIMIT } from '../src/storage/list.ts';
import { RECORDS_PER_PROJECT } from '../src/tenancy/record-limit.ts';
import { features, operations } from './fixtures/described-features.ts';
import { bulkRecords } from './fixtures/bulk-records.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

/**
 * A page may look at so many records besides those it returns and skips: what a project holds a limited number of, or
 * the few records that a filter leaves, is sorted in memory.
 */
const SLACK = RECORDS_PER_PROJECT;
/** The bounds do not depend on it: with 100,000 the same ones hold (CONTRIBUTING says how to run that). */
t.setTimeout(600_000);
const DOCUMENTS = Number(process.env['INDEX_TEST_DOCUMENTS'] ?? 1200);
/** Pairs of filters in every order take minutes (`npm run test:long`): otherwise one in so many, in the default order. */
const PAIR_STRIDE = LONG ? 1 : 8;
const FIRST_PAIR = Number(process.env['INDEX_TEST_FIRST_PAIR'] ?? randomInt(PAIR_STRIDE));
/** Of the orders of a list with one filter, too, one in so many; the default one where a value gets none of them. */
const ORDER_STRIDE = LONG ? 1 : 5;
const FIRST_ORDER = Number(process.env['INDEX_TEST_FIRST_ORDER'] ?? randomInt(ORDER_STRIDE));
/** Of the lists themselves one in so many. */
const LIST_STRIDE = LONG ? 1 : 6;
const FIRST_LIST = Number(process.env['INDEX_TEST_FIRST_LIST'] ?? randomInt(LIST_STRIDE));
/** Counting stops behind it. */
const MOST_COUNTED = TOTAL_LIMIT + 1;

interface Executed {
  executionStats: { nReturned: number; totalDocsExamined: number };
  queryPlanner: { winningPlan: unknown };
}
/** A query as Mongoose sends it. */
interface Sent {
  collection: string;
  method: string;
  filter: object;
  options: { sort?: object; limit?: number; skip?: number };
}

function stagesOf(plan: unknown): string[] {
  return [...JSON.stringify(plan).matchAll(/"stage":"([A-Z_]+)"/g)].map((match) => match[1]!);
}

/** Every value that a parameter may have, or some of them where there is no end to them. */
function valuesOf(name: string, schema: z.ZodType, samples: Readonly<Record<string, string[]>>): string[] {
  const own = samples[name];
  if (own) return own;
  const json = JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  if (name === 'type' && !json.includes('enum')) return ['turn_decision', 'warning'];
  const values = /"enum":(\[[^\]]*\])/.exec(json)?.[1];
  if (!values) throw new Error(`no value is known for the filter ${name}`);
  return JSON.parse(values) as string[];
}

/** Lists of a carrier's records, not of ours; and the search, which has no list without a text: orgs.test.ts explains it. */
const ELSEWHERE = ['listAvailablePhoneNumbers', 'searchRecords'];
const isList = ({ id, method, query, path }: Operation) =>
  method === 'GET' &&
  query !== undefined &&
  'limit' in query.shape &&
  path.startsWith('/v1/') &&
  !ELSEWHERE.includes(id);

/**
 * Constants of the code; an org's own models, which are read as a whole (200 at most) and remembered for seconds; and what
 * stands in the record that the path names.
 */
const OF_NO_COLLECTION = ['listApps', 'listProviders', 'listModels', 'listDatabaseAgents'];
/**
 * `q` looks for a part of a name, which no index finds: it reads what the caller's other filters leave. All that has a
 * name has a limit (RECORDS_PER_PROJECT), and so `q` has a bound; of keys there are as many revoked ones besides.
 */
const slackOf = (id: string, name: string) => (name === 'q' && id === 'listApiKeys' ? 2 * SLACK : SLACK);

/** A filter as it is asked for, and how many records it leaves by itself. */
interface Single {
  name: string;
  text: string;
  total: number;
}

void t.test('no list scans a collection, whatever it is filtered and sorted by', async (t) => {
  // Nothing runs by itself while queries are listened to.
  const cp = await openTestControlPlane({ clock: new ManualClock(Date.now()) });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const records = await bulkRecords(cp, { sessions: DOCUMENTS });
  t.comment(`${records.total} documents, ${records.largest} of them in one project's list`);

  let sent: Sent[] = [];
  mongoose.set('debug', (collection: string, method: string, filter: object, options: object) => {
    sent.push({ collection, method, filter, options });
  });
  t.teardown(() => mongoose.set('debug', false));

  let explained = 0;
  /** Of two indexes that fit, the database may have taken neither: it guesses how soon a page is full. */
  const misjudged: string[] = [];
  /** @param most documents that may be looked at besides those that are returned and skipped */
  async function explain({ collection, method, filter, options }: Sent, about: string, most: number) {
    explained++;
    const known = features.collections.find(({ name }) => name === collection)!;
    const native = cp.app.services.database.model(known).collection;
    const query = native.find(filter, {
      ...(options.sort && { sort: options.sort as never }),
      ...(options.skip !== undefined && { skip: options.skip }),
      limit: options.limit ?? MOST_COUNTED,
    });
    const { executionStats, queryPlanner } = (await query.explain('executionStats')) as unknown as Executed;
    const { nReturned, totalDocsExamined } = executionStats;
    if (stagesOf(queryPlanner.winningPlan).includes('COLLSCAN')) t.fail(`${about}: ${collection} is scanned`);
    if (totalDocsExamined > nReturned + (options.skip ?? 0) + most) {
      const found = `${about}: ${method} looks at ${totalDocsExamined} ${collection} to find ${nReturned}`;
      if (/\?[^&]+&(?!sort=)/.test(about)) misjudged.push(found);
      else t.fail(found);
    }
  }

  /** Asks as a client does, and explains what the database was asked for, in each of `sorts`. */
  async function ask(
    operation: Operation,
    path: string,
    query: string,
    sorts: readonly string[],
    most: number,
  ) {
    const byKey = typeof operation.access === 'object' && operation.access.key;
    sent = [];
    const answer = await cp.call<{ total: number }>('GET', `${path}?${query}`, {
      ...(!byKey && { token: records.userToken }),
    });
    const about = `${operation.id}?${query}`;
    if (answer.status !== 200) t.fail(`${about}: ${answer.status} ${JSON.stringify(answer.body)}`);
    const own = sent.filter(({ collection }) => records.collections.has(collection));
    for (const one of own) {
      if (one.method === 'countDocuments') await explain(one, about, most);
      if (one.method !== 'find') continue;
      if (one.options.limit === undefined) t.fail(`${about}: ${one.collection} is read without a limit`);
      // The page is asked for in the default order; the same one in every other order.
      const orders = one.options.skip === undefined || sorts.length === 0 ? [undefined] : sorts;
      for (const sort of orders) {
        const direction = sort?.startsWith('-') ? -1 : 1;
        const order =
          sort === undefined ? one.options.sort : { [sort.replace('-', '')]: direction, _id: direction };
        const options = { ...one.options, ...(order && { sort: order }) };
        await explain({ ...one, options }, `${about}&sort=${sort}`, most);
      }
    }
    return answer.body.total;
  }

  const lists = operations.filter(isList).filter((_, at) => at % LIST_STRIDE === FIRST_LIST);
  let pairs = 0;
  let orders = 0;
  const someOf = (sorts: readonly string[]) => sorts.filter(() => orders++ % ORDER_STRIDE === FIRST_ORDER);
  for (const operation of lists) {
    const { shape } = operation.query!;
    const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => records.ids[name]!);
    const sorts = 'sort' in shape ? valuesOf('sort', shape['sort'] as z.ZodType, {}) : [];
    const names = Object.keys(shape).filter((name) => !['limit', 'offset', 'sort'].includes(name));
    const slack = (name: string) => slackOf(operation.id, name);
    const before = explained;
    await ask(operation, path, '', sorts, SLACK);

    const singles: Single[][] = [];
    for (const name of names) {
      const values = valuesOf(name, shape[name] as z.ZodType, records.samples);
      const ofName: Single[] = [];
      for (const value of values) {
        const text = `${name}=${encodeURIComponent(value)}`;
        const total = await ask(operation, path, text, someOf(sorts), slack(name));
        ofName.push({ name, text, total });
      }
      singles.push(ofName);
    }
    // Two filters look at no more than one of them leaves: which one is the database's choice.
    for (const [index, ofOne] of singles.entries()) {
      for (const ofOther of singles.slice(index + 1)) {
        if (pairs++ % PAIR_STRIDE !== FIRST_PAIR) continue;
        const [one, other] = [ofOne[0]!, ofOther[1] ?? ofOther[0]!];
        const left = Math.max(one.total, other.total);
        const most = left >= TOTAL_LIMIT ? Infinity : Math.max(slack(one.name), slack(other.name)) + left;
        const orders = LONG ? sorts : [];
        await ask(operation, path, `${one.text}&${other.text}`, orders, most);
      }
    }
    if (explained === before && !OF_NO_COLLECTION.includes(operation.id)) {
      t.fail(`${operation.id}: no feature's sample has many of its records`);
    }
  }
  t.comment(
    `${lists.length} lists (INDEX_TEST_FIRST_LIST=${FIRST_LIST}), 1 in ${ORDER_STRIDE} of ${orders} orders with a filter (INDEX_TEST_FIRST_ORDER=${FIRST_ORDER}), ` +
      `1 in ${PAIR_STRIDE} of ${pairs} pairs of filters (INDEX_TEST_FIRST_PAIR=${FIRST_PAIR}), ` +
      `${explained} queries explained`,
  );
  t.ok(lists.length > 20 / LIST_STRIDE);
  for (const about of misjudged) t.comment(about);
  const most = Math.max(10, explained / 200);
  t.ok(misjudged.length <= most, `${misjudged.length} pairs of filters were misjudged`);
  t.ok(explained > 700 / (2 * LIST_STRIDE));
});
