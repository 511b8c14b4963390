import { join } from 'node:path';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { silentLogger } from '@parley/shared/logging/logger';
import { sessionEventCollection } from '../calls/session-event-model.ts';
import { openFailingStore } from '../../test/fixtures/failing-store.ts';
import { openDatabase } from './database.ts';
import { isDuplicateKey } from './duplicate.ts';
import { insertBatches } from './insert-batches.ts';
import { isDatabaseUnreachable } from './unreachable.ts';
import { readBatches, type ReadTarget } from './read-batches.ts';

const store = await openDocumentStore({ path: join(t.testdir(), 'inserts.db') });
const failing = await openFailingStore(store.uri);
const database = await openDatabase(failing.uri, { logger: silentLogger() });
t.teardown(async () => {
  await database[Symbol.asyncDispose]();
  await failing[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
await database.ensureIndexes([sessionEventCollection]);
const { collection } = database.model(sessionEventCollection);

/** The real collection, and how many documents each command to it had. */
function counted() {
  const sent: number[] = [];
  const batches = insertBatches({
    insertOne(document, options) {
      sent.push(1);
      return collection.insertOne(document, options);
    },
    insertMany(documents, options) {
      sent.push(documents.length);
      return collection.insertMany(documents, options);
    },
  });
  return { sent, batches };
}

const event = (id: string, index: number) => ({ _id: id, session_id: 's', index });

void t.test('inserts at one time share commands, and all are stored when they resolve', async (t) => {
  const { sent, batches } = counted();
  await Promise.all(
    Array.from({ length: 450 }, (_, i) =>
      batches.add({ _id: `many_${i}`, session_id: `many_${i}`, index: 0 }),
    ),
  );
  t.same(sent, [200, 200, 50]);
  t.equal(await collection.countDocuments({ session_id: /^many_/ }), 450);
  await batches.add({ _id: 'many_last', session_id: 'many_last', index: 0 });
  t.same(sent.at(-1), 1, 'one alone waits for nobody');
});

void t.test('what a unique index refuses fails alone, and says which index it was', async (t) => {
  const { sent, batches } = counted();
  const results = await Promise.allSettled(
    [event('a', 1), event('b', 2), event('b', 3), event('c', 2), event('d', 4)].map((one) =>
      batches.add(one),
    ),
  );
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  const reasons = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  t.same(
    reasons.map((reason) => [isDuplicateKey(reason, '_id'), isDuplicateKey(reason, 'index')]),
    [
      [true, false],
      [false, true],
    ],
  );
  t.same(sent, [5, 1, 1]);
  t.same(
    (await collection.find({ session_id: 's' }).sort({ index: 1 }).toArray()).map(
      ({ index }) => index as number,
    ),
    [1, 2, 4],
  );
});

void t.test('a document that cannot be written as BSON fails alone', async (t) => {
  const { batches } = counted();
  const results = await Promise.allSettled(
    [event('e', 10), event('f', 11), { ...event('g', 12), 'a\0b': 1 }, event('h', 13)].map((one) =>
      batches.add(one),
    ),
  );
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  );
  t.equal(await collection.countDocuments({ _id: { $in: ['e', 'f', 'g', 'h'] } as never }), 3);
});

void t.test('reads by id at one time share commands, and share no record', async (t) => {
  const sent: unknown[] = [];
  const read = readBatches({
    findOne(filter: object, options: object) {
      sent.push(1);
      return collection.findOne(filter, options);
    },
    find(filter: { _id: { $in: string[] } }, options: object) {
      sent.push(filter._id.$in);
      return collection.find(filter as never, options);
    },
  } as unknown as ReadTarget);
  const found = await Promise.all(['a', 'b', 'nobody', 'b', 'd'].map((id) => read.add(id)));
  t.same(
    found.map((record) => record?._id),
    ['a', 'b', undefined, 'b', 'd'],
  );
  t.same(sent, [['a', 'b', 'nobody', 'd']]);
  t.same(found[1], found[3]);
  t.not(found[1], found[3]);
});

void t.test('a read sees what was written before it', async (t) => {
  const seen = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      await collection.updateOne({ _id: 'd' } as never, { $max: { index: 1000 + i } });
      const record = await database.read(sessionEventCollection, 'd');
      return record!.index >= 1000 + i;
    }),
  );
  t.ok(seen.every(Boolean));
});

void t.test('a broken connection and a refusal of the database are told as what they are', async (t) => {
  const { sent, batches } = counted();
  const reasonsIn = async (mode: 'down' | 'failing') => {
    failing.mode = mode;
    const inserts = [1, 2, 3].map((i) => batches.add(event(`${mode}_${i}`, 50 + i)));
    return (await Promise.allSettled(inserts)).map(
      (result) => (result.status === 'rejected' ? result.reason : null) as unknown,
    );
  };
  t.same((await reasonsIn('down')).map(isDatabaseUnreachable), [true, true, true]);
  t.match(await reasonsIn('failing'), [{ code: 8 }, { code: 8 }, { code: 8 }]);
  failing.mode = 'well';
  t.same(sent, [3, 3], 'nothing is sent twice');
});

void t.test('a database that is gone fails all, and holds nobody up', async (t) => {
  const { batches } = counted();
  await database[Symbol.asyncDispose]();
  const results = await Promise.allSettled(
    Array.from({ length: 5 }, (_, i) => batches.add(event(`z${i}`, 100 + i))),
  );
  t.ok(results.every(({ status }) => status === 'rejected'));
  await t.rejects(batches.add(event('zz', 200)));
});
