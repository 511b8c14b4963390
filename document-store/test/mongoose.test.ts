import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection, Schema, Types } from 'mongoose';
import t from 'tap';
import { openDocumentStore } from '../src/document-store.ts';

const folder = await mkdtemp(join(tmpdir(), 'document-store-'));
const store = await openDocumentStore({ path: join(folder, 'store.db') });
const connection = await createConnection(store.uri, { dbName: 'mongoose' }).asPromise();
t.teardown(async () => {
  await connection.close();
  await store[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const projectSchema = new Schema(
  { name: { type: String, required: true, unique: true }, limits: { type: Map, of: Number } },
  { timestamps: true },
);
const Project = connection.model('Project', projectSchema);
const agentSchema = new Schema(
  {
    project: { type: Schema.Types.ObjectId, ref: 'Project', required: true, index: true },
    name: String,
    cost: Schema.Types.Decimal128,
    big: BigInt,
    id128: Schema.Types.UUID,
    bytes: Buffer,
    tools: [{ name: String, calls: { type: Number, default: 0 } }],
    settings: { voice: String, speed: Number },
    anything: Schema.Types.Mixed,
    expiresAt: { type: Date, expires: 3600 },
  },
  { optimisticConcurrency: true },
);
agentSchema.index({ project: 1, name: -1 }, { unique: true });
const Agent = connection.model('Agent', agentSchema);
await Promise.all([Project.init(), Agent.init()]);

void t.test('indexes of schemas are made, and are in agreement with them', async (t) => {
  t.same(
    (await Agent.listIndexes()).map(({ name }) => name as unknown),
    ['_id_', 'project_1', 'expiresAt_1', 'project_1_name_-1'],
    'in any order',
  );
  t.same(await Agent.diffIndexes(), { toDrop: [], toCreate: [] });
});

void t.test('documents are saved, found, populated and deleted', async (t) => {
  const project = await Project.create({ name: 'one', limits: { calls: 5 } });
  const bytes = Buffer.of(1, 2, 3);
  const id128 = new Types.UUID();
  const agent = await Agent.create({
    project: project._id,
    name: 'a',
    cost: Types.Decimal128.fromString('1.50'),
    big: 9007199254740993n,
    id128,
    bytes,
    tools: [{ name: 'x' }],
    settings: { voice: 'v' },
    anything: { deep: [1, { two: 2 }] },
  });
  const found = await Agent.findById(agent._id)
    .populate<{ project: { name: string; limits: Map<string, number> } }>('project')
    .orFail();
  t.equal(found.project.name, 'one');
  t.equal(found.project.limits.get('calls'), 5);
  t.equal(String(found.cost), '1.50');
  t.equal(found.big, 9007199254740993n);
  t.equal(String(found.id128), String(id128));
  t.same(found.bytes, bytes);
  t.same(found.anything, { deep: [1, { two: 2 }] });
  t.equal((await Agent.findOne({ id128 }).lean())!.name, 'a');
  found.tools.push({ name: 'y', calls: 2 });
  found.settings!.speed = 2;
  await found.save();
  t.match(await Agent.findOne({ 'tools.name': 'y' }).lean(), {
    tools: [
      { name: 'x', calls: 0 },
      { name: 'y', calls: 2 },
    ],
    settings: { voice: 'v', speed: 2 },
  });
  await found.deleteOne();
  t.equal(await Agent.countDocuments(), 0);
});

void t.test('a second one of a unique value is refused', async (t) => {
  await Project.create({ name: 'twice' });
  await t.rejects(Project.create({ name: 'twice' }), {
    code: 11000,
    keyPattern: { name: 1 },
    keyValue: { name: 'twice' },
  });
});

void t.test('of two versions of a document the older is refused', async (t) => {
  const project = new Types.ObjectId();
  const { _id } = await Agent.create({ project, name: 'v' });
  const [first, second] = [await Agent.findById(_id).orFail(), await Agent.findById(_id).orFail()];
  first.name = 'first';
  await first.save();
  second.name = 'second';
  await t.rejects(second.save(), { name: 'VersionError' });
});

void t.test('updates by query, bulk writes and upserts', async (t) => {
  const project = new Types.ObjectId();
  await Agent.insertMany(
    [1, 2, 3].map((n) => ({ project, name: `n${n}`, tools: [{ name: 'a', calls: n }] })),
  );
  const updated = await Agent.findOneAndUpdate(
    { project, name: 'n2' },
    { $inc: { 'tools.$[t].calls': 10 } },
    { arrayFilters: [{ 't.name': 'a' }], returnDocument: 'after' },
  ).lean();
  t.equal(updated!.tools[0]!.calls, 12);
  const upserted = await Agent.findOneAndUpdate(
    { project, name: 'new' },
    { $setOnInsert: { settings: { voice: 'w' } } },
    { upsert: true, returnDocument: 'after' },
  ).lean();
  t.match(upserted, { name: 'new', settings: { voice: 'w' } });
  const result = await Agent.bulkWrite([
    { updateOne: { filter: { project, name: 'n1' }, update: { $set: { 'settings.speed': 3 } } } },
    { deleteOne: { filter: { project, name: 'n3' } } },
    { insertOne: { document: { project, name: 'n4' } } },
  ]);
  t.match(result, { modifiedCount: 1, deletedCount: 1, insertedCount: 1 });
  t.same(await Agent.find({ project }).sort({ name: 1 }).distinct('name'), ['n1', 'n2', 'n4', 'new']);
  t.equal(await Agent.countDocuments({ project, name: /^n/ }), 4);
});

void t.test('aggregation and cursors', async (t) => {
  const project = new Types.ObjectId();
  await Agent.insertMany(
    Array.from({ length: 120 }, (_, n) => ({
      project,
      name: `c${n}`,
      settings: { voice: n % 3 ? 'a' : 'b', speed: n },
    })),
  );
  const groups = await Agent.aggregate<{ _id: string; n: number; top: number }>([
    { $match: { project } },
    { $group: { _id: '$settings.voice', n: { $sum: 1 }, top: { $max: '$settings.speed' } } },
    { $sort: { _id: 1 } },
  ]);
  t.same(groups, [
    { _id: 'a', n: 80, top: 119 },
    { _id: 'b', n: 40, top: 117 },
  ]);
  let seen = 0;
  for await (const agent of Agent.find({ project }).sort({ name: -1 }).lean().cursor({ batchSize: 25 }))
    if (agent.name) seen += 1;
  t.equal(seen, 120);
});
