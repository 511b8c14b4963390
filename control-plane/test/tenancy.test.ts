import t from 'tap';
import { newId } from '@parley/shared/ids/new-id';
import { roleAtLeast } from '../src/tenancy/roles.ts';
import type { Role } from '../src/tenancy/roles.ts';
import { openContractWorld } from './fixtures/contract-world.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';

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
        setup_code: cp.app.services.userAccounts.setupCode(),
      },
    },
  );
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return { userId: answer.body.user.user_id, token: answer.body.access_token };
}

/** Collections of an org: a key of any of its projects may look at them, and sees its own part. */
const ORG_WIDE = /^\/v1\/orgs\/\{org_id\}(\/(?!projects\/\{)[a-z-]+(\/(\{key\}|available|ucc\/sync))?)?$/;
/** What is of the whole org, for any key of it; a user who may see some projects only is refused. */
const WHOLE_ORG = /^\/v1\/orgs\/\{org_id\}\/(billing|usage)\//;
/** A clone that is not shown to others is there for its org alone, in all projects of it; so are its own models. */
const ORG_RECORDS = ['voice_id', 'model_id'];

/** Takes its tenant from the query, and so after the body: it gets a good one, and members name the org. */
const IN_QUERY = 'speakWithVoice';

/** Each operation is asked for by nine callers. */
t.setTimeout(600_000);
void t.test('every route keeps tenants apart', async (t) => {
  const world = await openContractWorld();
  t.teardown(() => world[Symbol.asyncDispose]());
  const { cp, put, owner } = world;
  const { ids: mine } = world.project;
  const [orgId, projectId] = [mine['org_id']!, mine['project_id']!];
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

  const unknown = [...new Set(cases.flatMap(({ names }) => names))].filter((name) => !(name in mine));
  t.same(unknown, [], 'there is a record for every path parameter');

  // Callers
  const stranger = await register(cp, 'stranger@example.com');
  const viewerUser = await register(cp, 'viewer@example.com');
  const narrowed = await register(cp, 'narrowed@example.com');
  const second = await cp.call<{ id: string }>('POST', `/v1/orgs/${orgId}/projects`, {
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
  const revoked = await makeKey(projectId, 'admin');
  await cp.call('DELETE', `/v1/projects/${projectId}/api-keys/${revoked.id}`, { token: owner.token });
  const expired = await makeKey(projectId, 'admin');
  const apiKeys = cp.app.features.collections.find(({ name }) => name === 'api_keys')!;
  await services.database
    .model(apiKeys)
    .updateOne({ _id: expired.id }, { $set: { expires_at: new Date(0) } } as never);
  const membership = (userId: string, role: Role, project_ids: string[] | null) =>
    put('members', {
      _id: newId('mbr'),
      org_id: orgId,
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
      token: (await makeKey(projectId, 'viewer')).key,
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
      if (WHOLE_ORG.test(one.path) && caller.sees === 'org') return caller.kind === 'user' ? 403 : null;
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
        inQuery && member ? `${path}?org_id=${orgId}` : path,
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
