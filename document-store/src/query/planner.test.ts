import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BSONRegExp } from 'bson';
import t, { type Test } from 'tap';
import { encodeDocument } from '../bson/bson-encoder.ts';
import type { Collection } from '../storage/catalog.ts';
import { CommandError } from '../errors.ts';
import { parseFilter } from '../matching/filter-parser.ts';
import { sortKey } from '../storage/index-keys.ts';
import { matches } from '../matching/matcher.ts';
import { planQuery } from './planner.ts';
import { QueryRun, countMatches } from './query.ts';
import { Random } from '../random.fixture.ts';
import { parseSort } from './sort.ts';
import { Store } from '../storage/store.ts';
import type { Bson, BsonDocument } from '../bson/values.ts';

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

function temporaryStore(t: Test): Store {
  const folder = mkdtempSync(join(tmpdir(), 'planner-'));
  const store = new Store(join(folder, 'store.db'), 'normal');
  t.teardown(() => {
    store.close();
    rmSync(folder, { recursive: true });
  });
  return store;
}

/** @returns false for a document that an index forbids, because it has two arrays */
function insert(store: Store, collection: Collection, document: BsonDocument): boolean {
  try {
    store.insert(collection, document, encodeDocument(document));
    return true;
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 171) throw error;
    return false;
  }
}

void t.test('with any index a query finds what a scan finds, in an order that is right', (t) => {
  const store = temporaryStore(t);
  let indexed = 0;
  for (let round = 0; round < 15; round++) {
    store.begin();
    const collection = store.catalog.createCollection('test', `c${round}`);
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
      if (insert(store, collection, document)) documents.push(document);
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
      const limit = 1 + random.below(10);
      const limited = new QueryRun(store, collection, { filter, sort, limit });
      const some = ids(limited);
      const expected = order ? keys(scanned).slice(0, limit) : Math.min(scanned.length, limit);
      t.same(order ? keys(some) : some.length, expected, `the first ${limit}: ${what}`);
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

void t.test('an order behind other fields of an index is made of its keys', (t) => {
  const store = temporaryStore(t);
  store.begin();
  const collection = store.catalog.createCollection('test', 'many');
  for (const [i, key] of [
    { a: 1, b: -1, c: 1 },
    { a: -1, b: 1, c: -1 },
  ].entries())
    store.createIndex(collection, { v: 2, key, name: `i${i}` });
  const texts = ['', 'a', 'a\0', 'a\0b', 'a\xff', 'ab', '\u{10ffff}', '日'];
  const documents = Array.from({ length: 400 }, (_, _id): BsonDocument => {
    const document: BsonDocument = { _id, a: _id % 3 ? random.pick(texts) : anyScalar(), c: random.below(9) };
    if (_id % 7) document.b = _id % 5 ? anyScalar() : random.pick(texts);
    return document;
  });
  for (const document of documents) store.insert(collection, document, encodeDocument(document));
  store.commit();
  for (let i = 0; i < 60; i++) {
    const source = {
      a: { $gte: random.pick(texts.slice(0, 4)), $lt: 'z' },
      ...(i % 3 === 0 && { c: { $lt: 5 } }),
    };
    const sort = parseSort(i % 2 ? { b: -1, c: 1 } : { b: 1, c: -1 });
    const query = { filter: parseFilter(source), sort, limit: 1 + random.below(30), skip: random.below(5) };
    const run = new QueryRun(store, collection, query);
    t.match(run.plan, { kind: 'index', sorted: false, orderFrom: 1 });
    const found = [...run].map(({ document }) => document);
    const all = documents
      .filter((document) => matches(query.filter, document))
      .map((document) => sortKey(document, sort).toString('hex'))
      .sort();
    t.same(
      found.map((document) => sortKey(document, sort).toString('hex')),
      all.slice(query.skip, query.skip + query.limit),
    );
    if (i % 3)
      t.ok(run.stats.documentsExamined <= query.skip + query.limit, 'no more documents than are wanted');
  }
  t.end();
});

void t.test('of two indexes in the order that is asked for, the narrower one is read', (t) => {
  const store = temporaryStore(t);
  store.begin();
  const collection = store.catalog.createCollection('test', 'people');
  for (const [name, key] of Object.entries({
    ofAll: { org: 1, project: 1, words: 1, at: -1 },
    ofList: { list: 1, words: 1, at: -1 },
  }))
    store.createIndex(collection, { v: 2, key, name });
  for (let _id = 0; _id < 1000; _id++)
    insert(store, collection, { _id, org: 1, project: 1, list: _id % 8, words: ['ada', 'love'], at: _id });
  store.commit();
  const filter = parseFilter({ org: 1, project: { $in: [null, 1] }, list: 3, words: 'ada' });
  const run = new QueryRun(store, collection, { filter, sort: parseSort({ at: -1 }), limit: 10, skip: 0 });
  t.match(run.plan, { kind: 'index', sorted: true, index: { name: 'ofList' } });
  t.same(
    [...run].map(({ document }) => document['at']),
    Array.from({ length: 10 }, (_, n) => 995 - 8 * n),
  );
  t.equal(run.stats.documentsExamined, 10);
  t.end();
});

/** Mostly of the kind that is counted by keys. */
function anyCount(): BsonDocument {
  const filter: BsonDocument = {};
  const conditions: (() => Bson)[] = [
    ...Array.from({ length: 6 }, () => () => anyScalar()),
    () => null,
    () => ({ $in: [anyScalar(), null, anyScalar()] }),
    () => ({ $gte: anyScalar(), $lt: anyScalar() }),
    () => ({ $gt: anyScalar() }),
    () => ({ $exists: random.below(2) === 1 }),
    () => ({ $lte: null }),
    anyCondition,
  ];
  for (const path of ['a', 'b', 'c', 'a.x', 'e'])
    if (random.below(2)) filter[path] = random.pick(conditions)();
  if (random.below(8) === 0) filter.$or = [anyFilter(2), anyFilter(2)];
  if (random.below(8) === 0) filter.$expr = { $gt: ['$a', '$b'] };
  return filter;
}

void t.test('a count by keys, or by the fields that decide, is that of whole documents', (t) => {
  const store = temporaryStore(t);
  let byKeys = 0;
  let byFields = 0;
  for (let round = 0; round < 20; round++) {
    store.begin();
    const collection = store.catalog.createCollection('test', `c${round}`);
    for (const [i, key] of [{ a: 1, b: -1 }, { b: 1, c: 1, a: 1 }, { c: -1 }, anyFields()].entries()) {
      const options = i === 2 && round % 2 ? { sparse: true } : {};
      store.createIndex(collection, { v: 2, key, name: `i${i}`, ...options });
    }
    const documents: BsonDocument[] = [];
    for (let id = 0; id < 150; id++) {
      const document: BsonDocument = { _id: id, filler: anyValue() };
      for (const field of ['a', 'b', 'c', 'e']) {
        const kind = random.below(12);
        if (kind < 9) document[field] = anyScalar();
        else if (kind === 9) document[field] = { x: anyScalar() };
        // One array is enough for the keys of an index no longer to be those of a document each.
        else if (kind === 10 && (field === 'e' || round < 2)) document[field] = [anyScalar(), anyScalar()];
      }
      if (insert(store, collection, document)) documents.push(document);
    }
    for (let i = 0; i < 300; i++) {
      const source = anyCount();
      const filter = parseFilter(source);
      const skip = random.below(3) ? 0 : random.below(20);
      const limit = random.below(2) ? undefined : 1 + random.below(40);
      const all = documents.filter((document) => matches(filter, document)).length;
      const expected = Math.max(0, Math.min(all - skip, limit ?? Infinity));
      const counted = countMatches(store, collection, { filter, sort: [], skip, limit });
      const plan = planQuery(store, collection, { filter, sort: [], hint: undefined, limit: undefined });
      if (plan.kind === 'index' && plan.exact) byKeys += 1;
      else if (expected > 0) byFields += 1;
      if (counted !== expected)
        t.equal(
          counted,
          expected,
          JSON.stringify({ source, skip, limit, plan }, (_, value: unknown) =>
            typeof value === 'bigint' ? `${value}n` : value,
          ),
        );
      if (!t.passing()) break;
    }
    store.commit();
    if (!t.passing()) break;
  }
  t.ok(byKeys > 300, `${byKeys} by keys`);
  t.ok(byFields > 300, `${byFields} by fields`);
  t.end();
});

void t.test('no more is counted than is asked for, and what a null counts is in the keys', (t) => {
  const store = temporaryStore(t);
  store.begin();
  const collection = store.catalog.createCollection('test', 'many');
  store.createIndex(collection, { v: 2, key: { tenant: 1, run: 1, at: -1 }, name: 'tenant' });
  for (let i = 0; i < 50; i++) {
    const document: BsonDocument = { _id: i, tenant: 'a', at: i };
    if (i % 10 === 0) document.run = null;
    if (i % 10 === 1) document.run = 'r1';
    store.insert(collection, document, encodeDocument(document));
  }
  store.commit();
  const filter = parseFilter({ $and: [{ tenant: 'a' }, { run: null, at: { $gte: 10 } }] });
  const plan = planQuery(store, collection, { filter, sort: [], hint: undefined, limit: undefined });
  t.match(plan, { kind: 'index', exact: true });
  t.equal(countMatches(store, collection, { filter, sort: [] }), 36);
  const limits: (number | undefined)[] = [];
  const countKeys = store.countKeys.bind(store);
  store.countKeys = (index, range, limit) => {
    limits.push(limit);
    return countKeys(index, range, limit);
  };
  t.equal(countMatches(store, collection, { filter, sort: [], skip: 2, limit: 5 }), 5);
  t.same(limits, [7]);
  t.end();
});
