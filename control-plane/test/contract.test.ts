import t from 'tap';
import { describeOperations } from '../src/http/openapi.ts';
import { parameterNames } from '../src/http/operation.ts';
import type { Operation } from '../src/http/operation.ts';
import { createOperations } from '../src/services.ts';
import type { Services } from '../src/services.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';
import type { BootstrapResult } from '../src/bootstrap.ts';

const operations = createOperations({} as Services).filter((operation) => operation.described !== false);
const credentialed = operations.filter((operation) => typeof operation.access === 'object');

function pathOf(operation: Operation, ids: (name: string) => string): string {
  return operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(ids(name)));
}

/** Well-formed, and of nothing that exists. */
function unknownId(name: string): string {
  return UNKNOWN[name] ?? 'unknown';
}

const TAIL = '01k5z8r5m2q7v3x9b4n6c8d0ef';
const UNKNOWN: Record<string, string> = {
  session_id: '01890000-0000-7000-8000-000000000000',
  version: '1',
  key: 'campaigns',
  carrier: 'plivo',
  ...Object.fromEntries(
    Object.entries({
      org_id: 'org',
      project_id: 'prj',
      agent_id: 'agt',
      member_id: 'mbr',
      invite_id: 'ivt',
      key_id: 'key',
      tool_id: 'tol',
      analysis_id: 'ana',
      knowledge_base_id: 'kbs',
      kb_id: 'kbs',
      config_id: 'rlc',
      telephony_account_id: 'tel',
      phone_number_id: 'phn',
      recording_id: 'rec',
      delivery_id: 'whd',
      inbound_deployment_id: 'ibd',
      voice_id: 'voc',
      model_id: 'llm',
      credential_id: 'prv',
    }).map(([name, prefix]) => [name, `${prefix}_${TAIL}`]),
  ),
};

interface Refused {
  code: string;
  detail: string | { loc: (string | number)[]; msg: string; type: string }[];
  request_id: string;
}

/** Records of a tenant, by the path parameter that names them. */
async function makeRecords(cp: TestControlPlane, tenant: BootstrapResult): Promise<Record<string, string>> {
  const token = tenant.apiKey;
  const o = `/v1/orgs/${tenant.org._id}`;
  const p = `${o}/projects/${tenant.project._id}`;
  const make = async (path: string, body: object) => {
    const answer = await cp.call<{ id: string }>('POST', path, { token, body });
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body.id;
  };
  const tool_id = await make(`${o}/tools`, {
    name: 'a_tool',
    description: 'A tool.',
    type: 'webhook',
    parameters: { type: 'object' },
    webhook: { url: 'https://example.com/' },
  });
  const kb_id = await make(`${p}/knowledge-bases`, { name: 'base' });
  const session = await cp.call<{ session_id: string }>('POST', '/v1/sessions', { token, body: {} });
  return {
    org_id: tenant.org._id,
    project_id: tenant.project._id,
    key_id: tenant.apiKeyId,
    agent_id: await make(`${p}/agents`, { name: 'Agent' }),
    tool_id,
    kb_id,
    knowledge_base_id: kb_id,
    analysis_id: await make(`${p}/analyses`, { name: 'a', type: 'text', prompt: 'b' }),
    config_id: await make(`${o}/rate-limit-configs`, {
      resource: 'api_requests',
      limit: 1000000,
      window_seconds: 60,
    }),
    session_id: session.body.session_id,
  };
}

void t.test('the description', async (t) => {
  const document = describeOperations(operations, { url: 'http://127.0.0.1' });
  t.equal(document.openapi, '3.1.0');
  t.equal(document.info.version, '0.1.0');
  const text = JSON.stringify(document);
  const references = new Set(
    [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!),
  );
  for (const name of references) t.ok(document.components?.schemas?.[name], `${name} is described`);
  t.same(
    credentialed.filter(
      (operation) =>
        operation.path.startsWith('/auth/') && typeof operation.access === 'object' && operation.access.key,
    ),
    [],
    'keys have no business under /auth',
  );
  const open = operations.filter(
    (operation) => operation.path.startsWith('/v1/') && typeof operation.access !== 'object',
  );
  t.same(
    open.map((operation) => operation.id),
    [],
    'every /v1 route takes a credential',
  );
});

void t.test('every operation keeps to the order of checks', async (t) => {
  const cp = await openTestControlPlane();
  t.teardown(() => cp[Symbol.asyncDispose]());
  const other = await cp.makeTenant();
  const theirs = await makeRecords(cp, other);
  const viewer = await cp.call<{ key: string }>('POST', `/v1/projects/${cp.first.project._id}/api-keys`, {
    body: { name: 'viewer', role: 'viewer' },
  });

  void t.test('401 comes first, whatever the path and body', async (t) => {
    for (const operation of credentialed) {
      const path = pathOf(operation, () => 'x');
      const answer = await cp.call<Refused>(operation.method, path, { token: null });
      t.equal(answer.status, 401, operation.id);
      t.equal(answer.body.request_id, answer.headers.get('x-request-id'));
    }
  });

  void t.test('a key is refused where a user is required, whatever the path', async (t) => {
    const forUsers = credentialed.filter(
      (operation) => typeof operation.access === 'object' && !operation.access.key,
    );
    t.ok(forUsers.length > 5);
    for (const operation of forUsers) {
      const answer = await cp.call<Refused>(
        operation.method,
        pathOf(operation, () => 'x'),
      );
      t.equal(answer.status, 403, operation.id);
      t.equal(answer.body.code, 'user_required', operation.id);
    }
  });

  const forKeys = credentialed.filter(
    (operation) => typeof operation.access === 'object' && operation.access.key,
  );

  void t.test('malformed ids are 422 and name the parameter', async (t) => {
    for (const operation of forKeys) {
      const names = parameterNames(operation.path);
      if (names.length === 0) continue;
      const answer = await cp.call<Refused>(
        operation.method,
        pathOf(operation, () => '%'),
      );
      t.equal(answer.status, 422, operation.id);
      const locs = (answer.body.detail as { loc: string[] }[]).map((entry) => entry.loc);
      t.same(
        locs,
        names.map((name) => ['path', name]),
        operation.id,
      );
    }
  });

  void t.test('ids of nothing and ids of another tenant are the same 404', async (t) => {
    for (const operation of forKeys) {
      if (!operation.target) continue;
      const unknown = await cp.call<Refused>(operation.method, pathOf(operation, unknownId));
      t.equal(unknown.status, 404, `${operation.id}: unknown`);
      const foreign = await cp.call<Refused>(
        operation.method,
        pathOf(operation, (name) => theirs[name] ?? unknownId(name)),
      );
      t.equal(foreign.status, 404, `${operation.id}: foreign`);
      t.equal(foreign.body.detail, unknown.body.detail, `${operation.id}: told apart by nothing`);
    }
  });

  void t.test('a viewer is refused before its body is looked at', async (t) => {
    const mine = await makeRecords(cp, cp.first);
    for (const operation of forKeys) {
      const { access } = operation;
      if (typeof access !== 'object' || access.key === 'viewer') continue;
      const path = pathOf(operation, (name) => mine[name] ?? unknownId(name));
      const answer = await cp.call<Refused>(operation.method, path, {
        token: viewer.body.key,
        ...(operation.method !== 'GET' && { body: '{' }),
      });
      if (answer.status === 404) continue; // Nothing of this kind was made.
      t.equal(answer.status, 403, `${operation.id}: ${JSON.stringify(answer.body)}`);
      t.equal(answer.body.code, 'role_too_low', operation.id);
    }
  });
});
