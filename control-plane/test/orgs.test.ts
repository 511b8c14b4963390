import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { agentCollection } from '../src/agents/agent-model.ts';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { OrgRemover } from '../src/orgs/org-remover.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Org {
  id: string;
  slug: string;
  status: string;
}
interface Page<T> {
  items: T[];
  total: number;
}

void t.test('orgs and projects', async (t) => {
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({ clock });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const registered = await cp.call<{ access_token: string }>('POST', '/auth/v1/register', {
    token: null,
    body: {
      email: 'owner@example.com',
      password: 'correct horse battery',
      name: 'Olga',
      setup_code: cp.app.services.userAccounts.setupCode(),
    },
  });
  const token = registered.body.access_token;

  void t.test('an owner makes further orgs; others do not see them', async (t) => {
    const made = await cp.call<Org>('POST', '/v1/orgs', { token, body: { name: 'Ünïted Söcks' } });
    t.equal(made.status, 201);
    t.match(made.body, { slug: 'united-socks', status: 'active', timezone: 'UTC', currency: 'USD' });
    const same = await cp.call<Org>('POST', '/v1/orgs', { token, body: { name: 'United socks' } });
    t.match(same.body.slug, /^united-socks-.{6}$/);
    t.equal((await cp.call<Page<Org>>('GET', '/v1/orgs', { token })).body.total, 3);
    t.equal((await cp.call<Page<Org>>('GET', '/v1/orgs')).body.total, 1);
    t.equal((await cp.call('GET', `/v1/orgs/${made.body.id}`)).status, 404);
    const changed = await cp.call('PATCH', `/v1/orgs/${made.body.id}`, {
      token,
      body: { timezone: 'Asia/Kolkata' },
    });
    t.match(changed.body, { timezone: 'Asia/Kolkata' });
    t.equal(
      (await cp.call('PATCH', `/v1/orgs/${made.body.id}`, { token, body: { timezone: 'Mars' } })).status,
      422,
    );
  });

  void t.test('an archived project takes its keys with it', async (t) => {
    const { org } = cp.first;
    const project = await cp.call<{ id: string; default_llm_id: string }>(
      'POST',
      `/v1/orgs/${org._id}/projects`,
      {
        token,
        body: { name: 'Second' },
      },
    );
    t.equal(project.status, 201);
    t.equal(project.body.default_llm_id, 'llm_openai_gpt41_mini');
    const path = `/v1/projects/${project.body.id}`;
    const key = await cp.call<{ key: string }>('POST', `${path}/api-keys`, { token, body: { name: 'k' } });
    t.equal((await cp.call('GET', '/v1/me', { token: key.body.key })).status, 200);
    t.equal((await cp.call('GET', path)).status, 404, 'another project is not visible to a key');
    t.equal((await cp.call('DELETE', path, { token })).status, 204);
    t.equal((await cp.call('GET', '/v1/me', { token: key.body.key })).status, 401);
    t.match((await cp.call('PATCH', path, { token, body: { name: 'x' } })).body, { code: 'invalid_state' });
    t.match((await cp.call('GET', path, { token })).body, { archived_at: /Z$/ });
  });

  void t.test('a feature that is switched off answers 403 and keeps its data', async (t) => {
    const { org, project } = cp.first;
    const bases = `/v1/orgs/${org._id}/projects/${project._id}/knowledge-bases`;
    t.equal((await cp.call('POST', bases, { body: { name: 'Manuals' } })).status, 201);
    const flag = `/v1/orgs/${org._id}/feature-flags/knowledge_bases`;
    t.match((await cp.call('PUT', flag, { body: { enabled: false } })).body, { code: 'user_required' });
    const none = flag.replace('knowledge_bases', 'telepathy');
    t.equal((await cp.call('PUT', none, { token, body: { enabled: true } })).status, 404);
    const flags = await cp.call<{ items: { key: string; enabled: boolean }[] }>(
      'GET',
      `/v1/orgs/${org._id}/feature-flags`,
    );
    t.ok(flags.body.items.length > 8 && flags.body.items.every(({ enabled }) => enabled), 'all are on');
    const realtime = flag.replace('knowledge_bases', 'realtime_websocket');
    await cp.call('PUT', realtime, { token, body: { enabled: false } });
    const agent = await cp.call<{ id: string }>(
      'POST',
      `/v1/orgs/${org._id}/projects/${project._id}/agents`,
      {
        body: { name: 'Flagged' },
      },
    );
    const mint = { body: { agent_id: agent.body.id } };
    t.match((await cp.call('POST', '/v1/realtime/sessions', mint)).body, { code: 'feature_disabled' });
    await cp.call('PUT', realtime, { token, body: { enabled: true } });
    t.equal((await cp.call('POST', '/v1/realtime/sessions', mint)).status, 200);
    const off = await cp.call('PUT', flag, { token, body: { enabled: false } });
    t.match(off.body, { key: 'knowledge_bases', enabled: false, default: true });
    t.match((await cp.call('GET', bases)).body, { code: 'feature_disabled' });
    await cp.call('PUT', flag, { token, body: { enabled: true } });
    t.match((await cp.call('GET', bases)).body, { total: 1 });
    t.equal(
      (await cp.call('PUT', flag.replace('knowledge_bases', 'nothing'), { token, body: { enabled: true } }))
        .status,
      404,
    );
  });

  void t.test('a deleted org is closed at once and gone after thirty days', async (t) => {
    const other = await cp.makeTenant();
    await cp.app.services.orgs.addOwner(
      other.org._id,
      (await cp.app.services.userAccounts.userByEmail('owner@example.com'))!._id,
    );
    const path = `/v1/orgs/${other.org._id}`;
    const agents = `${path}/projects/${other.project._id}/agents`;
    t.equal((await cp.call('POST', agents, { token: other.apiKey, body: { name: 'A' } })).status, 201);
    t.equal((await cp.call('DELETE', `${path}?confirm=nope`, { token })).status, 422);
    const deleted = await cp.call<Org>('DELETE', `${path}?confirm=${other.org.slug}`, { token });
    t.equal(deleted.status, 202);
    t.equal(deleted.body.status, 'deleting');
    t.equal((await cp.call('POST', agents, { token: other.apiKey, body: { name: 'B' } })).status, 403);

    const { services } = cp.app;
    const remover = new OrgRemover({
      ...services,
      collections: cp.app.features.collections,
      giveUp: (scope) => cp.app.features.eraseOrg(scope),
      storageDir: services.config.STORAGE_DIR,
      owner: services.processName,
    });
    t.equal(await remover.runOnce(), 0, 'not yet');
    const agentsLeft = () =>
      services.database.model(agentCollection).countDocuments({ org_id: other.org._id });
    t.equal(await agentsLeft(), 1);
    const later = new ManualClock(clock.now() + 31 * 24 * 3_600_000);
    const inAMonth = new OrgRemover({
      ...services,
      clock: later,
      collections: cp.app.features.collections,
      giveUp: (scope) => cp.app.features.eraseOrg(scope),
      storageDir: services.config.STORAGE_DIR,
      owner: services.processName,
    });
    t.equal(await inAMonth.runOnce(), 1);
    t.equal(await agentsLeft(), 0);
    t.ok((await services.database.model(auditCollection).countDocuments({ org_id: other.org._id })) > 0);
  });

  void t.test('what touches access is in the audit trail', async (t) => {
    const entries = await cp.app.services.database
      .model(auditCollection)
      .find({ org_id: cp.first.org._id })
      .lean();
    const actions = entries.map((entry) => entry.action);
    for (const action of ['api_key.created', 'project.created', 'project.archived', 'feature_flag.changed']) {
      t.ok(actions.includes(action), action);
    }
    t.ok(entries.every((entry) => entry.actor !== ''));
  });
});
