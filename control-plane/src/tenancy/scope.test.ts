import { join } from 'node:path';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { BackgroundWork } from '../lifecycle/background-work.ts';
import { memberCollection } from '../members/member-model.ts';
import { orgCollection } from '../orgs/org-model.ts';
import { projectCollection } from '../projects/project-model.ts';
import { defineCollection, type StoredRecord } from '../storage/collection.ts';
import { openDatabase } from '../storage/database.ts';
import { Directory, DIRECTORY_TTL_MS } from './directory.ts';
import { checkProjects } from './project-references.ts';
import { checkRoom, RECORDS_PER_ORG, RECORDS_PER_PROJECT } from './record-limit.ts';
import { checkReferences, missingReferences } from './references.ts';
import { MAX_CHANGE_ATTEMPTS, Scope } from './scope.ts';

interface Thing extends StoredRecord {
  org_id: string;
  project_id: string;
  kind: string;
  size: number;
}
const things = defineCollection<Thing, 'project'>({
  name: 'things',
  tenancy: 'project',
  fields: { kind: { type: String, required: true }, size: { type: Number, default: 0 } },
});

const store = await openDocumentStore({ path: join(t.testdir(), 'scope.db') });
const logger = silentLogger();
const database = await openDatabase(store.uri, { logger });
t.teardown(async () => {
  await database[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

const scopeOf = (projectId: string | null, projects: string[] | null, orgId = 'org_1') =>
  new Scope(database, { orgId, projectId, projects, role: 'editor' });
const failing = (how: object) => how as Error;
const one = scopeOf('prj_1', ['prj_1']);

void t.test('every query is narrowed by the tenancy of its records', (t) => {
  const [two, all] = [scopeOf(null, ['prj_1', 'prj_2']), scopeOf(null, null)];
  const org_id = 'org_1';
  t.same(one.filter('org'), { org_id });
  t.same(one.filter('project'), { org_id, project_id: 'prj_1' });
  t.same(two.filter('project'), { org_id, project_id: { $in: ['prj_1', 'prj_2'] } });
  t.same(one.filter('shared'), { org_id, project_id: { $in: [null, 'prj_1'] } });
  t.same(one.filter('projects'), { org_id, project_ids: { $in: [null, 'prj_1'] } });
  for (const tenancy of ['org', 'project', 'shared', 'projects'] as const)
    t.same(all.filter(tenancy), { org_id });
  t.throws(() => one.filter('none'), /without a tenant/);
  t.ok(two.sees('prj_2'));
  t.notOk(two.sees('prj_3'));
  t.ok(all.sees('prj_3'));
  const narrowed = all.inProject('prj_2');
  t.match(narrowed, { orgId: org_id, projectId: 'prj_2', projects: ['prj_2'], role: 'editor' });
  t.end();
});

void t.test('records are found, sorted, skipped and counted, those of the tenant alone', async (t) => {
  const mine = one.collection(things);
  for (const [_id, size] of [
    ['thg_a', 3],
    ['thg_b', 1],
    ['thg_c', 2],
  ] as const)
    t.match(await mine.insert({ _id, kind: 'find', size }), {
      _id,
      org_id: 'org_1',
      project_id: 'prj_1',
      size,
    });
  await scopeOf('prj_2', ['prj_2']).collection(things).insert({ _id: 'thg_d', kind: 'find', size: 9 });
  await scopeOf('prj_1', ['prj_1'], 'org_2')
    .collection(things)
    .insert({ _id: 'thg_e', kind: 'find', size: 9 });
  const ids = async (options: { sort?: Record<string, 1 | -1>; skip?: number; limit: number }) =>
    (await mine.find({ kind: 'find' }, options)).map(({ _id }) => _id);
  t.same(await ids({ sort: { size: 1 }, limit: 9 }), ['thg_b', 'thg_c', 'thg_a']);
  t.same(await ids({ sort: { size: -1 }, skip: 1, limit: 1 }), ['thg_c']);
  t.equal((await mine.findOne({ kind: 'find' }, { sort: { size: 1 } }))?._id, 'thg_b');
  t.equal(await mine.findOne({ _id: 'thg_d' }), null);
  t.equal((await mine.get('thg_a')).size, 3);
  await t.rejects(mine.get('thg_d'), { code: 'not_found' });
  t.equal(await mine.count({ kind: 'find' }), 3);
  t.equal(await mine.count({ kind: 'find' }, { limit: 2 }), 2);
  const sums = await mine.group<{ _id: string; sum: number | bigint }>(
    { kind: 'find' },
    { _id: '$kind', sum: { $sum: '$size' } },
  );
  t.same(
    sums.map(({ _id, sum }) => [_id, Number(sum)]),
    [['find', 6]],
  );
});

void t.test('a change reaches records of the tenant alone, and what it does not name stays', async (t) => {
  const mine = one.collection(things);
  const other = scopeOf('prj_2', ['prj_2']).collection(things);
  await mine.insert({ _id: 'thg_f', kind: 'change', size: 1 });
  await other.insert({ _id: 'thg_g', kind: 'change', size: 1 });
  t.match(await mine.patch('thg_f', { size: 2, kind: undefined }), { size: 2, kind: 'change' });
  await t.rejects(mine.patch('thg_g', { size: 2 }), { code: 'not_found' });
  t.match(await mine.update({ _id: 'thg_f' }, { $inc: { size: 1 } }), { size: 3 }, 'as it is now');
  t.equal(await mine.update({ _id: 'thg_g' }, { $inc: { size: 1 } }), null);
  t.equal(await mine.updateMany({ kind: 'change' }, { $set: { size: 7 } }), 1);
  t.equal((await other.get('thg_g')).size, 1);
  t.equal(await mine.delete({ _id: 'thg_g' }), null);
  t.match(await mine.delete({ _id: 'thg_f' }), { _id: 'thg_f', size: 7 });
  t.equal(await mine.deleteMany({ kind: 'change' }), 0);
  t.equal(await other.deleteMany({ kind: 'change' }), 1);
});

void t.test('a change by what a record holds is computed again until it is the first', async (t) => {
  const mine = one.collection(things);
  const read = await mine.insert({ _id: 'thg_h', kind: 'race', size: 1 });
  await mine.patch('thg_h', { size: 5 });
  const seen: number[] = [];
  const changed = await mine.change(read, ['size'], ({ size }) => {
    seen.push(size);
    return Promise.resolve({ size: size + 1, kind: undefined });
  });
  t.same(seen, [1, 5]);
  t.match(changed, { size: 6, kind: 'race' });
  await mine.patch('thg_h', { kind: 'other' });
  t.match(await mine.change(changed, ['size'], () => Promise.resolve({ size: 9 })), {
    size: 9,
    kind: 'other',
  });

  let tries = 0;
  const losing = mine.change(changed, ['size'], async ({ size }) => {
    tries++;
    await mine.patch('thg_h', { size: size + 1 });
    return { size: 0 };
  });
  await t.rejects(losing, { code: 'version_conflict' });
  t.equal(tries, MAX_CHANGE_ATTEMPTS);
  await mine.delete({ _id: 'thg_h' });
  await t.rejects(
    mine.change(changed, ['size'], () => Promise.resolve({ size: 1 })),
    { code: 'not_found' },
  );
});

void t.test('ids that a request names are usable where the record will live', async (t) => {
  await one.collection(things).insert({ _id: 'thg_i', kind: 'named', size: 0 });
  const named = (...ids: string[]) => ids.map((id, at) => ({ collection: things, id, loc: ['body', at] }));
  await checkReferences(one, named('thg_i', 'thg_i'));
  await checkReferences(one, []);
  const missing = [
    { loc: ['body', 1], msg: 'Record not found in this project', type: 'reference_not_found' },
  ];
  t.same(await missingReferences(one, named('thg_i', 'thg_x')), missing);
  await t.rejects(checkReferences(one, named('thg_i', 'thg_x')), failing({ details: missing }));
  const foreign = scopeOf('prj_2', ['prj_2']);
  await t.rejects(checkReferences(foreign, named('thg_i')), failing({ details: [{ loc: ['body', 0] }] }));
  await t.rejects(
    checkProjects(one, [{ id: 'prj_x', loc: ['body', 'project_id'] }]),
    failing({ details: [{ loc: ['body', 'project_id'], type: 'reference_not_found' }] }),
  );
});

void t.test('a place has room for so many records', async (t) => {
  const asked: object[] = [];
  const holding = (count: number) =>
    ({
      count: (filter: object, options: object) => (asked.push([filter, options]), Promise.resolve(count)),
    }) as never;
  await checkRoom(holding(RECORDS_PER_PROJECT - 1), { kind: 'a' } as never);
  t.same(asked, [[{ kind: 'a' }, { limit: RECORDS_PER_PROJECT }]]);
  const full = { code: 'limit_reached', status: 409 };
  await t.rejects(checkRoom(holding(RECORDS_PER_PROJECT)), { ...full, message: /in a project is/ });
  await t.rejects(checkRoom(holding(RECORDS_PER_ORG), {}, 'org'), { ...full, message: /in an org is/ });
});

void t.test('orgs, projects and memberships are remembered for seconds', async (t) => {
  const clock = new ManualClock(Date.now());
  const background = new BackgroundWork(logger);
  t.teardown(() => background[Symbol.asyncDispose]());
  const directory = new Directory({ database, clock, background });
  const orgs = database.model(orgCollection).collection;
  const projects = database.model(projectCollection).collection;
  const members = database.model(memberCollection).collection;
  const docs = [
    { _id: 'mbr_2', org_id: 'org_b', user_id: 'usr_d', status: 'active', created_at: new Date(2) },
    { _id: 'mbr_1', org_id: 'org_a', user_id: 'usr_d', status: 'active', created_at: new Date(1) },
    { _id: 'mbr_3', org_id: 'org_c', user_id: 'usr_d', status: 'removed', created_at: new Date(0) },
    { _id: 'mbr_4', org_id: 'org_d', user_id: 'usr_e', status: 'active', created_at: new Date(0) },
  ];
  await members.insertMany(docs as never[]);
  await orgs.insertOne({ _id: 'org_a', name: 'A' } as never);
  await projects.insertOne({ _id: 'prj_a', name: 'P' } as never);
  t.same(
    (await directory.memberships('usr_d')).map(({ org_id }) => org_id),
    ['org_a', 'org_b'],
    'the oldest first',
  );
  t.equal((await directory.membership('usr_d', 'org_b'))?._id, 'mbr_2');
  t.equal(await directory.membership('usr_d', 'org_c'), null);
  t.equal(await directory.org('org_x'), null);
  t.match(await directory.org('org_a'), { name: 'A' });
  t.match(await directory.project('prj_a'), { name: 'P' });
  await orgs.updateOne({ _id: 'org_a' } as never, { $set: { name: 'A2' } });
  await projects.updateOne({ _id: 'prj_a' } as never, { $set: { name: 'P2' } });
  await members.deleteOne({ _id: 'mbr_2' } as never);
  clock.advance(DIRECTORY_TTL_MS - 1);
  t.match(await directory.org('org_a'), { name: 'A' });
  clock.advance(1);
  t.match(await directory.org('org_a'), { name: 'A2' });
  t.match(await directory.project('prj_a'), { name: 'P2' });
  t.equal(await directory.membership('usr_d', 'org_b'), null);

  await orgs.updateOne({ _id: 'org_a' } as never, { $set: { name: 'A3' } });
  await projects.updateOne({ _id: 'prj_a' } as never, { $set: { name: 'P3' } });
  await members.deleteOne({ _id: 'mbr_1' } as never);
  for (const id of ['org_a', 'prj_a', 'usr_d']) directory.forget(id);
  t.match(await directory.org('org_a'), { name: 'A3' }, 'who writes sees it at once');
  t.match(await directory.project('prj_a'), { name: 'P3' });
  t.same(await directory.memberships('usr_d'), []);
});

void t.test('a visit is noted to the minute, once a minute', async (t) => {
  const begun = Math.ceil(Date.now() / 60_000) * 60_000;
  const clock = new ManualClock(begun);
  const background = new BackgroundWork(logger);
  const directory = new Directory({ database, clock, background });
  const members = database.model(memberCollection);
  await members.collection.insertOne({
    ...{ _id: 'mbr_v', org_id: 'org_v', user_id: 'usr_v', status: 'active', created_at: new Date(0) },
    updated_at: new Date(0),
  } as never);
  const member = (await directory.membership('usr_v', 'org_v'))!;
  clock.advance(59_000);
  directory.seen(member);
  t.same(member.last_seen_at, new Date(begun));
  clock.advance(999);
  directory.seen(member);
  t.same(member.last_seen_at, new Date(begun), 'it is known');
  clock.advance(1);
  directory.seen(member);
  t.same(member.last_seen_at, new Date(begun + 60_000));
  await background[Symbol.asyncDispose]();
  const stored = await members.findOne({ _id: 'mbr_v' }).lean();
  t.same(stored?.last_seen_at, new Date(begun + 60_000));
  t.same(stored?.updated_at, new Date(0), 'the membership has not changed');
});
