import { randomUUID } from 'node:crypto';
import t from 'tap';
import { newId } from '@parley/shared/ids/new-id';
import { rateLimitCollection } from '../src/rate-limits/rate-limit-model.ts';
import { telephonyAccountCollection } from '../src/telephony/telephony-account-model.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { signInUser } from './fixtures/test-users.ts';

void t.test("an org's own limits on sessions hold", async (t) => {
  const cp = await openTestControlPlane({ env: { REGISTRATION: 'open' } });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const start = async (token: string) => {
    const answer = await cp.call<{ code?: string }>('POST', '/v1/sessions', { token, body: {} });
    return answer.body.code ?? answer.status;
  };

  void t.test('how many start', async (t) => {
    const { org, apiKey: token } = await cp.makeTenant();
    // A day's window: one that ended between two requests would count anew.
    const body = { resource: 'session_starts', limit: 2, window_seconds: 86_400 };
    t.equal((await cp.call('POST', `/v1/orgs/${org._id}/rate-limit-configs`, { token, body })).status, 201);
    t.same([await start(token), await start(token), await start(token)], [200, 200, 'rate_limited']);
    t.equal(await start(cp.first.apiKey), 200, 'others are not concerned');
  });

  void t.test('how many there are at a time', async (t) => {
    const { org, apiKey: token } = await cp.makeTenant();
    const body = { resource: 'concurrent_sessions', limit: 1 };
    t.equal((await cp.call('POST', `/v1/orgs/${org._id}/rate-limit-configs`, { token, body })).status, 201);
    t.same([await start(token), await start(token)], [200, 'concurrency_limit']);
  });

  void t.test('how much of each is used is told, where it is counted', async (t) => {
    const { org, project, apiKey: token } = await cp.makeTenant();
    const configs = `/v1/orgs/${org._id}/rate-limit-configs`;
    const day = { window_seconds: 86_400 };
    for (const body of [
      { resource: 'session_starts', limit: 2, ...day },
      { resource: 'concurrent_sessions', limit: 5 },
      { resource: 'tool_calls', limit: 9, ...day },
      { resource: 'api_requests', limit: 100, ...day },
      { resource: 'outbound_dials', limit: 9, action: 'queue', ...day },
      { resource: 'concurrent_outbound', limit: 3 },
    ])
      t.equal((await cp.call('POST', configs, { token, body })).status, 201);
    t.same([await start(token), await start(token), await start(token)], [200, 200, 'rate_limited']);
    const { toolCallLimits } = cp.app.services;
    await toolCallLimits.count(org._id, project._id);
    await cp.bus.slots.take('call', [{ bucket: `limit:${project._id}`, limit: 3 }], 60_000);
    const read = async () => {
      const { items } = (
        await cp.call<{ items: { id: string; resource: string; used: number | null }[] }>('GET', configs, {
          token,
        })
      ).body;
      return Object.fromEntries(items.map((item) => [item.resource, item]));
    };
    const limits = await read();
    const used = Object.fromEntries(Object.values(limits).map((limit) => [limit.resource, limit.used]));
    t.same(used, {
      ...{ session_starts: 3, concurrent_sessions: 2, tool_calls: 1, api_requests: 3 },
      ...{ outbound_dials: null, concurrent_outbound: 1 },
    });
    t.equal((await read())['session_starts']!.used, 3, 'reading counts nothing');
    const path = `/v1/rate-limit-configs/${limits['session_starts']!.id}`;
    const body = { enabled: false };
    t.match(await cp.call('PATCH', path, { token, body }), { status: 200, body: { used: null } });
  });

  void t.test('how many requests there are, of keys and of users, and it can be lifted again', async (t) => {
    const owner = await signInUser(cp, 'owner@example.com');
    const { org, apiKey } = await cp.makeTenant();
    await owner.join(org._id, 'owner');
    const configs = `/v1/orgs/${org._id}/rate-limit-configs`;
    const read = async (token: string) => (await cp.call('GET', `/v1/orgs/${org._id}`, { token })).status;
    const limit = async (token: string, most: number) => {
      const body = { resource: 'api_requests', limit: most, window_seconds: 86_400 };
      return `/v1/rate-limit-configs/${(await cp.call<{ id: string }>('POST', configs, { token, body })).body.id}`;
    };
    const own = await limit(apiKey, 1);
    t.same([await read(apiKey), await read(apiKey), await read(owner.token)], [200, 429, 200]);
    t.equal((await cp.call('DELETE', own, { token: apiKey })).status, 204, 'the key lifts its own limit');
    const whole = await limit(owner.token, 2);
    const all = [owner.token, apiKey, owner.token, apiKey];
    const statuses = [];
    for (const token of all) statuses.push(await read(token));
    t.same(statuses, [200, 200, 429, 429], 'users count, too');
    t.equal((await cp.call('DELETE', whole, { token: owner.token })).status, 204);
    t.equal(await read(apiKey), 200);
  });

  void t.test('of one agent, and of one telephony account', async (t) => {
    const { org, project, apiKey: token } = await cp.makeTenant();
    const configs = `/v1/orgs/${org._id}/rate-limit-configs`;
    const limit = async (body: object) => (await cp.call('POST', configs, { token, body })).status;
    const agent = async () => {
      const path = `/v1/orgs/${org._id}/projects/${project._id}/agents`;
      return (await cp.call<{ id: string }>('POST', path, { token, body: { name: randomUUID() } })).body.id;
    };
    const [limited, other] = [await agent(), await agent()];
    const begin = async (agent_id: string, more: object = {}) => {
      const answer = await cp.call<{ code?: string; detail: string }>('POST', '/v1/sessions', {
        token,
        body: { agent_id, ...more },
      });
      return answer.body.code ?? answer.status;
    };
    t.equal(await limit({ resource: 'concurrent_sessions', limit: 10 }), 201);
    t.equal(await limit({ resource: 'concurrent_sessions', limit: 1, agent_id: limited }), 201, 'beside it');
    t.equal(await limit({ resource: 'concurrent_sessions', limit: 2, agent_id: limited }), 409);
    t.same([await begin(limited), await begin(limited)], [200, 'concurrency_limit'], 'the tightest holds');
    t.same([await begin(other), await begin(other)], [200, 200], 'other agents are not concerned');
    const starts = { resource: 'session_starts', limit: 3, window_seconds: 86_400, agent_id: other };
    t.equal(await limit(starts), 201);
    t.same(
      [await begin(other), await begin(other), await begin(other), await begin(other)],
      [200, 200, 200, 'rate_limited'],
    );

    const telephony_account_id = newId('tel');
    await cp.app.services.database.model(telephonyAccountCollection).create({
      ...{ _id: telephony_account_id, org_id: org._id, name: 'Line', provider: 'twilio' },
      ...{ credentials: 'unread', status: 'active', project_ids: [project._id] },
    });
    t.equal(await limit({ resource: 'concurrent_sessions', limit: 1, telephony_account_id }), 201);
    const third = await agent();
    const call = { channel: 'telephony' };
    t.same([await begin(third, call), await begin(third, call)], [200, 'concurrency_limit']);
    t.equal(await begin(third), 200, 'the web is not concerned');

    const tools = { resource: 'tool_calls', limit: 5, window_seconds: 60 };
    t.same([await limit({ ...tools, agent_id: limited }), await limit(tools)], [201, 201]);
    const { toolCallLimits } = cp.app.services;
    const of = async (agentId: string | null) =>
      (await toolCallLimits.of({ orgId: org._id, projectId: project._id, agentId })).length;
    t.same([await of(limited), await of(other), await of(null)], [2, 1, 1]);

    const requests = { resource: 'api_requests', limit: 5, window_seconds: 60 };
    t.equal(await limit({ ...requests, agent_id: limited }), 422, 'requests are of no agent');
    t.equal(await limit({ ...requests, telephony_account_id }), 422);
    const foreign = { resource: 'tool_calls', limit: 5, window_seconds: 60 };
    t.equal(await limit({ ...foreign, agent_id: newId('agt') }), 422);
    t.equal(await limit({ ...foreign, telephony_account_id: newId('tel') }), 422);
    const { apiKey: stranger, org: elsewhere } = await cp.makeTenant();
    const theirs = await cp.call('POST', `/v1/orgs/${elsewhere._id}/rate-limit-configs`, {
      token: stranger,
      body: { ...foreign, agent_id: limited },
    });
    t.equal(theirs.status, 422, 'nor of another org');
  });

  void t.test('the unique index of earlier versions goes', async (t) => {
    const { database } = cp.app.services;
    const { collection } = database.model(rateLimitCollection);
    await collection.deleteMany({});
    await collection.createIndex({ org_id: 1, project_id: 1, resource: 1 }, { unique: true });
    await database.ensureIndexes([rateLimitCollection]);
    const names = (await collection.indexes()).map(({ name }) => name);
    t.notOk(names.includes('org_id_1_project_id_1_resource_1'));
    t.ok(names.includes('org_id_1_project_id_1_agent_id_1_telephony_account_id_1_resource_1'));
    await database.ensureIndexes([rateLimitCollection]);
    t.same(
      (await collection.indexes()).map(({ name }) => name),
      names,
      'a second start changes nothing',
    );
  });

  void t.test('none is above what the installation allows', async (t) => {
    const path = `/v1/orgs/${cp.first.org._id}/rate-limit-configs`;
    for (const body of [
      { resource: 'concurrent_sessions', limit: 100_000 },
      { resource: 'session_starts', limit: 1000, window_seconds: 1 },
      { resource: 'session_starts', limit: 10 },
      { resource: 'concurrent_sessions', limit: 10, window_seconds: 60 },
    ]) {
      t.equal((await cp.call('POST', path, { body })).status, 422, JSON.stringify(body));
    }
  });
});
