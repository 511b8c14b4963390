import mongoose from 'mongoose';
import t from 'tap';
import { z } from 'zod';
import type { Operation } from '../src/http/operation.ts';
import { COLLECTIONS, createOperations } from '../src/services.ts';
import type { Services } from '../src/services.ts';
import { TOTAL_LIMIT } from '../src/storage/list.ts';
import { RECORDS_PER_PROJECT } from '../src/tenancy/record-limit.ts';
import { bulkRecords } from './fixtures/bulk-records.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

/**
 * A page may look at so many records besides those it returns and skips: what a project holds a limited number of, or
 * the few records that a filter leaves, is sorted in memory.
 */
const SLACK = RECORDS_PER_PROJECT;
/** The bounds do not depend on it. */
const DOCUMENTS = Number(process.env['INDEX_TEST_DOCUMENTS'] ?? 12_000);
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
  const values = /"enum":(\[[^\]]*\])/.exec(json)?.[1];
  if (!values) throw new Error(`no value is known for the filter ${name}`);
  return JSON.parse(values) as string[];
}

/** Pages of these are cut out of the providers' catalogues, which are in memory. */
const IN_MEMORY = ['listVoices', 'listModels'];

const isList = ({ id, method, query, path }: Operation) =>
  !IN_MEMORY.includes(id) &&
  method === 'GET' &&
  query !== undefined &&
  'limit' in query.shape &&
  'sort' in query.shape &&
  path.startsWith('/v1/');

void t.test('no list scans a collection, whatever it is filtered and sorted by', async (t) => {
  const cp = await openTestControlPlane();
  t.teardown(() => cp[Symbol.asyncDispose]());
  const records = await bulkRecords(cp, { sessions: DOCUMENTS });
  t.comment(`${records.total} documents, ${records.largest} of them in one project's list`);

  let sent: Sent[] = [];
  mongoose.set('debug', (collection: string, method: string, filter: object, options: object) => {
    sent.push({ collection, method, filter, options });
  });
  t.teardown(() => mongoose.set('debug', false));

  async function explain({ collection, method, filter, options }: Sent, about: string): Promise<void> {
    const known = COLLECTIONS.find(({ name }) => name === collection)!;
    const native = cp.app.services.database.model(known).collection;
    const found = native.find(filter, {
      ...(options.sort && { sort: options.sort as never }),
      ...(options.skip !== undefined && { skip: options.skip }),
      limit: options.limit ?? MOST_COUNTED,
    });
    const { executionStats, queryPlanner } = (await found.explain('executionStats')) as unknown as Executed;
    const { nReturned, totalDocsExamined } = executionStats;
    if (stagesOf(queryPlanner.winningPlan).includes('COLLSCAN')) t.fail(`${about}: ${collection} is scanned`);
    const most = nReturned + (options.skip ?? 0) + SLACK;
    // `q` looks at every name of the tenant: there is no index for a part of one.
    if (!about.includes('?q=') && totalDocsExamined > most) {
      t.fail(`${about}: ${method} looks at ${totalDocsExamined} ${collection} to find ${nReturned}`);
    }
  }

  const embedded = process.env['TEST_MONGODB_URL'] === undefined;
  const counted: number[] = [];
  async function documentsToCount({ collection, filter }: Sent): Promise<number> {
    const known = COLLECTIONS.find(({ name }) => name === collection)!;
    const { executionStats } = (await cp.app.services.database
      .model(known)
      .db.db!.command({ explain: { count: collection, query: filter, limit: MOST_COUNTED } })) as Executed;
    return executionStats.totalDocsExamined;
  }

  let cases = 0;
  const lists = createOperations({} as Services).filter(isList);
  for (const operation of lists) {
    const { shape } = operation.query!;
    const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => records.ids[name]!);
    const sorts = valuesOf('sort', shape['sort'] as z.ZodType, {});
    const filters = Object.keys(shape).filter((name) => !['limit', 'offset', 'sort'].includes(name));
    const queries = filters.flatMap((name) =>
      valuesOf(name, shape[name] as z.ZodType, records.samples).map(
        (value) => `${name}=${encodeURIComponent(value)}`,
      ),
    );
    const token =
      typeof operation.access === 'object' && operation.access.key ? undefined : records.userToken;
    for (const filter of ['', ...queries]) {
      sent = [];
      const answer = await cp.call('GET', `${path}?${filter}`, { ...(token !== undefined && { token }) });
      const about = `${operation.id}?${filter}`;
      if (answer.status !== 200) t.fail(`${about}: ${answer.status} ${JSON.stringify(answer.body)}`);
      const own = sent.filter(({ collection }) => records.collections.has(collection));
      for (const query of own.filter(({ method }) => method === 'countDocuments')) {
        await explain(query, about);
        // The one list that grows with every call. MongoDB looks at a document to tell a null from nothing.
        if (embedded && about === 'listSessions?') counted.push(await documentsToCount(query));
        cases++;
      }
      // The page is asked for in the default order; the same one in every other order.
      for (const query of own.filter(
        ({ method, options }) => method === 'find' && options.skip !== undefined,
      )) {
        for (const sort of sorts) {
          const direction = sort.startsWith('-') ? -1 : 1;
          const order = { [sort.replace('-', '')]: direction, _id: direction };
          await explain({ ...query, options: { ...query.options, sort: order } }, `${about}&sort=${sort}`);
          cases++;
        }
      }
    }
  }
  t.comment(`${lists.length} lists, ${cases} queries explained`);
  t.same(counted, embedded ? [0] : [], 'the total of a list of sessions comes from keys');
  t.ok(lists.length > 10);
  t.ok(cases > 500);
});
