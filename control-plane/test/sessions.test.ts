import { randomUUID } from 'node:crypto';
import mongoose from 'mongoose';
import t from 'tap';
import { sessionCollection } from '../src/sessions/session-model.ts';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

interface Problem {
  detail: { loc: (string | number)[]; type: string }[];
  code: string;
}
type Body = SessionResponse &
  Problem & { detail: { variables: Record<string, string>; [key: string]: unknown } };
type Listed = { items: SessionResponse[]; total: number };

const plane = await openTestControlPlane();
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;

async function makeAgent(body: object = {}, tenant = plane.first): Promise<string> {
  const { status, body: agent } = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${tenant.org._id}/projects/${tenant.project._id}/agents`,
    { body: { name: `Agent ${Math.random()}`, ...body }, token: tenant.apiKey },
  );
  if (status !== 201) throw new Error(`agent: ${status} ${JSON.stringify(agent)}`);
  return agent.id;
}

const create = (body: unknown, options: { token?: string | null } = {}) =>
  plane.call<Body>('POST', '/v1/sessions', { body, ...options });

const SEED_FIELDS = [
  'session_id', 'org_id', 'project_id', 'channel', 'direction', 'provider', 'transport', 'room_name', 'status',
  'llm_id', 'stt_id', 'tts_id', 'created_at', 'started_at', 'ended_at', 'user_identifier', 'ended_by',
  'failure_reason', 'hangup_reason', 'language', 'message_count', 'duration_seconds', 'agent_duration_seconds',
  'transfer_duration_seconds', 'avg_agent_latency_ms', 'avg_user_latency_ms', 'attempt_number', 'goal_status',
  'agent_id', 'ws_url', 'token', 'media_ws_url', 'ws_ticket',
]; // prettier-ignore

void t.test('an empty body makes a web session of the key’s project', async (t) => {
  const { status, body, headers } = await create({});
  t.equal(status, 200);
  t.same(Object.keys(body).sort(), [...SEED_FIELDS].sort());
  t.match(body, {
    org_id: plane.first.org._id,
    project_id: plane.first.project._id,
    channel: 'web',
    direction: 'web',
    provider: null,
    transport: 'websocket',
    room_name: `room_${body.session_id}`,
    status: 'created',
    agent_id: null,
    message_count: 0,
    attempt_number: 1,
    ws_url: 'ws://127.0.0.1:8080/v1/realtime',
    media_ws_url: null,
    ws_ticket: null,
    started_at: null,
  });
  t.match(body.session_id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  t.equal(headers.get('cache-control'), 'no-store');
  const claims = JSON.parse(Buffer.from(body.token!.split('.')[1]!, 'base64url').toString()) as Record<
    string,
    unknown
  >;
  t.match(claims, {
    iss: 'http://127.0.0.1:8080',
    aud: 'parley:media',
    sub: body.session_id,
    room: body.room_name,
    typ: 'participant',
  });
  t.equal((claims['exp'] as number) - (claims['iat'] as number), 600);
});

void t.test('unknown fields are ignored, a missing or malformed body is not', async (t) => {
  t.equal((await create({ whatever: 1 })).status, 200);
  const missing = await plane.call<Body>('POST', '/v1/sessions');
  t.equal(missing.status, 422);
  t.match(missing.body.detail, [{ loc: ['body'], type: 'missing' }]);
  const cases: [string, object, string][] = [
    ['channel', { channel: 'fax' }, 'channel'],
    ['provider', { channel: 'telephony', provider: 'acme' }, 'provider'],
    ['variables', { variables: { a: 1 } }, 'variables'],
    ['system variable', { variables: { 'system.now': 'x' } }, 'variables'],
    ['record', { record: 'yes' }, 'record'],
    ['agent prefix', { agent_id: 'nonsense' }, 'agent_id'],
    ['unknown agent', { agent_id: 'agt_0000000000000000000000000a' }, 'agent_id'],
    ['unknown model', { llm_id: 'llm_none' }, 'llm_id'],
    ['model of another kind', { llm_id: 'stt_deepgram_flux' }, 'llm_id'],
    [
      'unknown analysis',
      { post_call_analysis_ids: ['ana_0000000000000000000000000a'] },
      'post_call_analysis_ids',
    ],
  ];
  for (const [name, body, field] of cases) {
    const answer = await create(body);
    t.equal(answer.status, 422, name);
    t.same(answer.body.detail[0]!.loc.slice(0, 2), ['body', field], name);
  }
});

void t.test('a telephony session gets a ticket that its address does not hold', async (t) => {
  const { status, body } = await create({ channel: 'telephony', provider: 'twilio' });
  t.equal(status, 200);
  t.match(body, {
    direction: 'outbound',
    transport: 'media_stream',
    provider: 'twilio',
    room_name: null,
    ws_url: null,
    token: null,
    media_ws_url: 'ws://127.0.0.1:8080/media/v1/streams/twilio',
  });
  t.match(body.ws_ticket, /^[A-Za-z0-9_-]{43}$/);
  t.notOk(body.media_ws_url!.includes(body.ws_ticket!));
});

void t.test('telephony without a carrier needs an account of the project', async (t) => {
  const { status, body } = await create({ channel: 'telephony' });
  t.equal(status, 422);
  t.same(body.detail[0]!.loc, ['body', 'provider']);
});

void t.test('the agent brings models, defaults of variables and its version', async (t) => {
  const agentId = await makeAgent({
    tts_id: 'tts_local',
    config: {
      variables: [
        { name: 'shop', default: 'Acme' },
        { name: 'caller', required: true },
      ],
    },
  });
  const missing = await create({ agent_id: agentId });
  t.equal(missing.status, 422);
  t.match(missing.body.detail, [{ loc: ['body', 'variables', 'caller'], type: 'missing' }]);

  const { status, body } = await create({
    agent_id: agentId,
    variables: { caller: 'Asha', '$odd.key': 'kept' },
  });
  t.equal(status, 200);
  t.equal(body.agent_id, agentId);
  t.equal(body.tts_id, 'tts_local');
  const read = await plane.call<Body>('GET', `/v1/sessions/${body.session_id}`);
  t.match(read.body.detail, {
    agent_version: 1,
    variables: { shop: 'Acme', caller: 'Asha', '$odd.key': 'kept' },
    post_call: { status: 'pending', finished_at: null },
  });
  t.equal(
    (await create({ agent_id: agentId, llm_id: 'llm_openai_gpt41_mini', variables: { caller: 'x' } })).status,
    200,
  );
});

void t.test('an archived agent is a 409', async (t) => {
  const agentId = await makeAgent();
  await plane.call('DELETE', `/v1/agents/${agentId}`);
  t.equal((await create({ agent_id: agentId })).status, 409);
});

void t.test('credentials are shown once: reading gives null', async (t) => {
  const { body } = await create({ channel: 'telephony', provider: 'plivo' });
  const read = await plane.call<Body>('GET', `/v1/sessions/${body.session_id}`);
  t.equal(read.body.ws_ticket, null);
  t.equal(read.body.media_ws_url, body.media_ws_url);
  const replayed = async () =>
    plane.call<Body>('POST', '/v1/sessions', {
      body: { record: false },
      headers: { 'idempotency-key': 'once' },
    });
  const first = await replayed();
  const second = await replayed();
  t.equal(second.body.session_id, first.body.session_id);
  t.ok(first.body.token);
  t.equal(second.body.token, null);
});

void t.test('another tenant sees nothing and can use nothing', async (t) => {
  const other = await plane.makeTenant();
  const { body } = await create({});
  const path = `/v1/sessions/${body.session_id}`;
  const token = other.apiKey;
  for (const [method, sub, sent] of [
    ['GET', '', undefined],
    ['DELETE', '', undefined],
    ['POST', '/end', undefined],
    ['POST', '/token', undefined],
    ['POST', '/events', { name: 'x' }],
    ['GET', '/transcript', undefined],
    ['GET', '/events', undefined],
    ['GET', '/metrics', undefined],
    ['GET', '/recording', undefined],
    ['DELETE', '/recording', undefined],
    ['GET', '/analyses', undefined],
  ] as const) {
    const answer = await plane.call<Body>(method, `${path}${sub}`, { token, body: sent });
    t.equal(answer.status, 404, `${method} ${sub}`);
    t.equal(answer.body.code, 'not_found');
  }
  t.equal((await plane.call('GET', `${P}/sessions`, { token })).status, 404);
  const agentId = await makeAgent();
  const foreign = await create({ agent_id: agentId }, { token });
  const unknown = await create({ agent_id: 'agt_0000000000000000000000000a' }, { token });
  t.equal(foreign.status, 422);
  t.same(foreign.body.detail, unknown.body.detail, 'foreign and absent look the same');
  for (const named of [{ org_id: other.org._id }, { project_id: other.project._id }]) {
    t.equal((await create(named)).status, 422);
  }
});

void t.test('roles: viewers read, editors make, admins erase', async (t) => {
  const viewer = await plane.makeTenant('viewer');
  const refused = await create({}, { token: viewer.apiKey });
  t.equal(refused.status, 403);
  t.equal(refused.body.code, 'role_too_low');
  const editor = await plane.makeTenant('editor');
  const made = await create({}, { token: editor.apiKey });
  t.equal(made.status, 200);
  t.equal(
    (await plane.call('DELETE', `/v1/sessions/${made.body.session_id}`, { token: editor.apiKey })).status,
    403,
  );
  t.equal((await create({}, { token: null })).status, 401);
});

void t.test('ending a session nobody joined cancels it, once', async (t) => {
  const { body } = await create({});
  const end = () => plane.call<Body>('POST', `/v1/sessions/${body.session_id}/end`);
  t.equal((await end()).status, 202);
  const read = await plane.call<Body>('GET', `/v1/sessions/${body.session_id}`);
  t.match(read.body, { status: 'cancelled', ended_by: 'api', hangup_reason: 'api_hangup' });
  t.equal((await end()).status, 409);
  t.equal((await gateway.redeem({ token: body.token! })).status, 401, 'its token opens nothing');
  t.equal((await plane.call('POST', `/v1/sessions/${body.session_id}/token`)).status, 409);
  const events = await plane.call<{ items: { type: string; data: { status: string } }[] }>(
    'GET',
    `/v1/sessions/${body.session_id}/events`,
  );
  t.same(
    events.body.items.map((event) => [event.type, event.data.status]),
    [
      ['state', 'created'],
      ['state', 'cancelled'],
    ],
  );
});

void t.test('a new credential makes the unused one worthless', async (t) => {
  const { body } = await create({ channel: 'telephony', provider: 'plivo' });
  const renewed = await plane.call<{ ws_ticket: string; media_ws_url: string; expires_at: string }>(
    'POST',
    `/v1/sessions/${body.session_id}/token`,
  );
  t.equal(renewed.status, 200);
  t.same(Object.keys(renewed.body).sort(), ['expires_at', 'media_ws_url', 'ws_ticket']);
  t.equal((await gateway.check(body.ws_ticket!)).status, 401);
  t.equal((await gateway.check(renewed.body.ws_ticket)).status, 200);
});

void t.test('events reach live sessions only', async (t) => {
  const { body } = await create({});
  const answer = await plane.call<Body>('POST', `/v1/sessions/${body.session_id}/events`, {
    body: { name: 'paid' },
  });
  t.equal(answer.status, 409);
  t.equal(answer.body.code, 'invalid_state');
  const bad = await plane.call<Body>('POST', `/v1/sessions/${body.session_id}/events`, { body: {} });
  t.equal(bad.status, 422);
});

void t.test('sessions are found by the words of their transcripts', async (t) => {
  const tenant = await plane.makeTenant();
  const token = tenant.apiKey;
  const [org_id, project_id] = [tenant.org._id, tenant.project._id];
  const { callLog, database } = plane.app.services;
  const start = async () => (await create({}, { token })).body.session_id;
  const [one, other] = [await start(), await start()];
  const say = (session_id: string, turn_index: number, text: string) =>
    callLog.storeTurn(
      { session_id, org_id, project_id },
      { turn_index, role: 'caller', text, start_ms: 0, end_ms: 1, interrupted: false, redacted: false },
    );
  const found = async (transcript: string) => {
    const path = `/v1/orgs/${org_id}/projects/${project_id}/sessions?sort=created_at&transcript=${encodeURIComponent(transcript)}`;
    const answer = await plane.call<Listed>('GET', path, { token });
    return answer.status === 200 ? answer.body.items.map(({ session_id }) => session_id) : answer.status;
  };
  await say(one, 0, 'Good morning, my number is 555 0199.');
  await say(one, 1, 'I want a refund!');
  await say(other, 0, 'Good evening. A refund, please.');
  t.same(await found('good'), [one, other]);
  t.same(await found('REFUND morning'), [one], 'words of several turns, in any order');
  t.same(await found('morning evening'), []);
  t.same(await found('refun'), [], 'whole words');
  t.same(await found('0199'), [one]);
  await say(one, 0, 'Good morning, my number is [phone_number].');
  t.same(await found('0199'), [], 'what a turn no longer has is not found');
  t.same(await found('morning refund'), [one], 'and the rest still is');
  t.equal(await found('...'), 422);
  t.equal(await found(Array.from({ length: 17 }, (_, n) => `w${n}`).join(' ')), 422);

  const record = {
    ...{ org_id, project_id, channel: 'web', direction: 'web', transport: 'websocket', status: 'ended' },
    ...{ test_run_id: null, parent_session_id: null, created_at: new Date(), said: ['good', 'afternoon'] },
  };
  const native = database.model(sessionCollection).collection;
  await native.insertMany(Array.from({ length: 200 }, () => ({ ...record, _id: randomUUID() as never })));
  const sent: object[] = [];
  mongoose.set('debug', (_: string, method: string, filter: object) => {
    // Others are sent meanwhile, by what runs besides requests.
    if (method === 'find' && JSON.stringify(filter).includes('"said"')) sent.push(filter);
  });
  t.teardown(() => mongoose.set('debug', false));
  t.same(await found('good refund'), [one, other]);
  const { executionStats } = await native.find(sent.at(-1)!).explain('executionStats');
  t.match(
    executionStats,
    { nReturned: 2, totalDocsExamined: 2 },
    'none but those of the rarest word are read',
  );

  await plane.call('POST', `/v1/sessions/${one}/end`, { token });
  t.equal((await plane.call('DELETE', `/v1/sessions/${one}`, { token })).status, 204);
  await say(one, 2, 'A late refund');
  t.same(await found('refund'), [other], 'nothing of what is erased is found');
});

void t.test('lists are filtered and sorted', async (t) => {
  const tenant = await plane.makeTenant();
  const token = tenant.apiKey;
  const at = `/v1/orgs/${tenant.org._id}/projects/${tenant.project._id}/sessions`;
  const web = (await create({}, { token })).body.session_id;
  const phone = (await create({ channel: 'telephony', provider: 'plivo' }, { token })).body.session_id;
  const list = async (query: string) => {
    const answer = await plane.call<Listed>('GET', `${at}${query}`, { token });
    return answer.status === 200 ? answer.body.items.map((item) => item.session_id) : answer.status;
  };
  t.same(await list(''), [phone, web]);
  t.same(await list('?sort=created_at'), [web, phone]);
  t.same(await list('?channel=web'), [web]);
  t.same(await list('?channel=web&channel=telephony&provider=plivo'), [phone]);
  t.same(await list('?status=ended'), []);
  t.same(await list('?sort=duration_seconds&limit=1'), [web]);
  t.same(await list('?phone_number=%2B14155550100'), []);
  t.same(await list('?started_after=2026-01-01T00:00:00Z'), []);
  const { session_id: called } = (
    await create({ variables: { name: 'Asha Rao', external_id: 'CRM-17' } }, { token })
  ).body;
  const { services } = plane.app;
  await services.sessionStore.change(called, {
    from_number: '+14155550100',
    to_number: '+442071838750',
    user_identifier: 'asha@example.com',
    variables: { name: 'Asha Rao' },
    failure_reason: 'llm_error',
    outcome: 'call back',
    duration_seconds: 90,
  });
  await services.sessionStore.change(phone, { hangup_reason: 'silence', duration_seconds: 30 });
  for (const [query, ids] of [
    ['?failure_reason=llm_error', [called]],
    ['?failure_reason=llm_error&failure_reason=busy', [called]],
    ['?failure_reason=busy', []],
    ['?hangup_reason=silence', [phone]],
    ['?outcome=call%20back', [called]],
    ['?min_duration_seconds=30', [called, phone]],
    ['?min_duration_seconds=31', [called]],
    ['?max_duration_seconds=30', [phone]],
    ['?min_duration_seconds=30&max_duration_seconds=89', [phone]],
    ['?q=%2B1%20(415)%20555-0100', [called]],
    ['?q=8750', [called]],
    ['?q=RAO%20asha', [called]],
    ['?q=asha%40example.com', [called]],
    ['?q=asha%20bob', []],
    ['?q=asha&channel=telephony', []],
  ] as const) {
    t.same(await list(query), ids, query);
  }
  const detailed = await plane.call<{ items: { detail: object }[] }>('GET', `${at}?q=asha&detail=true`, {
    token,
  });
  const { body: one } = await plane.call<{ detail: object }>('GET', `/v1/sessions/${called}`, { token });
  t.same(detailed.body.items[0]?.detail, one.detail, 'with their detail on request');
  t.match(one.detail, { from_number: '+14155550100', outcome: 'call back' });
  await plane.call('POST', `/v1/sessions/${called}/end`, { token });
  t.equal((await plane.call('DELETE', `/v1/sessions/${called}`, { token })).status, 204);
  t.same(await list('?q=asha'), [], 'what is erased is not found');
  for (const query of [
    '?failure_reason=none',
    '?min_duration_seconds=2&max_duration_seconds=1',
    '?max_duration_seconds=-1',
    '?q=...',
    '?status=nonsense',
    '?nonsense=1',
    '?limit=0',
    '?agent_id=org_x',
    '?phone_number=123',
  ]) {
    t.equal(await list(query), 422, query);
  }
});

void t.test('an agent’s limit of sessions at a time holds', async (t) => {
  const agentId = await makeAgent({ config: { limits: { max_concurrent_sessions: 2 } } });
  const first = await create({ agent_id: agentId });
  t.equal((await create({ agent_id: agentId })).status, 200);
  const third = await create({ agent_id: agentId });
  t.equal(third.status, 429);
  t.equal(third.body.code, 'concurrency_limit');
  t.ok(third.headers.get('retry-after'));
  await plane.call('POST', `/v1/sessions/${first.body.session_id}/end`);
  t.equal((await create({ agent_id: agentId })).status, 200, 'a slot that was released is free');
});

void t.test('who tries an agent gives answers in place of its tools', async (t) => {
  const agent_id = await makeAgent();
  const tool = await plane.call<{ id: string }>('POST', `/v1/orgs/${plane.first.org._id}/tools`, {
    body: {
      ...{ name: 'find_order', description: 'Finds an order.', type: 'webhook' },
      parameters: { type: 'object' },
      webhook: { url: 'https://api.example.com/orders' },
    },
  });
  const mint = (tool_mocks: object[]) =>
    plane.call<{ token: string; detail: { loc: unknown[]; type: string }[] }>(
      'POST',
      '/v1/realtime/sessions',
      { body: { agent_id, tool_mocks } },
    );
  const mock = { tool_id: tool.body.id, result: { state: 'sent' } };
  const { body } = await mint([mock]);
  const plan = await gateway.redeem({ token: body.token });
  t.match(plan.body.tool_mocks, [{ ...mock, function: null, match: {}, error: null }]);
  const unknown = await mint([{ ...mock, tool_id: 'tol_00000000000000000000000000' }]);
  t.equal(unknown.status, 422);
  t.match(unknown.body.detail, [{ loc: ['body', 'tool_mocks', 0, 'tool_id'], type: 'reference_not_found' }]);
  const large = await mint([{ ...mock, result: 'x'.repeat(70_000) }]);
  t.match([large.status, large.body.detail], [422, [{ loc: ['body', 'tool_mocks'], type: 'too_long' }]]);
});

void t.test('realtime tokens are minted in our words and in the SDKs’', async (t) => {
  const agentId = await makeAgent();
  const ours = await plane.call<{ token: string; session_id: string; agent_id: string }>(
    'POST',
    '/v1/realtime/sessions',
    {
      body: { agent_id: agentId, user_identifier: 'u-1', input_format: 'pcmu_8000', expires_in_seconds: 30 },
    },
  );
  t.equal(ours.status, 200);
  t.match(ours.body, {
    token: /^ek_[A-Za-z0-9_-]{43}$/,
    agent_id: agentId,
    input_format: 'pcmu_8000',
    output_format: 'pcm16_24000',
  });
  const plan = await gateway.redeem({ token: ours.body.token });
  t.equal(plan.status, 200);
  t.match(plan.body, { audio: { input_format: 'pcmu_8000' }, system: { user_identifier: 'u-1' } });

  const theirs = await plane.call<{ value: string; expires_at: number; session: { model: string } }>(
    'POST',
    '/v1/realtime/client_secrets',
    {
      body: {
        expires_after: { anchor: 'created_at', seconds: 60 },
        session: {
          type: 'realtime',
          model: agentId,
          audio: { output: { voice: 'marin', format: { type: 'audio/pcma' } } },
        },
      },
    },
  );
  t.equal(theirs.status, 200);
  t.match(theirs.body.value, /^ek_/);
  t.equal(theirs.body.session.model, agentId);
  t.equal(theirs.body.expires_at, Math.floor(theirs.body.expires_at), 'unix seconds');
  t.match((await gateway.redeem({ token: theirs.body.value })).body.audio, { output_format: 'pcma_8000' });
  const secretOnce = () =>
    plane.call<{ value: string | null; session: { id: string } }>('POST', '/v1/realtime/client_secrets', {
      body: { session: { type: 'realtime', model: agentId } },
      headers: { 'idempotency-key': 'secret-once' },
    });
  const [made, replayed] = [await secretOnce(), await secretOnce()];
  t.same(replayed.body.session, made.body.session, 'a key repeated is one session');
  t.equal(replayed.body.value, null);
  t.equal((await plane.call('POST', '/v1/realtime/sessions', { body: {} })).status, 422);

  const refused = async (model: string) =>
    (
      await plane.call<{ detail: { loc: string[]; msg: string; type: string }[] }>(
        'POST',
        '/v1/realtime/client_secrets',
        { body: { session: { type: 'realtime', model } } },
      )
    ).body.detail;
  const loc = ['body', 'session', 'model'];
  t.match(await refused('agt_00000000000000000000000000'), [{ loc, type: 'reference_not_found' }]);
  t.match(await refused('gpt-realtime'), [{ loc, type: 'string_pattern_mismatch' }]);
  const asks = await makeAgent({ config: { variables: [{ name: 'order', required: true }] } });
  t.match(await refused(asks), [{ loc, msg: 'variables.order: Field required', type: 'missing' }]);
});

void t.test('without the bus sessions are still made, and what needs it says so', async (t) => {
  const { slots, rates, commands } = plane.bus;
  const kept = [slots.take, rates.hit, commands.send] as const;
  const gone = () => Promise.reject(new Error('gone'));
  const { body: before } = await create({ channel: 'telephony', provider: 'plivo' });
  const plan = await gateway.redeem({ ticket: before.ws_ticket! });
  await plane.app.services.callEvents.handle(gateway.started(plan.body));
  Object.assign(slots, { take: gone });
  Object.assign(rates, { hit: gone });
  Object.assign(commands, { send: gone });
  t.teardown(() => {
    Object.assign(slots, { take: kept[0] });
    Object.assign(rates, { hit: kept[1] });
    Object.assign(commands, { send: kept[2] });
  });
  const { status, body } = await create({ channel: 'telephony', provider: 'plivo' });
  t.equal(status, 200);
  t.equal(
    (await gateway.redeem({ ticket: body.ws_ticket!, start: { carrier_call_id: 'call-2' } })).status,
    200,
  );
  const end = await plane.call<Body>('POST', `/v1/sessions/${before.session_id}/end`);
  t.match(end, { status: 503, body: { code: 'unavailable' } });
});
