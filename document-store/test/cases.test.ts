import { MongoClient } from 'mongodb';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openDocumentStore } from '../src/document-store.ts';
import { aggregationCases } from './fixtures/aggregation-cases.ts';
import type { Case } from './fixtures/case.ts';
import { commandCases, refusedCases } from './fixtures/command-cases.ts';
import { indexCases } from './fixtures/index-cases.ts';
import { projectionCases } from './fixtures/projection-cases.ts';
import { queryCases } from './fixtures/query-cases.ts';
import { updateCases } from './fixtures/update-cases.ts';

const CASES: Record<string, Case[]> = {
  queries: queryCases,
  updates: updateCases,
  projections: projectionCases,
  aggregation: aggregationCases,
  indexes: indexCases,
  commands: commandCases,
};

/** Runs every case in a database of its own, which is dropped afterwards. */
async function runCases(t: Test, uri: string, groups: Record<string, Case[]>): Promise<void> {
  const client = new MongoClient(uri);
  const database = client.db(`parley_cases_${process.pid}`);
  t.teardown(async () => {
    await database.dropDatabase();
    await client.close();
  });
  for (const [group, cases] of Object.entries(groups)) {
    await t.test(group, async (t) => {
      for (const [i, { title, given, run, expected }] of cases.entries()) {
        const collection = database.collection(`${group.replaceAll(' ', '_')}${i}`);
        if (given.length > 0) await collection.insertMany(structuredCloneOf(given));
        t.strictSame(await run(collection), expected, title);
      }
    });
  }
}

/** The driver adds an _id to what it inserts; cases share their documents. */
function structuredCloneOf(documents: Case['given']): Case['given'] {
  return documents.map((document) => ({ ...document }));
}

void t.test('the embedded store does as MongoDB documents', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'document-store-'));
  const store = await openDocumentStore({ path: join(folder, 'store.db') });
  t.teardown(async () => {
    await store[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  await runCases(t, store.uri, { ...CASES, 'not supported': refusedCases });
});

const real = process.env.TEST_MONGODB_URL;
const skip = real ? false : 'set TEST_MONGODB_URL to run the same cases against a real MongoDB';
void t.test('a real MongoDB does the same', { skip }, async (t) => {
  await runCases(t, real!, CASES);
});
