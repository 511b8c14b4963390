import t from 'tap';
import { newId, uuidV7 } from '@parley/shared/ids/new-id';
import { agentCollection } from '../src/agents/agent-model.ts';
import type { BootstrapResult } from '../src/bootstrap.ts';
import { roleAtLeast } from '../src/tenancy/roles.ts';
import type { Role } from '../src/tenancy/roles.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';

type Fields = Record<string, unknown>;
interface Described {
  operationId: string;
  security: Record<string, unknown>[];
  'x-required-role'?: { api_key?: Role; user?: Role | 'any' };
  requestBody?: object;
}
interface Case extends Described {
  method: string;
  path: string;
  names: string[];
}
interface Refused {
  code?: string;
  detail: unknown;
}

const TEST_CONTENT = JSON.stringify({
  variables: {},
  turns: [{ caller: 'Hello?', expect: [] }],
  persona: null,
  max_turns: 20,
  timeout_seconds: 300,
  checks: [],
  tool_mocks: [],
});

/** Straight into the database: what a route would need a carrier, a provider or a call for. */
async function put(cp: TestControlPlane, name: string, fields: Fields): Promise<void> {
  const collection = cp.app.features.collections.find((one) => one.name === name);
  if (!collection) throw new Error(`there is no collection ${name}`);
  const Model = cp.app.services.database.model(collection);
  const defaults = new Model().toObject() as unknown as Fields;
  const now = new Date();
  await Model.collection.insertOne({ ...defaults, created_at: now, updated_at: now, ...fields } as never);
}

/** A record of the tenant for every path parameter there is. */
async function makeRecords(cp: TestControlPlane, tenant: BootstrapResult): Promise<Record<string, string>> {
  const inOrg = { org_id: tenant.org._id };
  const inProject = { ...inOrg, project_id: tenant.project._id };
  const P = `/v1/orgs/${tenant.org._id}/projects/${tenant.project._id}`;
  const agent = await cp.call<{ id: string }>('POST', `${P}/agents`, {
    token: tenant.apiKey,
    body: { name: 'Agent' },
  });
  const session_id = uuidV7(Date.now());
  const ids = {
    ...inProject,
    agent_id: agent.body.id,
    session_id,
    key_id: tenant.apiKeyId,
    tool_id: newId('tol'),
    analysis_id: newId('ana'),
    knowledge_base_id: newId('kbs'),
    kb_id: newId('kbs'),
    config_id: newId('rlc'),
    member_id: newId('mbr'),
    memory_id: newId('mry'),
    test_id: newId('tst'),
    test_run_id: newId('trn'),
    invite_id: newId('ivt'),
    telephony_account_id: newId('tel'),
    phone_number_id: newId('phn'),
    inbound_deployment_id: newId('ibd'),
    recording_id: newId('rec'),
    delivery_id: newId('whd'),
    credential_id: newId('prv'),
    voice_id: newId('voc'),
    model_id: newId('llm'),
    version: '1',
    key: 'campaigns',
    carrier: 'plivo',
  };
  const some = {
    ...inProject,
    agent_id: ids.agent_id,
    session_id,
    name: 'a',
    status: 'active',
    url: 'https://a.example.com/',
  };
  const made: [string, Fields][] = [
    [
      'sessions',
      {
        ...some,
        _id: session_id,
        status: 'ended',
        channel: 'web',
        direction: 'web',
        variables: {},
        slot_scopes: [],
      },
    ],
    ['tools', { ...some, _id: ids.tool_id }],
    ['analyses', { ...some, _id: ids.analysis_id }],
    ['knowledge_bases', { ...some, _id: ids.knowledge_base_id }],
    ['knowledge_bases', { ...some, _id: ids.kb_id }],
    ['rate_limit_configs', { ...some, _id: ids.config_id, resource: 'api_requests', enabled: false }],
    ['agent_tests', { ...some, _id: ids.test_id, type: 'scripted', content: TEST_CONTENT }],
    [
      'agent_test_runs',
      { ...some, _id: ids.test_run_id, agent_version: 1, status: 'completed', total: 1, created_by: 'cli' },
    ],
    ['memories', { ...some, _id: ids.memory_id, subject: 'a', kind: 'fact', content: 'a', source: 'api' }],
    ['members', { ...inOrg, _id: ids.member_id, user_id: newId('usr'), role: 'viewer', status: 'active' }],
    [
      'invites',
      {
        ...inOrg,
        _id: ids.invite_id,
        email: 'a@example.com',
        role: 'viewer',
        status: 'pending',
        digest: ids.invite_id,
      },
    ],
    [
      'telephony_accounts',
      {
        ...inOrg,
        _id: ids.telephony_account_id,
        project_ids: [tenant.project._id],
        name: 'a',
        provider: 'plivo',
      },
    ],
    ['phone_numbers', { ...some, _id: ids.phone_number_id, phone_number: '+14155550100' }],
    [
      'inbound_deployments',
      { ...some, _id: ids.inbound_deployment_id, phone_number_id: ids.phone_number_id },
    ],
    ['recordings', { ...some, _id: ids.recording_id, leg: 0, status: 'deleted', format: 'wav' }],
    ['webhook_deliveries', { ...some, _id: ids.delivery_id, status: 'failed', payload: '{}' }],
    [
      'provider_credentials',
      {
        ...inOrg,
        _id: ids.credential_id,
        project_ids: [tenant.project._id],
        provider: 'openai_compatible',
        name: 'a',
        status: 'unverified',
      },
    ],
    ['own_models', { ...inOrg, _id: ids.model_id, kind: 'llm', provider: 'openai_compatible', name: 'a' }],
    [
      'voices',
      { ...inOrg, _id: ids.voice_id, name: 'a', source: 'clone', is_public: false, status: 'ready' },
    ],
  ];
  const known = new Set(cp.app.features.collections.map(({ name }) => name));
  for (const [name, fields] of made) if (known.has(name)) await put(cp, name, fields);
  const link = (id: string) => [{ id, enabled: true }];
  await cp.app.services.database.model(agentCollection).updateOne(
    { _id: ids.agent_id },
    {
      $set: {
        tools: link(ids.tool_id),
        analyses: link(ids.analysis_id),
        knowledge_bases: link(ids.knowledge_base_id),
      },
    },
  );
  return ids;
}

async function register(cp: TestControlPlane, email: string): Promise<{ userId: string; token: string }> {
  const answer = await cp.call<{ access_token: string; user: { user_id: string } }>(
    'POST',
    '/auth/v1/register',
    {
      token: null,
      body: {
        email,
        password: 'correct horse battery',
        name: 'Somebody',
        setup_code: cp.app.services.identity.setupCode(),
      },
    },
  );
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return { userId: answer.body.user.user_id, token: answer.body.access_token };
}

/** Collections of an org: a key of any of its projects may look at them, and sees its own part. */
const ORG_WIDE = /^\/v1\/orgs\/\{org_id\}(\/(?!projects\/\{)[a-z-]+(\/\{key\})?)?$/;
/** A clone that is not shown to others is there for its org alone, in all projects of it; so are its own models. */
const ORG_RECORDS = ['voice_id', 'model_id'];

/** Takes its tenant from the query, and so after the body: it gets a good one, and members name the org. */
const IN_QUERY = 'speakWithVoice';

void t.test('every route keeps tenants apart', async (t) => {
  const cp = await openTestControlPlane({ env: { REGISTRATION: 'open' } });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const { org, project } = cp.first;
  const { services } = cp.app;
  const document = await cp.call<{ paths: Record<string, Record<string, Described>> }>(
    'GET',
    '/openapi.json',
    { token: null },
  );
  const cases: Case[] = Object.entries(document.body.paths)
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, described]) => ({
        ...described,
        method: method.toUpperCase(),
        path,
        names: [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]!),
      })),
    )
    .filter(({ security }) => security.length > 0);

  const mine = await makeRecords(cp, cp.first);
  const unknown = [...new Set(cases.flatMap(({ names }) => names))].filter((name) => !(name in mine));
  t.same(unknown, [], 'there is a record for every path parameter');

  // Callers
  const owner = await register(cp, 'owner@example.com');
  const stranger = await register(cp, 'stranger@example.com');
  const viewerUser = await register(cp, 'viewer@example.com');
  const narrowed = await register(cp, 'narrowed@example.com');
  const second = await cp.call<{ id: string }>('POST', `/v1/orgs/${org._id}/projects`, {
    token: owner.token,
    body: { name: 'Second' },
  });
  const other = await cp.makeTenant();
  const makeKey = async (projectId: string, role: string) => {
    const answer = await cp.call<{ key: string; id: string }>('POST', `/v1/projects/${projectId}/api-keys`, {
      token: owner.token,
      body: { name: role, role },
    });
    return answer.body;
  };
  const revoked = await makeKey(project._id, 'admin');
  await cp.call('DELETE', `/v1/projects/${project._id}/api-keys/${revoked.id}`, { token: owner.token });
  const expired = await makeKey(project._id, 'admin');
  const apiKeys = cp.app.features.collections.find(({ name }) => name === 'api_keys')!;
  await services.database
    .model(apiKeys)
    .updateOne({ _id: expired.id }, { $set: { expires_at: new Date(0) } } as never);
  const membership = (userId: string, role: Role, project_ids: string[] | null) =>
    put(cp, 'members', {
      _id: newId('mbr'),
      org_id: org._id,
      user_id: userId,
      role,
      project_ids,
      status: 'active',
    });
  await membership(viewerUser.userId, 'viewer', null);
  await membership(narrowed.userId, 'editor', [second.body.id]);
  for (const { userId } of [viewerUser, narrowed]) services.directory.forget(userId);

  const callers = {
    'no credential': { kind: 'none', token: null },
    'a revoked key': { kind: 'none', token: revoked.key },
    'an expired key': { kind: 'none', token: expired.key },
    'a key of another org': { kind: 'key', token: other.apiKey, sees: 'nothing', role: 'admin' },
    'a key of another project': {
      kind: 'key',
      token: (await makeKey(second.body.id, 'admin')).key,
      sees: 'org',
      role: 'admin',
    },
    'a viewer key': {
      kind: 'key',
      token: (await makeKey(project._id, 'viewer')).key,
      sees: 'all',
      role: 'viewer',
    },
    'a user without membership': { kind: 'user', token: stranger.token, sees: 'nothing', role: 'owner' },
    'a viewer': { kind: 'user', token: viewerUser.token, sees: 'all', role: 'viewer' },
    'an editor of another project': { kind: 'user', token: narrowed.token, sees: 'org', role: 'editor' },
  } as const;

  /** The status that 1.6 demands, or null where the caller gets past all three checks. */
  function expected(one: Case, caller: (typeof callers)[keyof typeof callers]): 401 | 403 | 404 | null {
    if (caller.kind === 'none') return 401;
    const { api_key: key, user } = one['x-required-role'] ?? {};
    const needed = caller.kind === 'key' ? key : user;
    if (needed === undefined) return 403;
    if (one.names.length > 0) {
      const orgLevel = ORG_WIDE.test(one.path) || one.names.some((name) => ORG_RECORDS.includes(name));
      if (caller.sees === 'nothing') return 404;
      // Members and invites are the org's own.
      const ofOrg = orgLevel || one.names.includes('member_id') || one.names.includes('invite_id');
      if (caller.sees === 'org' && !ofOrg) return 404;
    } else if (caller.kind === 'user') return null;
    return needed === 'any' || roleAtLeast(caller.role, needed) ? null : 403;
  }

  let refused = 0;
  let passed = 0;
  for (const one of cases) {
    const path = one.path.replace(/\{([^}]+)\}/g, (_, name: string) => mine[name]!);
    for (const [who, caller] of Object.entries(callers)) {
      const status = expected(one, caller);
      // What gets past the checks may not change what others still need: its body is refused.
      const inQuery = one.operationId === IN_QUERY;
      if (status === null && one.method !== 'GET' && (inQuery || one.requestBody === undefined)) continue;
      const member = caller.kind === 'user' && caller.sees !== 'nothing';
      const answer = await cp.call<Refused>(
        one.method,
        inQuery && member ? `${path}?org_id=${org._id}` : path,
        {
          token: caller.token,
          ...(one.method !== 'GET' && {
            body: inQuery ? '{"text":"Hello","format":"wav"}' : '{',
            headers: { 'content-type': 'application/json' },
          }),
        },
      );
      const about = `${one.operationId} with ${who}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`;
      if (status === null) {
        passed++;
        const clone = one.names.includes('voice_id') && answer.status === 403;
        if (!clone && [401, 403].includes(answer.status)) t.fail(`${about}, not let in`);
      } else {
        refused++;
        if (answer.status !== status) t.fail(`${about}, not ${status}`);
        else if (status === 403) {
          const code = answer.body.code ?? '';
          if (!['user_required', 'role_too_low', 'forbidden'].includes(code)) t.fail(about);
        }
      }
    }
  }
  t.comment(
    `${cases.length} operations, ${Object.keys(callers).length} callers: ${refused} cases refused, ${passed} let in`,
  );
  t.ok(cases.length > 100);
  t.ok(refused > 5 * cases.length);
});
