import { randomUUID } from 'node:crypto';
import t from 'tap';
import { RECORDS_PER_ORG, RECORDS_PER_PROJECT } from '../src/tenancy/record-limit.ts';
import { toolBody } from '../src/tools/tool-sample.ts';
import { openContractWorld } from './fixtures/contract-world.ts';

/** Where a mistake of a client stops: no list of an org grows without end, but for what happens in it. */
const world = await openContractWorld();
t.teardown(() => world[Symbol.asyncDispose]());
const { cp, owner, project } = world;
const { ids } = project;
const O = `/v1/orgs/${ids['org_id']}`;
const P = `${O}/projects/${ids['project_id']}`;
const inOrg = { org_id: ids['org_id'] };
const inProject = { ...inOrg, project_id: ids['project_id'] };
const agent_id = ids['agent_id'];
const name = () => `a_${randomUUID().replaceAll('-', '_')}`;

interface Cap {
  collection: string;
  path: string;
  body: () => object;
  fields: (n: number) => object;
  limit?: number;
  user?: boolean;
}

const CAPS: Cap[] = [
  {
    collection: 'agents',
    path: `${P}/agents`,
    body: () => ({ name: name() }),
    fields: (n) => ({ unique_name: `x${n}` }),
  },
  {
    collection: 'tools',
    path: `${O}/tools`,
    body: () => toolBody(name()),
    fields: (n) => ({ name: `x${n}` }),
  },
  {
    collection: 'analyses',
    path: `${P}/analyses`,
    body: () => ({ name: name(), type: 'text', prompt: 'b' }),
    fields: () => ({}),
  },
  {
    collection: 'knowledge_bases',
    path: `${P}/knowledge-bases`,
    body: () => ({ name: name() }),
    fields: () => ({}),
  },
  {
    collection: 'agent_tests',
    path: `/v1/agents/${agent_id}/tests`,
    body: () => ({ name: name(), type: 'scripted', turns: [{ caller: 'Hello' }] }),
    fields: () => ({ agent_id }),
  },
  {
    collection: 'phone_numbers',
    path: `${P}/phone-numbers`,
    body: () => ({
      telephony_account_id: ids['telephony_account_id'],
      phone_number: '+14155559903',
      mode: 'import',
    }),
    fields: (n) => ({ status: 'active', active_number: `x${n}` }),
  },
  {
    collection: 'inbound_deployments',
    path: `${P}/inbound-deployments`,
    body: () => ({ name: 'Line', phone_number_id: ids['phone_number_id'], agent_id, status: 'paused' }),
    fields: (n) => ({ status: 'paused', active_number_id: `x${n}` }),
  },
  {
    collection: 'api_keys',
    path: `/v1/projects/${ids['project_id']}/api-keys`,
    body: () => ({ name: 'key', role: 'viewer' }),
    fields: (n) => ({ digest: `x${n}`, revoked_at: null }),
  },
  {
    collection: 'telephony_accounts',
    path: `${O}/telephony-accounts`,
    body: () => ({
      name: 'Line',
      provider: 'plivo',
      credentials: { auth_id: 'MAFAKE', auth_token: 'token' },
    }),
    fields: () => ({ project_ids: null }),
    limit: RECORDS_PER_ORG,
    user: true,
  },
  {
    collection: 'projects',
    path: `${O}/projects`,
    body: () => ({ name: name() }),
    fields: (n) => ({ slug: `x${n}` }),
    limit: RECORDS_PER_ORG,
    user: true,
  },
  {
    collection: 'invites',
    path: `${O}/invites`,
    body: () => ({ email: `${name()}@example.com`, role: 'viewer' }),
    fields: (n) => ({ status: 'pending', digest: `x${n}` }),
    limit: RECORDS_PER_ORG,
    user: true,
  },
];

for (const { collection, path, body, fields, limit = RECORDS_PER_PROJECT, user = false } of CAPS) {
  void t.test(`${collection} end at ${limit}`, async (t) => {
    const create = () =>
      cp.call<{ id: string; code: string }>('POST', path, {
        body: body(),
        token: user ? owner.token : project.key,
        headers: { 'idempotency-key': randomUUID() },
      });
    const tenant = user ? inOrg : inProject;
    const known = cp.app.features.collections.find((one) => one.name === collection)!;
    const native = cp.app.services.database.model(known).collection;
    const open = {
      ...tenant,
      ...('status' in fields(0) && { status: (fields(0) as { status: string }).status }),
      ...('revoked_at' in fields(0) && { revoked_at: null }),
    };
    const there = await native.countDocuments(collection === 'inbound_deployments' ? tenant : open);
    const missing = limit - 1 - there;
    for (let n = 0; n < missing; n += 500) {
      const records = Array.from({ length: Math.min(500, missing - n) }, (_, index) => ({
        _id: `fill_${String(n + index).padStart(8, '0')}`,
        ...tenant,
        name: 'x',
        ...fields(n + index),
      }));
      await native.insertMany(records as never[]);
    }
    const last = await create();
    t.equal(last.status, 201, `the ${limit}th: ${last.body.code}`);
    const over = await create();
    t.match(over, { status: 409, body: { code: 'limit_reached' } });
  });
}

void t.test('an org that is full of members takes no invites', async (t) => {
  const other = await world.make('/v1/orgs', { name: name() });
  const native = cp.app.services.database.model(
    cp.app.features.collections.find((one) => one.name === 'members')!,
  ).collection;
  const records = Array.from({ length: RECORDS_PER_ORG }, (_, n) => ({
    _id: `mbr_fill_1${String(n).padStart(5, '0')}`,
    org_id: other.id,
    user_id: `usr_${n}`,
    role: 'viewer',
    status: 'active',
  }));
  await native.insertMany(records as never[]);
  const answer = await cp.call('POST', `/v1/orgs/${other.id}/invites`, {
    token: owner.token,
    body: { email: 'x@example.com', role: 'viewer' },
  });
  t.match(answer, { status: 409, body: { code: 'limit_reached' } });
});
