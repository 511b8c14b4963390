import t from 'tap';
import type { OrgRecord } from '../orgs/org-model.ts';
import type { Collection, StoredRecord, Tenancy } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { Access } from './access.ts';
import type { Directory } from './directory.ts';
import type { Principal } from './principal.ts';
import { principalId } from './principal.ts';
import { queryScope } from './query-scope.ts';
import { lesserRole, roleAtLeast, ROLES, type Role } from './roles.ts';
import { inOrg, inProject, inWholeOrg, item, within } from './target.ts';

const KEY: Principal = {
  auth: 'api_key',
  api_key_id: 'key_1',
  org_id: 'org_1',
  project_id: 'prj_1',
  role: 'editor',
  expires_at: null,
};
const USER: Principal = { auth: 'jwt', user_id: 'usr_1', sign_in_id: 'sin_1' };
const EVERYTHING = null;
const failing = (how: object) => how as Error;

/** Org 1 with projects 1 and 2, org 2 with project 3; the user is in both. */
function accessOf(
  principal: Principal,
  {
    projects = EVERYTHING as string[] | null,
    role = 'editor' as Role,
    record = null as object | null,
    org = {} as Partial<OrgRecord>,
    archived = false,
  } = {},
) {
  const seen: string[] = [];
  const members = [
    { org_id: 'org_1', project_ids: projects, role },
    { org_id: 'org_2', project_ids: null, role: 'viewer' },
  ];
  const directory = {
    memberships: () => Promise.resolve(members),
    membership: (_user: string, orgId: string) =>
      Promise.resolve(members.find(({ org_id }) => org_id === orgId) ?? null),
    seen: ({ org_id }: { org_id: string }) => void seen.push(org_id),
    project: (id: string) =>
      Promise.resolve(
        ['prj_1', 'prj_2', 'prj_3'].includes(id)
          ? {
              _id: id,
              org_id: id === 'prj_3' ? 'org_2' : 'org_1',
              archived_at: archived ? new Date(0) : null,
            }
          : null,
      ),
    org: (id: string) =>
      Promise.resolve(id === 'org_gone' ? null : { _id: id, status: 'active', feature_flags: {}, ...org }),
  } as unknown as Directory;
  const database = { read: () => Promise.resolve(record) } as unknown as Database;
  return { access: new Access(principal, { directory, database }), seen };
}

const collection = (tenancy: Tenancy) => ({ name: 'things', tenancy }) as Collection<StoredRecord>;

void t.test('each role may do what the lesser ones may', (t) => {
  for (const [at, role] of ROLES.entries())
    for (const [other, needed] of ROLES.entries()) {
      t.equal(roleAtLeast(role, needed), at >= other, `${role} for ${needed}`);
      t.equal(lesserRole(role, needed), ROLES[Math.min(at, other)]);
    }
  t.equal(principalId(KEY), 'key_1');
  t.equal(principalId(USER), 'usr_1');
  t.end();
});

void t.test('a key reaches its org and, there, its project; others are not found', async (t) => {
  const { access, seen } = accessOf(KEY);
  t.same(await access.orgIds(), ['org_1']);
  const scope = await access.org('org_1');
  t.match(scope, { orgId: 'org_1', projectIdOrNull: 'prj_1', projects: ['prj_1'], role: 'editor' });
  await t.rejects(access.org('org_2'), { code: 'not_found' });
  t.equal((await access.project('prj_1')).projectId, 'prj_1');
  for (const project of ['prj_2', 'prj_3', 'prj_9'])
    await t.rejects(access.project(project), { code: 'not_found' }, project);
  t.same(seen, [], 'a key is nobody who visits');
});

void t.test('a user reaches what their membership says', async (t) => {
  const { access, seen } = accessOf(USER, { projects: ['prj_2'], role: 'admin' });
  t.same(await access.orgIds(), ['org_1', 'org_2']);
  const scope = await access.org('org_1');
  t.match(scope, { orgId: 'org_1', projectIdOrNull: null, projects: ['prj_2'], role: 'admin' });
  t.throws(() => scope.projectId, /no single project/);
  t.same(seen, ['org_1']);
  await t.rejects(access.org('org_3'), { code: 'not_found' });
  t.match(await access.project('prj_2', 'org_1'), { projectId: 'prj_2', projects: ['prj_2'], role: 'admin' });
  await t.rejects(access.project('prj_1'), { code: 'not_found' });
  await t.rejects(access.project('prj_2', 'org_2'), { code: 'not_found' }, 'it is in another org');
  t.equal((await access.project('prj_3')).role, 'viewer', 'each org has its role');
});

void t.test('a record of one project is reached by who sees that project', async (t) => {
  const record = { _id: 'thg_1', org_id: 'org_1', project_id: 'prj_1', kind: 'a' };
  for (const tenancy of ['project', 'shared'] as const) {
    const found = await accessOf(KEY, { record }).access.item(collection(tenancy), 'thg_1', { kind: 'a' });
    t.match(found, { item: { _id: 'thg_1' }, readOnly: false, scope: { projectId: 'prj_1' } });
    const narrow = accessOf(USER, { record, projects: ['prj_2'] });
    await t.rejects(narrow.access.item(collection(tenancy), 'thg_1'), { code: 'not_found' });
  }
  const { access } = accessOf(KEY, { record });
  await t.rejects(access.item(collection('project'), 'thg_1', { kind: 'b' }), { code: 'not_found' });
  await t.rejects(accessOf(KEY).access.item(collection('project'), 'thg_1'), { code: 'not_found' });
  const nobodys = accessOf(KEY, { record: { _id: 'thg_1' } });
  await t.rejects(nobodys.access.item(collection('none'), 'thg_1'), { code: 'not_found' });
  const foreign = accessOf(KEY, { record: { ...record, org_id: 'org_2' } });
  await t.rejects(foreign.access.item(collection('org'), 'thg_1'), { code: 'not_found' });
});

void t.test('what is open to more projects than the caller is can only be read', async (t) => {
  const readOnly = async (tenancy: Tenancy, record: object, projects: string[] | null) => {
    const { access } = accessOf(USER, { projects, record: { _id: 'thg_1', org_id: 'org_1', ...record } });
    const found = await access.item(collection(tenancy), 'thg_1');
    t.equal(found.scope.projectIdOrNull, null);
    return found.readOnly;
  };
  t.equal(await readOnly('org', {}, ['prj_1']), false);
  t.equal(await readOnly('shared', { project_id: null }, null), false);
  t.equal(await readOnly('shared', { project_id: null }, ['prj_1']), true);
  t.equal(await readOnly('projects', { project_ids: null }, null), false);
  t.equal(await readOnly('projects', {}, ['prj_1']), true);
  t.equal(await readOnly('projects', { project_ids: ['prj_1'] }, ['prj_1']), false);
  t.equal(await readOnly('projects', { project_ids: ['prj_1', 'prj_2'] }, ['prj_1']), true);
  t.equal(await readOnly('projects', { project_ids: ['prj_1', 'prj_2'] }, null), false);
  await t.rejects(readOnly('projects', { project_ids: ['prj_2'] }, ['prj_1']), { code: 'not_found' });
});

void t.test('the last check looks at role, features, and the state of org and project', async (t) => {
  const check = async (
    options: Parameters<typeof accessOf>[1],
    {
      write = true,
      feature = undefined as string | undefined,
      needed = 'editor' as Role,
      orgId = 'org_1',
    } = {},
  ) => {
    const { access } = accessOf(KEY, options);
    const scope = Object.assign(await access.org('org_1'), { orgId });
    try {
      await access.permit(scope, needed, { write, feature });
      return 'may';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  t.equal(await check({}), 'may');
  t.equal(await check({}, { needed: 'admin' }), 'role_too_low');
  t.equal(await check({}, { needed: 'viewer' }), 'may');
  t.equal(await check({}, { orgId: 'org_gone', write: false }), 'not_found');
  const off = { org: { feature_flags: { campaigns: false } } };
  t.equal(await check(off, { feature: 'campaigns', write: false }), 'feature_disabled');
  t.equal(await check(off, { feature: 'other' }), 'may', 'what is not said to be off is on');
  t.equal(await check(off), 'may');
  const suspended = { org: { status: 'suspended' } as Partial<OrgRecord> };
  t.equal(await check(suspended), 'org_suspended');
  t.equal(await check(suspended, { write: false }), 'may', 'its data can be read');
  t.equal(await check({ archived: true }), 'invalid_state');
  t.equal(await check({ archived: true }, { write: false }), 'may');
  const { access } = accessOf(USER, { archived: true });
  await access.permit(await access.org('org_1'), 'editor', { write: true });
});

void t.test('a project that a body names is the own one of a key, and one of a user', async (t) => {
  const { access } = accessOf(KEY);
  t.equal((await access.projectFromBody('prj_1', { role: 'editor' })).projectId, 'prj_1');
  await t.rejects(access.projectFromBody('prj_2', { role: 'editor' }), { code: 'scope_mismatch' });
  await t.rejects(access.projectFromBody('prj_1', { role: 'admin' }), { code: 'role_too_low' });
  const user = accessOf(USER).access;
  t.equal((await user.projectFromBody('prj_2', { role: 'editor', orgId: 'org_1' })).projectId, 'prj_2');
  const at = (loc: unknown[]) => failing({ details: [{ loc, type: 'reference_not_found' }] });
  await t.rejects(user.projectFromBody('prj_9', { role: 'editor' }), at(['body', 'project_id']));
  const elsewhere = user.projectFromBody('prj_3', { role: 'viewer', orgId: 'org_1', loc: ['body', 0, 'to'] });
  await t.rejects(elsewhere, at(['body', 0, 'to']));
  await t.rejects(accessOf(USER, { archived: true }).access.projectFromBody('prj_1', { role: 'editor' }), {
    code: 'invalid_state',
  });
});

void t.test('a flat route is where the query says, or where the key is', async (t) => {
  const user = accessOf(USER).access;
  t.equal(await queryScope(user, {}), null, 'global records only');
  t.match(await queryScope(user, { org_id: 'org_1' }), { orgId: 'org_1', projectIdOrNull: null });
  t.match(await queryScope(user, { project_id: 'prj_2' }), { projectId: 'prj_2' });
  t.match(await queryScope(accessOf(KEY).access, {}), { projectId: 'prj_1' });
  const at = (name: string) => failing({ details: [{ loc: ['query', name] }] });
  await t.rejects(queryScope(user, { org_id: 'org_9' }), at('org_id'));
  await t.rejects(queryScope(user, { project_id: 'prj_9' }), at('project_id'));
  await t.rejects(queryScope(user, { project_id: 'prj_3', org_id: 'org_1' }), at('project_id'));
});

void t.test('an operation happens where its path says', async (t) => {
  const at = (params: Record<string, string>) => ({ params, query: {} });
  const user = accessOf(USER, { projects: ['prj_1'] }).access;
  const inFirst = at({ org_id: 'org_1', project_id: 'prj_1' });
  t.match(await inOrg.resolve(user, inFirst), { scope: { orgId: 'org_1', projectIdOrNull: null } });
  t.match(await inProject.resolve(user, inFirst), { scope: { projectId: 'prj_1' } });
  t.match(await inProject.resolve(user, at({ project_id: 'prj_1' })), { scope: { projectId: 'prj_1' } });
  await t.rejects(inProject.resolve(user, at({ org_id: 'org_2', project_id: 'prj_1' })), {
    code: 'not_found',
  });
  await t.rejects(inWholeOrg.resolve(user, inFirst), { code: 'forbidden' });
  t.match(await inWholeOrg.resolve(accessOf(USER).access, inFirst), { scope: { orgId: 'org_1' } });
  t.match(await inWholeOrg.resolve(accessOf(KEY).access, inFirst), { scope: { orgId: 'org_1' } });
  t.same(
    [inOrg, inWholeOrg, inProject].map(({ parameter, inProject }) => [parameter, inProject]),
    [
      ['org_id', false],
      ['org_id', false],
      ['project_id', true],
    ],
  );
});

void t.test('what stands before a record in a path must be its own', async (t) => {
  const record = { _id: 'thg_1', org_id: 'org_1', project_id: 'prj_1', agent_id: 'agt_1' };
  const thing = item(collection('project'), 'thing_id');
  t.equal(thing.parameter, 'thing_id');
  t.same(
    (['project', 'shared', 'projects', 'org'] as const).map((kind) => item(collection(kind), 'a').inProject),
    [true, true, false, false],
  );
  const { access } = accessOf(KEY, { record });
  const resolve = (params: Record<string, string>) => thing.resolve(access, { params, query: {} });
  t.match(await resolve({ agent_id: 'agt_1', thing_id: 'thg_1', part_id: 'x' }), { item: { _id: 'thg_1' } });
  await t.rejects(resolve({ agent_id: 'agt_2', thing_id: 'thg_1' }), { code: 'not_found' });
  const asked: string[] = [];
  const part = within(
    thing,
    'part_id',
    (_found, name) => (asked.push(name), name === 'x' ? undefined : false),
  );
  t.same([part.parameter, part.inProject], ['part_id', true]);
  const partOf = (part_id: string) =>
    part.resolve(access, { params: { thing_id: 'thg_1', part_id }, query: {} });
  t.match(await partOf('x'), { item: { _id: 'thg_1' } });
  await t.rejects(partOf('y'), { code: 'not_found' });
  t.same(asked, ['x', 'y']);
});
