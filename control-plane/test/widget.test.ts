import { randomUUID } from 'node:crypto';
import t from 'tap';
import { defaultAgentConfig } from '@parley/shared/contracts/agent-config';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { orgCollection } from '../src/orgs/org-model.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

const PAGE = 'https://www.example.com';
const DAY_MS = 24 * 3_600_000;

interface Started {
  session_id: string;
  ws_url: string;
  token: string;
  expires_at: string;
  code: string;
  detail: unknown;
}

// Half past ten on a day of its own.
const clock = new ManualClock(Math.floor(Date.now() / DAY_MS + 1) * DAY_MS + 10.5 * 3_600_000);
const cp = await openTestControlPlane({
  clock,
  env: { TRUSTED_PROXIES: '127.0.0.1', CONSOLE_URL: 'https://console.example.com' },
});
t.teardown(() => cp[Symbol.asyncDispose]());
const gateway = new TestGateway(cp);
const { database, directory, orgs } = cp.app.services;
const { org, project } = cp.first;

async function makeAgent(widget: object = {}, config: object = {}): Promise<string> {
  const { status, body } = await cp.call<{ id: string }>(
    'POST',
    `/v1/orgs/${org._id}/projects/${project._id}/agents`,
    {
      body: {
        name: `Agent ${randomUUID()}`,
        config: { widget: { enabled: true, allowed_origins: [PAGE], ...widget }, ...config },
      },
    },
  );
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}

let visitors = 0;
/** A visitor at an address that nobody else has, unless one is given. */
function visit(
  agentId: string,
  { origin = PAGE, address, body }: { origin?: string | null; address?: string; body?: unknown } = {},
) {
  const from = address ?? `198.51.${Math.floor(++visitors / 250)}.${visitors % 250}`;
  return cp.call<Started>('POST', `/public/v1/agents/${agentId}/sessions`, {
    token: null,
    body,
    headers: { 'x-forwarded-for': from, ...(origin !== null && { origin }) },
  });
}

const end = (sessionId: string) => cp.call('POST', `/v1/sessions/${sessionId}/end`);

void t.test('a visitor of an allowed page gets a session without any credential', async (t) => {
  const agent = await makeAgent({ title: 'Ask us', variables: ['page'] });
  const { status, headers, body } = await visit(agent, { body: { variables: { page: 'pricing' } } });
  t.equal(status, 200);
  t.equal(headers.get('cache-control'), 'no-store');
  t.same(body, {
    session_id: body.session_id,
    ws_url: 'ws://127.0.0.1:8080/v1/realtime',
    token: body.token,
    expires_at: new Date(clock.now() + 600_000).toISOString(),
    agent_id: agent,
    input_format: 'pcm16_24000',
    output_format: 'pcm16_24000',
    title: 'Ask us',
  });
  t.match(body.token, /^ek_[A-Za-z0-9_-]{43}$/);
  t.match((await cp.call('GET', `/v1/sessions/${body.session_id}`)).body, {
    agent_id: agent,
    channel: 'web',
    direction: 'web',
    transport: 'websocket',
    status: 'created',
    user_identifier: null,
    token: null,
    detail: { variables: { page: 'pricing' } },
  });
  await end(body.session_id);
});

void t.test(
  'its token opens one connection, from that page alone, for ten minutes and without tools',
  async (t) => {
    const agent = await makeAgent({}, { limits: { max_duration_seconds: 3600 } });
    const { body } = await visit(agent);
    for (const origin of [undefined, 'https://evil.example.com', 'http://www.example.com', `${PAGE}:8443`]) {
      const { status, body: refused } = await gateway.redeem({
        token: body.token,
        ...(origin && { origin }),
      });
      t.match({ status, code: refused.code }, { status: 401, code: 'origin_refused' }, origin ?? 'no origin');
    }
    const admitted = await gateway.redeem({ token: body.token, origin: PAGE });
    t.equal(admitted.status, 200, 'those before have burned nothing');
    t.same(admitted.body.limits.client_overrides, ['voice', 'turn_detection']);
    t.equal(admitted.body.limits.max_duration_seconds, 600);
    t.match((await gateway.redeem({ token: body.token, origin: PAGE })).status, 409);

    const brief = await makeAgent({}, { limits: { max_duration_seconds: 60 } });
    const second = await visit(brief);
    const { body: plan } = await gateway.redeem({ token: second.body.token, origin: PAGE });
    t.equal(plan.limits.max_duration_seconds, 60, 'the agent may be stricter');
  },
);

void t.test('tokens of the project itself are bound to no page', async (t) => {
  const agent = await makeAgent();
  const minted = await cp.call<Started>('POST', '/v1/realtime/sessions', { body: { agent_id: agent } });
  const { body } = await gateway.redeem({ token: minted.body.token });
  t.same(body.limits, { ...body.limits, max_duration_seconds: 1800 });
  t.same(body.limits.client_overrides, ['tools', 'voice', 'turn_detection']);
});

void t.test('nobody else is let in', async (t) => {
  const agent = await makeAgent();
  const closed = await makeAgent({ enabled: false });
  const archived = await makeAgent();
  await cp.call('DELETE', `/v1/agents/${archived}`);
  const cases: [string, string, string | null, number, string][] = [
    ['an agent that is not there', 'agt_01k5z8r5m2q7v3x9b4n6c8d0ef', PAGE, 404, 'not_found'],
    ['an agent that is for no page', closed, PAGE, 403, 'widget_disabled'],
    ['an archived agent', archived, PAGE, 403, 'widget_disabled'],
    ['no page at all', agent, null, 403, 'origin_refused'],
    ['another page', agent, 'https://evil.example.com', 403, 'origin_refused'],
    ['another scheme', agent, 'http://www.example.com', 403, 'origin_refused'],
    ['another port', agent, `${PAGE}:8443`, 403, 'origin_refused'],
    ['a page below', agent, 'https://a.www.example.com', 403, 'origin_refused'],
    ['a page that begins like it', agent, `${PAGE}.evil.com`, 403, 'origin_refused'],
    ['a sandbox', agent, 'null', 403, 'origin_refused'],
  ];
  for (const [name, id, origin, status, code] of cases) {
    // A bad body does not come into it.
    t.match(await visit(id, { origin, body: '{' }), { status, body: { code } }, name);
  }
  t.match(await visit('x'), { status: 422, body: { detail: [{ loc: ['path', 'agent_id'] }] } });
});

void t.test('a visitor says nothing but the variables that the agent names', async (t) => {
  const agent = await makeAgent(
    { variables: ['page', 'name'] },
    {
      variables: [
        { name: 'name', required: true },
        { name: 'tier', default: 'basic' },
      ],
    },
  );
  const cases: [unknown, (string | number)[], string][] = [
    [{ variables: { name: 'x', tier: 'gold' } }, ['body', 'variables', 'tier'], 'extra_forbidden'],
    [{ variables: { page: 'x' } }, ['body', 'variables', 'name'], 'missing'],
    [{ variables: { name: 'x' }, user_identifier: 'me' }, ['body', 'user_identifier'], 'extra_forbidden'],
    [{ variables: { name: 'x' }, client_tools: true }, ['body', 'client_tools'], 'extra_forbidden'],
    [{ variables: { name: 1 } }, ['body', 'variables', 'name'], 'string_type'],
  ];
  for (const [body, loc, type] of cases) {
    t.match(
      await visit(agent, { body }),
      { status: 422, body: { detail: [{ loc, type }] } },
      JSON.stringify(body),
    );
  }
  const { body } = await visit(agent, { body: { variables: { name: 'Asha' } } });
  const { body: plan } = await gateway.redeem({ token: body.token, origin: PAGE });
  t.same(plan.variables, { name: 'Asha', tier: 'basic' });
});

void t.test('an address knocks five times a minute, whatever comes of it', async (t) => {
  const agent = await makeAgent();
  const address = '203.0.113.7';
  t.equal((await visit(agent, { address })).status, 200);
  for (let i = 0; i < 4; i++) t.equal((await visit(agent, { address, origin: null })).status, 403);
  const sixth = await visit(await makeAgent(), { address });
  t.match(sixth, { status: 429, body: { code: 'rate_limited' } }, 'at another agent too');
  t.match(sixth.headers.get('retry-after'), /^\d+$/);
  t.equal((await visit(agent)).status, 200, 'others are not disturbed');
  clock.advance(60_000);
  t.equal((await visit(agent, { address })).status, 200);
});

void t.test('an agent speaks with three visitors at a time', async (t) => {
  const agent = await makeAgent();
  const first = await visit(agent);
  // They race.
  const others = await Promise.all(Array.from({ length: 5 }, () => visit(agent)));
  t.equal(others.filter(({ status }) => status === 200).length, 2);
  const [refused] = others.filter(({ status }) => status !== 200);
  t.match(refused, { status: 429, body: { code: 'concurrency_limit' } });
  t.match(refused!.headers.get('retry-after'), /^\d+$/);
  t.equal((await visit(await makeAgent())).status, 200, 'other agents have slots of their own');
  const own = await cp.call('POST', '/v1/realtime/sessions', { body: { agent_id: agent } });
  t.equal(own.status, 200, 'and so have sessions of the project itself');
  await end(first.body.session_id);
  t.equal((await visit(agent)).status, 200);
});

void t.test('a day has so many sessions and no more, however they come', async (t) => {
  const agent = await makeAgent({ daily_sessions: 4 });
  for (let i = 0; i < 3; i++) {
    const { body } = await visit(agent);
    await end(body.session_id);
  }
  const last = await Promise.all([visit(agent), visit(agent), visit(agent)]);
  t.same(last.map(({ status }) => status).sort(), [200, 429, 429]);
  const refused = last.find(({ status }) => status === 429)!;
  t.match(refused.body, { code: 'daily_limit' });
  const midnight = Math.floor(clock.now() / DAY_MS + 1) * DAY_MS;
  t.equal(Number(refused.headers.get('retry-after')), Math.ceil((midnight - clock.now()) / 1000));
  const at = `/v1/agents/${agent}`;
  await cp.call('PATCH', at, { body: { config: { widget: { daily_sessions: 6 } } } });
  const more = await Promise.all([visit(agent), visit(agent)]);
  t.same(
    more.map(({ status }) => status),
    [200, 200],
    'who was refused holds no slot',
  );
  clock.advance(DAY_MS);
  t.equal((await visit(agent)).status, 200, 'another day');
});

void t.test('nothing is known of visitors, and nothing is remembered', async (t) => {
  const agent = await makeAgent({}, { memory: { read: true, write: true } });
  const subject = 'asha';
  await cp.call('POST', `/v1/agents/${agent}/memories`, {
    body: { subject, kind: 'fact', content: 'Has a dog.' },
  });
  const sessions = database.model(sessionCollection);
  const own = await cp.call<Started>('POST', '/v1/realtime/sessions', {
    body: { agent_id: agent, user_identifier: subject },
  });
  t.equal((await gateway.redeem({ token: own.body.token })).body.memories.length, 1);
  const { body } = await visit(agent);
  await sessions.updateOne({ _id: body.session_id }, { $set: { user_identifier: subject } });
  t.same((await gateway.redeem({ token: body.token, origin: PAGE })).body.memories, []);
  const session = (await sessions.findOne({ _id: body.session_id }).lean())!;
  const { storedAgents, memories } = cp.app.services;
  t.equal(await memories.toWrite(session, await storedAgents.forNewSession(agent, null)), null);
});

void t.test('an org may switch its pages off, and a suspended one has none', async (t) => {
  const agent = await makeAgent();
  const scope = { orgId: org._id } as Parameters<typeof orgs.setFlag>[0];
  const set = async (enabled: boolean) => {
    await orgs.setFlag(scope, 'cli' as never, 'public_widget', enabled, { address: '' });
    directory.forget(org._id);
  };
  await set(false);
  t.match((await visit(agent)).body, { code: 'feature_disabled' });
  await set(true);
  const state = async (status: string) => {
    await database.model(orgCollection).updateOne({ _id: org._id }, { $set: { status } } as never);
    directory.forget(org._id);
  };
  await state('suspended');
  t.match((await visit(agent)).body, { code: 'org_suspended' });
  await state('active');
  t.equal((await visit(agent)).status, 200);
});

void t.test('browsers are told so: the pages of an agent may call it, and nothing else', async (t) => {
  const agent = await makeAgent();
  const ask = (path: string, origin: string) =>
    fetch(cp.url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
  const path = `/public/v1/agents/${agent}/sessions`;
  const allowed = await ask(path, PAGE);
  t.equal(allowed.status, 204);
  t.equal(allowed.headers.get('access-control-allow-origin'), PAGE);
  t.equal(allowed.headers.get('access-control-allow-methods'), 'POST');
  t.match(allowed.headers.get('access-control-allow-headers'), /content-type/i);
  t.equal(allowed.headers.get('access-control-allow-credentials'), null);
  t.match(allowed.headers.get('vary'), /Origin/);
  const elsewhere = `/public/v1/agents/${await makeAgent({ enabled: false })}/sessions`;
  for (const [where, origin] of [
    [path, 'https://evil.example.com'],
    [path, 'https://console.example.com'],
    [elsewhere, PAGE],
    ['/public/v1/agents/x/sessions', PAGE],
    ['/v1/me', PAGE],
    ['/auth/v1/login', PAGE],
  ] as const) {
    const refused = await ask(where, origin);
    t.equal(refused.headers.get('access-control-allow-origin'), null, `${where} from ${origin}`);
  }
  const answered = await visit(agent);
  t.equal(answered.headers.get('access-control-allow-origin'), PAGE);
  t.match(answered.headers.get('access-control-expose-headers'), /Retry-After/);
  const refused = await visit(agent, { body: { user_identifier: 'x' } });
  t.equal(refused.headers.get('access-control-allow-origin'), PAGE, 'a page may read why it is refused');
});

void t.test('an allowed origin is written as browsers send it', async (t) => {
  for (const origin of [
    'https://www.example.com/',
    'https://www.example.com/chat',
    'https://WWW.example.com',
  ])
    t.match(
      await makeAgent({ allowed_origins: [origin] }).catch(
        (error: Error) => JSON.parse(error.message) as unknown,
      ),
      { detail: [{ loc: ['body', 'config', 'widget', 'allowed_origins', 0], type: 'value_error' }] },
      origin,
    );
  t.equal(defaultAgentConfig().widget.enabled, false, 'nobody is open by default');
});

void t.test('asking before the request counts like a request', async (t) => {
  const strict = await openTestControlPlane({ clock, env: { ADDRESS_REQUESTS_PER_MINUTE: '2' } });
  t.teardown(() => strict[Symbol.asyncDispose]());
  const headers = { origin: PAGE, 'access-control-request-method': 'POST' };
  const ask = () =>
    strict.call('OPTIONS', '/public/v1/agents/agt_01k5z8r5m2q7v3x9b4n6c8d0ef/sessions', {
      token: null,
      headers,
    });
  for (let i = 0; i < 2; i++) t.equal((await ask()).headers.get('access-control-allow-origin'), null);
  t.match(await ask(), { status: 429, body: { code: 'rate_limited' } });
});

void t.test('who can not be counted is not let in', async (t) => {
  const agent = await makeAgent();
  const gone = () => Promise.reject(new Error('The bus is gone.'));
  const { rates, slots } = cp.bus;
  for (const [part, method] of [
    [rates, 'hit'],
    [slots, 'take'],
  ] as const) {
    Object.assign(part, { [method]: gone });
    const answer = await visit(agent);
    Reflect.deleteProperty(part, method);
    t.match(answer, { status: 503, body: { code: 'unavailable' } }, method);
    t.match(answer.headers.get('retry-after'), /^\d+$/);
  }
  t.equal((await visit(agent)).status, 200);
});
