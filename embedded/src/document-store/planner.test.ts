import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BSONRegExp } from 'bson';
import t from 'tap';
import { encodeDocument } from './bson-codec.ts';
import { CommandError } from './errors.ts';
import { sortKey } from './index-keys.ts';
import { parseFilter } from './matcher.ts';
import { countMatches, QueryRun } from './query.ts';
import { Random } from './random.fixture.ts';
import { parseSort } from './sort.ts';
import { Store } from './store.ts';
import type { Bson, BsonDocument } from './values.ts';

const random = new Random(11);
const paths = ['a', 'b', 'c', 'a.x', 'a.y', 'b.0', 'c.x'];

function anyScalar(): Bson {
  return random.pick<() => Bson>([
    () => random.below(6),
    () => random.below(4) + 0.5,
    () => random.pick(['p', 'pq', 'q', '']),
    () => null,
    () => BigInt(random.below(4)),
    () => random.below(2) === 1,
    () => new Date(random.below(3)),
    () => NaN,
  ])();
}

function anyValue(depth = 0): Bson {
  const kind = depth < 2 ? random.below(10) : 0;
  if (kind < 6) return anyScalar();
  if (kind < 8) return Array.from({ length: random.below(4) }, () => anyValue(depth + 1));
  const document: BsonDocument = {};
  for (const field of ['x', 'y']) if (random.below(3) > 0) document[field] = anyValue(depth + 1);
  return document;
}

function anyDocument(id: number): BsonDocument {
  const document: BsonDocument = { _id: id };
  for (const field of ['a', 'b', 'c']) if (random.below(5) > 0) document[field] = anyValue();
  return document;
}

function anyCondition(): Bson {
  return random.pick<() => Bson>([
    () => anyScalar(),
    () => anyValue(1),
    () => ({ $gt: anyScalar() }),
    () => ({ $gte: anyScalar(), $lt: anyScalar() }),
    () => ({ $lte: anyScalar() }),
    () => ({ $in: [anyScalar(), anyScalar(), anyValue(1)] }),
    () => ({ $in: ['p', new BSONRegExp('^q', '')] }),
    () => ({ $ne: anyScalar() }),
    () => ({ $nin: [anyScalar(), null] }),
    () => ({ $exists: random.below(2) === 1 }),
    () => ({ $type: random.pick(['number', 'string', 'array', 'object', 'null', 'date']) }),
    () => new BSONRegExp(random.pick(['^p', '^pq?', 'q', '^']), ''),
    () => ({ $elemMatch: { $gte: anyScalar(), $lt: anyScalar() } }),
    () => ({ $elemMatch: { x: anyScalar(), y: { $gte: anyScalar() } } }),
    () => ({ $not: { $gt: anyScalar() } }),
    () => ({ $size: random.below(3) }),
    () => ({ $all: [anyScalar(), anyScalar()] }),
    () => ({ $mod: [2, random.below(2)] }),
  ])();
}

function anyFilter(depth = 0): BsonDocument {
  const filter: BsonDocument = {};
  for (let n = 1 + random.below(3); n > 0; n--) filter[random.pick(paths)] = anyCondition();
  if (depth < 2 && random.below(4) === 0)
    filter[random.pick(['$or', '$and', '$nor'])] = [anyFilter(depth + 1), anyFilter(depth + 1)];
  return filter;
}

function anyFields(): BsonDocument {
  const fields: BsonDocument = {};
  for (let n = 1 + random.below(3); n > 0; n--) fields[random.pick(paths)] = random.below(2) ? 1 : -1;
  return fields;
}

void t.test('with any index a query finds what a scan finds, in an order that is right', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'planner-'));
  const store = new Store(join(folder, 'store.db'), 'normal');
  t.teardown(() => {
    store.close();
    rmSync(folder, { recursive: true });
  });
  let indexed = 0;
  for (let round = 0; round < 15; round++) {
    store.begin();
    const collection = store.createCollection('test', `c${round}`);
    const documents: BsonDocument[] = [];
    for (let i = 0; i < 6; i++) {
      const options = random.pick<BsonDocument>([
        {},
        {},
        {},
        { sparse: true },
        {
          partialFilterExpression: {
            [random.pick(paths)]: random.pick<Bson>([
              { $exists: true },
              { $gt: 1 },
              { $type: 'string' },
              { $in: [1, 2, 'p'] },
              { $lte: 'p' },
            ]),
          },
        },
      ]);
      store.createIndex(collection, { v: 2, key: anyFields(), name: `i${i}`, ...options });
    }
    for (let id = 0; id < 60; id++) {
      const document = anyDocument(id);
      try {
        store.insert(collection, document, encodeDocument(document));
        documents.push(document);
      } catch (error) {
        if (!(error instanceof CommandError) || error.code !== 171) throw error;
      }
    }
    // Documents that change and go leave no keys behind.
    for (const found of [
      ...new QueryRun(store, collection, { filter: parseFilter({ _id: { $gte: 40 } }), sort: [] }),
    ]) {
      if (random.below(3) === 0) {
        store.remove(collection, found.rowId, found.document);
        documents.splice(
          documents.findIndex(({ _id }) => _id === found.document._id),
          1,
        );
      } else {
        const after: BsonDocument = { ...anyDocument(0), _id: found.document._id! };
        try {
          store.update(collection, found.rowId, found.document, after, encodeDocument(after));
          documents[documents.findIndex(({ _id }) => _id === after._id)] = after;
        } catch (error) {
          if (!(error instanceof CommandError) || error.code !== 171) throw error;
        }
      }
    }
    for (let i = 0; i < 120; i++) {
      const source = anyFilter();
      const order = random.below(2) ? anyFields() : undefined;
      const filter = parseFilter(source);
      const sort = parseSort(order);
      const ids = (run: Iterable<{ document: BsonDocument }>) => [...run].map(({ document }) => document);
      let scanned: BsonDocument[];
      try {
        scanned = ids(new QueryRun(store, collection, { filter, sort, hint: { $natural: 1 } }));
      } catch (error) {
        // Two arrays have no order together.
        if (!(error instanceof CommandError) || error.code !== 2) throw error;
        continue;
      }
      const run = new QueryRun(store, collection, { filter, sort });
      if (run.plan.kind !== 'collection') indexed += 1;
      const planned = ids(run);
      const keys = (list: BsonDocument[]) => list.map((document) => sortKey(document, sort).toString('hex'));
      const set = (list: BsonDocument[]) => list.map(({ _id }) => Number(_id)).sort((a, b) => a - b);
      const counted = countMatches(store, collection, { filter, sort: [] });
      const what = JSON.stringify(
        { source, order, plan: run.plan, indexes: collection.indexes.map(({ spec }) => spec) },
        (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value),
      );
      if (JSON.stringify(set(planned)) !== JSON.stringify(set(scanned)))
        t.same(set(planned), set(scanned), what);
      if (order && JSON.stringify(keys(planned)) !== JSON.stringify(keys(scanned)))
        t.same(keys(planned), keys(scanned), `order: ${what}`);
      if (counted !== scanned.length) t.equal(counted, scanned.length, `count: ${what}`);
      if (!t.passing()) break;
    }
    t.same(store.verify(), [], 'documents and indexes agree');
    store.commit();
    if (!t.passing()) break;
  }
  t.ok(indexed > 300, `${indexed} queries used an index`);
  t.end();
});
