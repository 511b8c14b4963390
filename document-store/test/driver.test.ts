import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Binary,
  Decimal128,
  Double,
  Int32,
  Long,
  MongoBulkWriteError,
  MongoClient,
  ObjectId,
  Timestamp,
  UUID,
  type Db,
} from 'mongodb';
import t, { type Test } from 'tap';
import { openDocumentStore } from '../src/document-store.ts';

async function openFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'document-store-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const folder = await mkdtemp(join(tmpdir(), 'document-store-'));
const shared = await openDocumentStore({ path: join(folder, 'store.db') });
const sharedClient = new MongoClient(shared.uri);
t.teardown(async () => {
  await sharedClient.close();
  await shared[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
let databases = 0;

/** A database for one test. */
function openDatabase(): Db {
  return sharedClient.db(`test${++databases}`);
}

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (error as { code?: unknown }).code,
  );
}

void t.test('the official driver greets, pings and asks about the server', async (t) => {
  const db = openDatabase();
  const hello = await db.command({ hello: 1 });
  t.match(hello, {
    isWritablePrimary: true,
    maxBsonObjectSize: 16777216,
    maxWireVersion: 21,
    logicalSessionTimeoutMinutes: 30,
    ok: 1,
  });
  t.same(await db.command({ ping: 1 }), { ok: 1 });
  t.match(await db.admin().buildInfo(), { version: '7.0.0' });
  t.match(await db.admin().serverStatus(), { process: 'parley-document-store' });
  await db.createCollection('a');
  await db.collection('b').insertOne({ x: 1 });
  t.same((await db.listCollections().toArray()).map(({ name }) => name).sort(), ['a', 'b']);
  t.same(await db.listCollections({ name: 'a' }, { nameOnly: true }).toArray(), [
    { name: 'a', type: 'collection' },
  ]);
  t.same(
    (await db.admin().listDatabases()).databases.map(({ name }) => name),
    [db.databaseName],
  );
  t.match(await db.command({ collStats: 'b' }), { count: 1, nindexes: 1 });
  t.match(await db.stats(), { collections: 2, objects: 1 });
  t.equal(await codeOf(db.createCollection('a')), 48, 'a collection is created once');
  await db.renameCollection('b', 'c');
  t.same(await db.collection('c').countDocuments(), 1);
  await db.dropDatabase();
  t.same(await db.listCollections().toArray(), []);
});

void t.test('every type comes back as it was stored', async (t) => {
  const db = openDatabase();
  const collection = db.collection('types', { promoteValues: false, promoteLongs: false });
  const document = {
    _id: new ObjectId(),
    int: new Int32(7),
    double: new Double(7),
    fraction: new Double(0.1),
    long: Long.fromString('-9223372036854775808'),
    decimal: Decimal128.fromString('1.10E+3'),
    text: 'ünï \0 \u{1f600}',
    binary: new Binary(Buffer.of(0, 255)),
    uuid: new UUID('01234567-89ab-cdef-0123-456789abcdef'),
    date: new Date(-1),
    timestamp: new Timestamp({ t: 4294967295, i: 1 }),
    regex: /a\/b/i,
    array: [[], {}, null, [new Double(1)]],
    nested: { __proto__x: 1, toString: 'a', 'with.dot': 1, $dollar: 1 },
    empty: '',
    yes: true,
    nothing: null,
  };
  await collection.insertOne(document);
  const found = await collection.findOne({}, { promoteValues: false, promoteLongs: false });
  t.same(JSON.stringify(found), JSON.stringify(document));
  const types = await collection
    .aggregate([
      { $project: Object.fromEntries(Object.keys(document).map((key) => [key, { $type: `$${key}` }])) },
    ])
    .toArray();
  t.match(types[0], {
    int: 'int',
    double: 'double',
    fraction: 'double',
    long: 'long',
    decimal: 'decimal',
    uuid: 'binData',
    regex: 'regex',
  });
});

void t.test('insertMany unordered keeps what it can and says what it could not', async (t) => {
  const db = openDatabase();
  const collection = db.collection<{ _id: number }>('many');
  const refused = await collection
    .insertMany([{ _id: 1 }, { _id: 1 }, { _id: 2 }, { _id: 2 }, { _id: 3 }], { ordered: false })
    .catch((error: unknown) => error);
  t.ok(refused instanceof MongoBulkWriteError);
  const error = refused as MongoBulkWriteError;
  t.equal(error.insertedCount, 3);
  t.match(error.writeErrors, [
    { index: 1, code: 11000 },
    { index: 3, code: 11000 },
  ]);
  t.match(
    error.message,
    /E11000 duplicate key error collection: test3\.many index: _id_ dup key: \{ _id: 1 \}/,
  );
  t.equal(await collection.countDocuments(), 3);
});

void t.test('documents up to 16 MiB fit, and larger ones are refused', async (t) => {
  const db = openDatabase();
  const collection = db.collection<{ _id: number; text: string }>('large');
  const text = 'x'.repeat(16 * 1024 * 1024 - 100);
  await collection.insertOne({ _id: 1, text });
  t.equal((await collection.findOne({ _id: 1 }))!.text.length, text.length);
  t.equal(await codeOf(collection.updateOne({ _id: 1 }, { $set: { more: 'x'.repeat(1000) } })), 10334);
  await collection.insertMany([2, 3].map((_id) => ({ _id, text: 'y'.repeat(9_000_000) })));
  t.same(
    (await collection.find({ _id: { $gt: 1 } }).toArray()).map(({ _id }) => _id),
    [2, 3],
    'a batch holds no more than fits into one message',
  );
});

void t.test('cursors go on after others have written, and can be killed', async (t) => {
  const db = openDatabase();
  const collection = db.collection<{ _id: number; n: number }>('cursor');
  await collection.createIndex({ n: 1 });
  await collection.insertMany(Array.from({ length: 500 }, (_, i) => ({ _id: i, n: i % 10 })));
  const cursor = collection.find({}, { batchSize: 10 }).sort({ n: 1 });
  const seen: number[] = [];
  for await (const { _id, n } of cursor) {
    seen.push(_id);
    if (n === 5 && _id === 5) await collection.deleteMany({ n: 9 });
  }
  t.equal(seen.length, 450, 'what was deleted before the cursor came there is not seen');
  t.equal(new Set(seen).size, 450, 'nothing is seen twice');

  const open = collection.find({}, { batchSize: 2 });
  await open.next();
  const { id } = open;
  await open.close();
  t.equal(await codeOf(db.command({ getMore: id, collection: 'cursor' })), 43);

  const dropped = collection.find({}, { batchSize: 2 });
  await dropped.next();
  await collection.drop();
  t.equal(await codeOf(dropped.toArray()), 175);
});

void t.test('the end of a session ends its cursors', async (t) => {
  const db = openDatabase();
  const collection = db.collection('sessions');
  await collection.insertMany(Array.from({ length: 5 }, (_, i) => ({ i })));
  const session = sharedClient.startSession();
  const cursor = collection.find({}, { batchSize: 2, session });
  await cursor.next();
  await db.command({ endSessions: [session.id] });
  t.equal(await codeOf(cursor.toArray()), 43);
  await session.endSession();
});

void t.test('200 racing increments count to 200 and 20 racing upserts make one document', async (t) => {
  const db = openDatabase();
  const collection = db.collection<{ _id: string; n: number }>('races');
  await Promise.all(
    Array.from({ length: 200 }, () =>
      collection.updateOne({ _id: 'a' }, { $inc: { n: 1 } }, { upsert: true }),
    ),
  );
  t.equal((await collection.findOne({ _id: 'a' }))!.n, 200);
  await db.collection('people').createIndex({ email: 1 }, { unique: true });
  await Promise.all(
    Array.from({ length: 20 }, () =>
      db.collection('people').updateOne({ email: 'x' }, { $setOnInsert: { at: 1 } }, { upsert: true }),
    ),
  );
  t.equal(await db.collection('people').countDocuments(), 1);
});

void t.test('an upsert whose answer cannot be made inserts nothing, and counts nothing', async (t) => {
  const collection = openDatabase().collection<{ _id: number }>('counted');
  await collection.insertOne({ _id: 1 });
  t.equal(await collection.estimatedDocumentCount(), 1);
  const asked = collection.findOneAndUpdate(
    { _id: 2 },
    { $set: { n: 0 } },
    { upsert: true, returnDocument: 'after', projection: { x: { $divide: [1, '$n'] } } },
  );
  t.type(await codeOf(asked), 'number');
  t.equal(await collection.estimatedDocumentCount(), 1);
  t.equal(await collection.countDocuments(), 1);
});

void t.test('of many racing claims of a job each wins one of its own', async (t) => {
  const db = openDatabase();
  const jobs = db.collection<{ _id: number; status: string; worker?: number }>('jobs');
  await jobs.createIndex({ status: 1, _id: 1 });
  await jobs.insertMany(Array.from({ length: 30 }, (_, _id) => ({ _id, status: 'queued' })));
  const claims = await Promise.all(
    Array.from({ length: 40 }, (_, worker) =>
      jobs.findOneAndUpdate(
        { status: 'queued' },
        { $set: { status: 'running', worker } },
        { sort: { _id: 1 }, returnDocument: 'after' },
      ),
    ),
  );
  const won = claims.filter((claim) => claim !== null).map(({ _id }) => _id);
  t.equal(won.length, 30);
  t.equal(new Set(won).size, 30);
});

void t.test('explain tells index scans from collection scans, with true figures', async (t) => {
  const db = openDatabase();
  const calls = db.collection('calls');
  await calls.createIndex({ org: 1, project: 1, createdAt: -1 });
  await calls.createIndex({ tags: 1 });
  await calls.createIndex({ email: 1 }, { partialFilterExpression: { email: { $type: 'string' } } });
  await calls.insertMany(
    Array.from({ length: 400 }, (_, i) => ({
      org: i % 4,
      project: i % 2,
      createdAt: new Date(i),
      tags: [`t${i % 3}`],
      email: i % 2 ? `e${i}` : null,
    })),
  );

  const figures = async (filter: object, sort: Record<string, 1 | -1> = {}, limit = 0) => {
    const { queryPlanner, executionStats } = (await calls
      .find(filter)
      .sort(sort)
      .limit(limit)
      .explain('executionStats')) as {
      queryPlanner: { winningPlan: unknown };
      executionStats: { nReturned: number; totalKeysExamined: number; totalDocsExamined: number };
    };
    const stages = [...JSON.stringify(queryPlanner.winningPlan).matchAll(/"stage":"(\w+)"/g)].map(
      (match) => match[1],
    );
    const { nReturned, totalKeysExamined, totalDocsExamined } = executionStats;
    return [stages, nReturned, totalKeysExamined, totalDocsExamined];
  };
  t.same(await figures({ missing: 1 }), [['COLLSCAN'], 0, 0, 400]);
  t.same(await figures({ org: 1, project: 1 }, { createdAt: -1 }, 20), [
    ['LIMIT', 'FETCH', 'IXSCAN'],
    20,
    20,
    20,
  ]);
  t.same(await figures({ org: 1, project: 1 }, { createdAt: 1 }, 20), [
    ['LIMIT', 'FETCH', 'IXSCAN'],
    20,
    20,
    20,
  ]);
  t.same(await figures({ org: 1, project: 1, createdAt: { $gte: new Date(100), $lt: new Date(140) } }), [
    ['FETCH', 'IXSCAN'],
    10,
    10,
    10,
  ]);
  t.same(await figures({ org: { $in: [0, 2] }, project: 0 }, { createdAt: -1 }, 10), [
    ['LIMIT', 'FETCH', 'SORT_MERGE', 'IXSCAN'],
    10,
    10,
    10,
  ]);
  t.same(await figures({ tags: 't1' }), [['FETCH', 'IXSCAN'], 133, 133, 133]);
  t.same(await figures({ email: 'e7' }), [['FETCH', 'IXSCAN'], 1, 1, 1]);
  t.same(
    await figures({ email: null }),
    [['COLLSCAN'], 200, 0, 400],
    'a partial index is not used for what it does not hold',
  );
  t.same(await figures({ org: 1 }, { email: 1 }), [['SORT', 'FETCH', 'IXSCAN'], 100, 100, 100]);
  const count = await calls
    .aggregate([{ $match: { org: 1, project: 1 } }, { $group: { _id: 1, n: { $sum: 1 } } }])
    .explain('executionStats');
  t.match(JSON.stringify(count), /"stage":"COUNT_SCAN"/);
  const update = (await db.command({
    explain: { update: 'calls', updates: [{ q: { missing: 1 }, u: { $set: { a: 1 } } }] },
    verbosity: 'queryPlanner',
  })) as object;
  t.match(JSON.stringify(update), /"stage":"COLLSCAN"/);
});

void t.test('what is not supported is refused with MongoDB’s codes', async (t) => {
  const db = openDatabase();
  const collection = db.collection('refused');
  await collection.insertOne({ a: 1 });
  t.equal(await codeOf(db.command({ frobnicate: 1 })), 59);
  t.equal(await codeOf(db.command({ find: 'refused', filter: {}, frobnicate: 1 })), 40415);
  t.equal(await codeOf(collection.watch().next()), 40573);
  t.equal(await codeOf(db.watch().next()), 40573);
  const transaction = { txnNumber: Long.fromNumber(1), startTransaction: true, autocommit: false };
  t.equal(await codeOf(db.command({ insert: 'refused', documents: [{ b: 1 }], ...transaction })), 20);
  await t.rejects(
    sharedClient.withSession((session) =>
      session.withTransaction(() => collection.insertOne({ b: 1 }, { session })),
    ),
  );
  t.equal(await codeOf(collection.find({ $text: { $search: 'x' } }).toArray()), 2);
  t.equal(await codeOf(collection.find({ $where: 'true' }).toArray()), 2);
  t.equal(await codeOf(collection.find({ a: 1 }).collation({ locale: 'de' }).toArray()), 2);
  t.equal(await codeOf(collection.createIndex({ a: 'text' })), 67);
  t.equal(await codeOf(collection.createIndex({ a: '2dsphere' })), 67);
  t.equal(await codeOf(db.createCollection('capped', { capped: true, size: 1000 })), 72);
  t.equal(await codeOf(collection.insertOne({ b: 1 }, { writeConcern: { w: 3 } })), 2);
  t.equal(await codeOf(db.collection('a$b').insertOne({ b: 1 })), 73);
  await t.rejects(collection.aggregate([{ $lookup: { from: 'b', as: 'c' } }]).toArray(), {
    code: 40324,
    message: "Unrecognized pipeline stage name: '$lookup'",
  });
  for (const stage of ['$out', '$merge', '$facet', '$set', '$addFields', '$replaceRoot', '$unionWith'])
    t.equal(await codeOf(collection.aggregate([{ [stage]: {} }]).toArray()), 40324, stage);
  for (const accumulator of ['$push', '$addToSet', '$first', '$last', '$stdDevPop', '$topN'])
    t.equal(
      await codeOf(collection.aggregate([{ $group: { _id: 1, x: { [accumulator]: '$a' } } }]).toArray()),
      15952,
      accumulator,
    );
  for (const expression of ['$map', '$reduce', '$let', '$concat', '$dateToString', '$switch', '$round'])
    t.equal(
      await codeOf(collection.aggregate([{ $project: { x: { [expression]: 1 } } }]).toArray()),
      168,
      expression,
    );
  t.equal(await codeOf(collection.updateMany({}, [{ $set: { b: '$a' } }])), 9, 'an update by a pipeline');
  t.same(await collection.find({}, { projection: { _id: 0 } }).toArray(), [{ a: 1 }]);
  t.equal(await codeOf(db.command({ hello: 1, maxAwaitTimeMS: 10, topologyVersion: {} })), 31368);
  t.equal(await collection.countDocuments(), 1, 'and nothing was changed');
  await collection.insertOne({ b: 1 }, { writeConcern: { w: 'majority', j: true } });
  await collection.insertOne({ b: 2 }, { writeConcern: { w: 0 } });
  t.equal(await collection.countDocuments(), 3, 'write concerns that a single server can meet are accepted');
});

void t.test('TTL indexes remove what has expired, and nothing else', async (t) => {
  const db = openDatabase();
  const collection = db.collection<{ _id: string; at?: unknown }>('ttl');
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: 60 });
  const [past, future] = [new Date(Date.now() - 61_000), new Date(Date.now() + 3_600_000)];
  await collection.insertMany([
    { _id: 'past', at: past },
    { _id: 'future', at: future },
    { _id: 'one of two past', at: [future, past] },
    { _id: 'a number', at: 1 },
    { _id: 'nothing' },
  ]);
  const sweeps = new EventEmitter();
  const poll = setInterval(() => {
    void collection.countDocuments({ _id: 'past' }).then((n) => n === 0 && sweeps.emit('swept'));
  }, 50);
  await once(sweeps, 'swept');
  clearInterval(poll);
  t.same(
    (await collection.find().sort({ _id: 1 }).toArray()).map(({ _id }) => _id),
    ['a number', 'future', 'nothing'],
  );
  await db.command({ collMod: 'ttl', index: { keyPattern: { at: 1 }, expireAfterSeconds: 5 } });
  t.equal((await collection.indexes())[1]!.expireAfterSeconds, 5);
});

void t.test('data and indexes are there again after closing and opening', async (t) => {
  const folder = await openFolder(t);
  const path = join(folder, 'store.db');
  for (const round of [1, 2]) {
    const store = await openDocumentStore({ path, synchronous: round === 1 ? 'full' : 'normal' });
    const client = new MongoClient(store.uri);
    const collection = client.db('test').collection<{ _id: number; a: unknown }>('kept');
    if (round === 1) {
      await collection.createIndex({ a: 1 }, { unique: true, sparse: true });
      await collection.insertOne({ _id: 1, a: ['x', 'y'] });
    } else {
      t.same(await collection.findOne({ a: 'y' }), { _id: 1, a: ['x', 'y'] });
      t.equal(await codeOf(collection.insertOne({ _id: 2, a: 'x' })), 11000);
    }
    await client.close();
    await store[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  }
});

void t.test('a file is open once, and a host beyond the machine is refused', async (t) => {
  const folder = await openFolder(t);
  const path = join(folder, 'store.db');
  const store = await openDocumentStore({ path });
  await t.rejects(openDocumentStore({ path }), /locked/);
  await store[Symbol.asyncDispose]();
  await t.rejects(openDocumentStore({ path, host: '0.0.0.0' }), /loopback/);
  await t.rejects(openDocumentStore({ path: join(folder, 'none', 'store.db') }), /no such file or directory/);
});

void t.test('a unix socket serves the same, to its owner only', async (t) => {
  const folder = await openFolder(t);
  const socketPath = join(folder, 'store.sock');
  const store = await openDocumentStore({ path: join(folder, 'store.db'), socketPath });
  const client = new MongoClient(`mongodb://${encodeURIComponent(socketPath)}/?directConnection=true`);
  await client.db('test').collection('a').insertOne({ x: 1 });
  t.equal((await stat(socketPath)).mode & 0o777, 0o600);
  t.equal((await stat(join(folder, 'store.db'))).mode & 0o777, 0o600);
  t.equal((await stat(join(folder, 'store.db-wal'))).mode & 0o777, 0o600);
  await client.close();
  await store[Symbol.asyncDispose]();
});

void t.test('bytes that are no message end their connection and nobody else’s', async (t) => {
  const db = openDatabase();
  const port = shared.port!;
  const nonsense = [
    Buffer.from('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'),
    Buffer.from([0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0]),
    Buffer.from([21, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0, 0, 0, 0, 0, 9]),
    Buffer.from([26, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xdd, 7, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0]),
  ];
  for (const bytes of nonsense) {
    const socket = connect(port, '127.0.0.1');
    socket.write(bytes);
    await once(socket, 'close');
  }
  t.same(await db.command({ ping: 1 }), { ok: 1 });
});
