import { MongoClient, type Collection, type Document } from 'mongodb';
import { aggregate, find, update } from 'mingo';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openDocumentStore } from '../src/document-store.ts';
import { Generator } from './fixtures/generator.ts';

// What the store answers, beside what mingo answers: an implementation of MongoDB's query language by other people.
// The seed is printed; DOCUMENT_STORE_SEED repeats a run, DOCUMENT_STORE_ROUNDS makes it longer.

const SEED = Number(process.env['DOCUMENT_STORE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const ROUNDS = Number(process.env['DOCUMENT_STORE_ROUNDS'] ?? (LONG ? 200 : 8));
const PER_ROUND = 25;
/** So many of the questions at least must have answers: a refused one compares nothing. */
const LEAST_ANSWERED = 0.8;

/** Documents whose fields have one order, so that only values are compared: order has cases of its own. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (value instanceof Date) return { date: value.getTime() };
  // -0 and 0 are one number to MongoDB.
  if (typeof value === 'number') return value + 0;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, inner]) => [field, canonical(inner)]),
  );
}

const text = (value: unknown): string => JSON.stringify(canonical(value));

/** Asks both, and compares. */
class Comparison {
  readonly #t: Test;
  asked = 0;
  answered = 0;

  constructor(t: Test) {
    this.#t = t;
  }

  async ask(
    question: unknown,
    given: readonly Document[],
    ours: () => Promise<unknown>,
    theirs: () => unknown,
  ): Promise<void> {
    this.asked += 1;
    let mine: unknown;
    try {
      mine = await ours();
    } catch (error) {
      // What MongoDB refuses, mingo often answers somehow.
      if (typeof (error as { code?: unknown }).code === 'number') return;
      throw error;
    }
    this.answered += 1;
    const [a, b] = [text(mine), text(theirs())];
    if (a !== b)
      this.#t.fail(`seed ${SEED}: the two differ`, {
        question: JSON.stringify(question),
        given: JSON.stringify(given),
        mine: a,
        mingo: b,
      });
  }

  end(): void {
    const rate = this.answered / this.asked;
    this.#t.ok(
      rate >= LEAST_ANSWERED,
      `seed ${SEED}: ${this.answered} of ${this.asked} answered and the same`,
    );
  }
}

async function openCollections(t: Test): Promise<(name: string) => Collection<Document>> {
  const folder = await mkdtemp(join(tmpdir(), 'document-store-'));
  const store = await openDocumentStore({ path: join(folder, 'store.db') });
  const client = new MongoClient(store.uri);
  t.teardown(async () => {
    await client.close();
    await store[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return (name) => client.db('mingo').collection(name);
}

/** Runs rounds of questions about generated documents, half of them with indexes. */
async function rounds(
  t: Test,
  kind: number,
  ask: (
    generator: Generator,
    collection: Collection<Document>,
    given: Document[],
    comparison: Comparison,
  ) => Promise<void>,
): Promise<void> {
  const open = await openCollections(t);
  const comparison = new Comparison(t);
  const generator = new Generator(SEED + kind);
  for (let round = 0; round < ROUNDS; round++) {
    const given = generator.documents();
    const collection = open(`round${round}`);
    await collection.insertMany(given.map((document) => ({ ...document })));
    if (round % 2 === 1)
      await collection.createIndexes([{ key: { n: 1 } }, { key: { v: 1, n: -1 } }, { key: { 'd.x': 1 } }]);
    await Promise.all(Array.from({ length: PER_ROUND }, () => ask(generator, collection, given, comparison)));
  }
  comparison.end();
}

/** Where mingo does otherwise than MongoDB's manual says, the store does as the manual says, and the generator asks neither. */
const differences: { what: string; given: Document[]; pipeline: Document[]; mongodb: unknown[] }[] = [
  {
    what: 'a value that is no array has no $size, also below the documents of an array',
    given: [{ e: [{ y: -1 }] }],
    pipeline: [{ $match: { 'e.y': { $size: 1 } } }],
    mongodb: [],
  },
  {
    what: '$elemMatch by fields is of documents only',
    given: [{ l: [4] }],
    pipeline: [{ $match: { l: { $elemMatch: { x: { $gt: 0 } } } } }],
    mongodb: [],
  },
  {
    what: '$elemMatch needs an array at the end of its path',
    given: [{ e: [{ x: 4 }] }],
    pipeline: [{ $match: { 'e.x': { $elemMatch: { $gt: 3 } } } }],
    mongodb: [],
  },
  {
    what: 'documents compare field by field: name and value of the first that differs decide',
    given: [{ d: { x: 5 } }],
    pipeline: [{ $match: { d: { $lt: { x: 1, y: 1 } } } }],
    mongodb: [],
  },
  {
    what: '$all of one value is that value, be it a date',
    given: [{ w: new Date(0) }],
    pipeline: [{ $match: { w: { $all: [new Date(0)] } } }],
    mongodb: [{ w: new Date(0) }],
  },
  {
    what: '$mod takes the whole part of a number',
    given: [{ m: 3.5 }],
    pipeline: [{ $match: { m: { $mod: [3, 0] } } }],
    mongodb: [{ m: 3.5 }],
  },
  {
    what: '$mod is of numbers only',
    given: [{ v: true }],
    pipeline: [{ $match: { v: { $mod: [3, 1] } } }],
    mongodb: [],
  },
  {
    what: 'a field that is not there is as good as null, also to $gte',
    given: [{ n: 1 }],
    pipeline: [{ $match: { 'e.x': { $gte: null } } }],
    mongodb: [{ n: 1 }],
  },
  {
    what: 'a field is null in one of several documents if that has no such field',
    given: [{ e: [{ y: 1 }, { x: 2 }] }],
    pipeline: [{ $match: { 'e.y': null } }],
    mongodb: [{ e: [{ y: 1 }, { x: 2 }] }],
  },
  {
    what: '$type is of the elements of an array, too',
    given: [{ l: [2] }],
    pipeline: [{ $match: { l: { $type: 'number' } } }],
    mongodb: [{ l: [2] }],
  },
  {
    what: 'arrays sort by their least element',
    given: [
      { l: [3, 1], n: 1 },
      { l: [1], n: 2 },
    ],
    pipeline: [{ $sort: { l: 1, n: 1 } }],
    mongodb: [
      { l: [3, 1], n: 1 },
      { l: [1], n: 2 },
    ],
  },
  {
    what: 'expressions compare values of different types by the order of types',
    given: [{ w: new Date(0) }],
    pipeline: [{ $match: { $expr: { $gt: ['$w', 3] } } }],
    mongodb: [{ w: new Date(0) }],
  },
  {
    what: 'in expressions, too, a field that is not there is less than all others',
    given: [{ n: 1 }],
    pipeline: [{ $match: { $expr: { $lt: ['$none', 1] } } }],
    mongodb: [{ n: 1 }],
  },
  {
    what: 'accumulators of null are null',
    given: [{ n: 1 }],
    pipeline: [{ $group: { _id: 1, p: { $max: null } } }],
    mongodb: [{ _id: 1, p: null }],
  },
  {
    what: '$max compares documents and arrays as sorts do',
    given: [{ d: { x: 5 } }, { d: { x: 1, y: 2 } }],
    pipeline: [{ $group: { _id: 1, p: { $max: '$d' } } }],
    mongodb: [{ _id: 1, p: { x: 5 } }],
  },
  {
    what: 'a computed null is a null',
    given: [{ n: 1 }],
    pipeline: [{ $project: { below: { one: null } } }],
    mongodb: [{ below: { one: null } }],
  },
  { what: '$count of nothing gives nothing', given: [], pipeline: [{ $count: 'n' }], mongodb: [] },
  {
    what: 'an empty text can be unwound',
    given: [{ v: '' }],
    pipeline: [{ $unwind: '$v' }],
    mongodb: [{ v: '' }],
  },
];

/** The same of updates. */
const updateDifferences: { what: string; before: Document; update: Document; mongodb: Document }[] = [
  {
    what: '$addToSet leaves what is there as it is, repeated or not',
    before: { l: [1, 1] },
    update: { $addToSet: { l: 2 } },
    mongodb: { l: [1, 1, 2] },
  },
  {
    what: '$addToSet adds each value once',
    before: {},
    update: { $addToSet: { l: { $each: [2, 2] } } },
    mongodb: { l: [2] },
  },
  {
    what: '$slice of $push holds for an array that was not there',
    before: {},
    update: { $push: { l: { $each: [1, 2], $slice: -1 } } },
    mongodb: { l: [2] },
  },
  {
    what: '$sort of $push holds for an array that was not there',
    before: {},
    update: { $push: { l: { $each: [1, 2], $sort: -1 } } },
    mongodb: { l: [2, 1] },
  },
  {
    what: '$max compares an array by its type',
    before: { v: [1] },
    update: { $max: { v: 'text' } },
    mongodb: { v: [1] },
  },
];

void t.test('where the two differ, the store does as MongoDB documents', async (t) => {
  const open = await openCollections(t);
  for (const [i, { what, given, pipeline, mongodb }] of differences.entries()) {
    const collection = open(`difference${i}`);
    if (given.length > 0)
      await collection.insertMany(given.map((document, _id) => ({ _id, ...document })) as never[]);
    const mine = await collection.aggregate(pipeline).toArray();
    t.equal(text(mine.map((document) => without(document, mongodb))), text(mongodb), what);
    t.not(text(aggregate(structuredClone(given), pipeline)), text(mongodb), `mingo differs still: ${what}`);
  }
  for (const { what, before, update: changes, mongodb } of updateDifferences) {
    const collection = open('updated');
    const { insertedId } = await collection.insertOne({ ...before });
    await collection.updateOne({ _id: insertedId }, changes);
    t.same(await collection.findOne({ _id: insertedId }, { projection: { _id: 0 } }), mongodb, what);
    const copy = structuredClone(before);
    update(copy, changes, [], {}, { cloneMode: 'deep' });
    t.notSame(copy, mongodb, `mingo differs still: ${what}`);
  }
});

/** Leaves the _id out where the expected documents have none. */
function without(document: Document, expected: unknown[]): Document {
  const { _id, ...rest } = document;
  return expected.every((one) => '_id' in (one as object)) ? document : rest;
}

void t.test('queries and sorts', (t) =>
  rounds(t, 0, async (generator, collection, given, comparison) => {
    const filter = generator.filter();
    const sort = { ...generator.sort(), _id: 1 as const };
    await comparison.ask(
      { filter, sort },
      given,
      () => collection.find(filter).sort(sort).toArray(),
      () => find(given, filter).sort(sort).all(),
    );
  }),
);

void t.test('pipelines', (t) =>
  rounds(t, 1, async (generator, collection, given, comparison) => {
    const pipeline = generator.pipeline();
    await comparison.ask(
      pipeline,
      given,
      () => collection.aggregate(pipeline).toArray(),
      () => aggregate(structuredClone(given), pipeline),
    );
  }),
);

void t.test('updates', (t) =>
  rounds(t, 2, async (generator, collection, given, comparison) => {
    const document: Document = { ...generator.pick(given) };
    const changes = generator.update(document);
    const _id = generator.nextId();
    await collection.insertOne({ ...document, _id } as never);
    await comparison.ask(
      changes,
      [document],
      async () => {
        await collection.updateOne({ _id } as never, changes);
        return { ...(await collection.findOne({ _id } as never)), _id: 0 };
      },
      () => {
        const copy = structuredClone({ ...document, _id: 0 });
        update(copy, changes, [], {}, { cloneMode: 'deep' });
        return copy;
      },
    );
  }),
);
