import { createHash, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { credentialDigest } from '@parley/shared/contracts/admission';
import { sessionPlanSchema } from '@parley/shared/contracts/session-plan';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { ValidationError } from '@parley/shared/errors/app-error';
import { overridesSchema } from '../src/agents/agent-overrides.ts';
import { storedOverrides } from '../src/sessions/session-overrides.ts';
import type { Overrides } from '../src/sessions/session-overrides.ts';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';

const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({ clock, env: { RECORDING_STORE: 'upload' } });
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);

async function create(body: object = { channel: 'telephony', provider: 'plivo' }): Promise<SessionResponse> {
  return (await plane.call<SessionResponse>('POST', '/v1/sessions', { body })).body;
}

async function makeAgent(body: object): Promise<string> {
  const answer = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`,
    { body: { name: `Agent ${randomUUID()}`, ...body } },
  );
  return answer.body.id;
}

void t.test('of two sockets racing with one ticket, exactly one is admitted', async (t) => {
  const { ws_ticket: ticket } = await create();
  const claims = Array.from({ length: 8 }, () => randomUUID());
  const answers = await Promise.all(claims.map((claimId) => gateway.redeem({ ticket: ticket!, claimId })));
  const admitted = answers.filter((answer) => answer.status === 200);
  t.equal(admitted.length, 1);
  for (const answer of answers)
    if (answer.status !== 200) t.match(answer, { status: 409, body: { code: 'in_use' } });
  const winner = admitted[0]!.body;
  const again = await gateway.redeem({ ticket: ticket!, claimId: winner.claim_id });
  t.same(again.body, winner, 'the same claim is answered with the same plan');
  clock.advance(14 * 60_000);
  await plane.atRest();
  t.same(
    (await gateway.redeem({ ticket: ticket!, claimId: winner.claim_id })).body,
    winner,
    'also once expired',
  );
});

void t.test('the plan is what the contract says', async (t) => {
  const agentId = await makeAgent({
    system_prompt: 'You sell {{what}}.',
    greeting: 'Hi',
    tts_id: 'tts_local',
    config: { variables: [{ name: 'what', default: 'tea' }], limits: { max_duration_seconds: 77 } },
  });
  const session = await create({ agent_id: agentId, channel: 'telephony', provider: 'plivo' });
  const { status, headers, body } = await gateway.redeem({ ticket: session.ws_ticket! });
  t.equal(status, 200);
  t.equal(headers.get('cache-control'), 'no-store');
  const plan = sessionPlanSchema.parse(body);
  t.match(plan, {
    session_id: session.session_id,
    org_id: plane.first.org._id,
    leg: 0,
    first_event_index: 0,
    history: [],
    answered_at: null,
    room_name: null,
    provider: 'plivo',
    agent: { agent_id: agentId, version: 1, system_prompt: 'You sell {{what}}.', greeting: 'Hi' },
    variables: { what: 'tea' },
    limits: { max_duration_seconds: 77, client_overrides: [] },
    record: { enabled: true, store: 'upload', format: 'wav', channels: 'dual' },
  });
  t.match(
    plan.record.key,
    new RegExp(`^recordings/${plane.first.org._id}/.*/${session.session_id}/rec_.*\\.wav$`),
  );
  t.equal(plan.agent.config.silence.max_reminders, 2, 'defaults are filled');
  t.match(plan.stt, [{ id: 'stt_deepgram_nova3', emulated: true, base_url: 'https://api.deepgram.com' }]);
  t.match(plan.tts, [{ provider: 'flite', credential: null }]);
});

/** An agent, and what `AgentOverrides` makes of overrides of it. */
async function overriding(body: object) {
  const { agentOverrides, database, storedAgents } = plane.app.services;
  const agentId = await makeAgent(body);
  const agent = (await storedAgents.forNewSession(agentId, null))!;
  const { org_id: orgId, project_id: projectId } = agent;
  const scope = new Scope(database, { orgId, projectId, projects: [projectId], role: 'editor' });
  return { agentId, check: (overrides: Overrides) => agentOverrides.check(scope, agent, overrides) };
}

void t.test('a session runs its agent with its overrides', async (t) => {
  const { agentId, check } = await overriding({
    system_prompt: 'You sell tea.',
    greeting: 'Hi',
    tts_id: 'tts_local',
    config: { llm: { temperature: 0.2 }, silence: { max_reminders: 1 }, pre_call: { timeout_ms: 900 } },
  });
  const overrides = overridesSchema.parse({
    system_prompt: 'You sell coffee.',
    greeting: 'Good morning',
    tts_voice_id: 'voc_flite_slt',
    config: {
      llm: { max_output_tokens: 99 },
      silence: { max_reminders: null },
      greeting: { mode: 'caller_first' },
      limits: { max_duration_seconds: 60, max_cost_amount: '0.50' },
    },
  });
  const agent = await check(overrides);
  t.match(agent, { tts_voice_id: 'voc_flite_slt', config: { pre_call: { timeout_ms: 900 } } });
  t.same(await check(overrides), agent, 'a second time changes nothing');

  const session = await create({ agent_id: agentId, channel: 'telephony', provider: 'plivo' });
  const { sessionStore } = plane.app.services;
  const { tts_voice_id } = agent;
  await sessionStore.change(session.session_id, { overrides: storedOverrides(overrides), tts_voice_id });
  const { body: plan } = await gateway.redeem({ ticket: session.ws_ticket! });
  t.match(plan, {
    agent: {
      agent_id: agentId,
      system_prompt: 'You sell coffee.',
      greeting: 'Good morning',
      config: {
        llm: { temperature: 0.2, max_output_tokens: 99 },
        silence: { max_reminders: 2 },
        greeting: { mode: 'caller_first' },
      },
    },
    limits: { max_duration_seconds: 60, max_cost_amount: '0.50' },
    tts: [{ voice: 'slt' }],
  });
});

void t.test('overrides that cannot be are refused, each where it stands', async (t) => {
  const { check } = await overriding({
    config: {
      limits: { max_duration_seconds: 60, max_cost_amount: '0.50' },
      turn_taking: { min_endpointing_ms: 1000 },
    },
  });
  const problems = async (overrides: Overrides) => {
    const error: unknown = await check(overrides).catch((reason: unknown) => reason);
    if (!(error instanceof ValidationError)) throw new Error('accepted', { cause: error });
    return error.details.map(({ loc, type }) => `${loc.join('.')}: ${type}`);
  };
  t.same(await problems({ llm_id: 'stt_deepgram_nova3', tts_voice_id: 'voc_flite_nobody' }), [
    'body.overrides.llm_id: reference_not_found',
    'body.overrides.tts_voice_id: reference_not_found',
  ]);
  const audio_asset_id = 'aud_01k5z8r5m2q7v3x9b4n6c8d0ef';
  t.same(
    await problems({
      config: {
        greeting: { audio_asset_id },
        limits: { max_duration_seconds: 61, max_cost_amount: '0.51' },
      },
    }),
    [
      'body.overrides.config.limits.max_duration_seconds: less_than_equal',
      'body.overrides.config.limits.max_cost_amount: less_than_equal',
      'body.overrides.config.greeting.audio_asset_id: reference_not_found',
    ],
  );
  t.same(
    await problems({ config: { turn_taking: { max_endpointing_ms: 900 } } }),
    ['body.overrides.config.turn_taking.max_endpointing_ms: value_error'],
    'fine alone, and not with the agent',
  );
  const shape = (overrides: object) =>
    overridesSchema.safeParse(overrides).error?.issues.map(({ path }) => path.join('.'));
  t.same(shape({ config: { webhooks: { start_call: { enabled: true } } } }), ['config']);
  t.same(shape({ config: { limits: { max_tool_steps: null, warn_before_end_seconds: 1 } } }), [
    'config.limits.max_tool_steps',
    'config.limits',
  ]);
  t.same(shape({ config: { llm: { temperature: 9, unknown: null } } }), [
    'config.llm.temperature',
    'config.llm',
  ]);
  t.same(shape({ tools: [] }), ['']);
});

void t.test('an API key mints a session and claims it, once for each claim', async (t) => {
  const made = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`,
    { body: { name: 'By key' } },
  );
  const agentId = made.body.id;
  const redeem = (claim: string, key = plane.first.apiKey, agent_id = agentId) =>
    gateway.internal<{ session_id: string; code?: string }>('POST', '/internal/v1/admissions/redeem', {
      kind: 'api_key',
      token: key,
      agent_id,
      claim_id: claim,
      gateway_id: gateway.id,
      start: { encoding: 'pcm16', sample_rate: 24_000 },
    });
  const first = await redeem('claim-of-a-key');
  t.equal(first.status, 200);
  t.equal((await redeem('claim-of-a-key')).body.session_id, first.body.session_id, 'a lost answer');
  t.not((await redeem('another-claim')).body.session_id, first.body.session_id);
  const refused = { status: 403, body: { code: 'agent_refused' } };
  t.match(await redeem('claim-number-3', undefined, 'agt_nobody'), refused);
  const other = await plane.makeTenant();
  t.match(await redeem('claim-number-4', other.apiKey), refused, 'of another project');
  const viewer = await plane.call<{ key: string }>(
    'POST',
    `/v1/projects/${plane.first.project._id}/api-keys`,
    {
      body: { name: 'Viewer', role: 'viewer' },
    },
  );
  t.match(await redeem('claim-number-5', viewer.body.key), refused, 'below an editor');
  t.match(await redeem('claim-number-6', `sk-svc-${'0'.repeat(40)}`), {
    status: 401,
    body: { code: 'credential_invalid' },
  });
});

void t.test('bad credentials are refused, and burn nothing', async (t) => {
  const { ws_ticket: ticket } = await create();
  const cases: [string, Promise<{ status: number; body: { code?: string } }>][] = [
    ['unknown', gateway.redeem({ ticket: 'A'.repeat(43) })],
    ['another kind', gateway.redeem({ token: `ek_${ticket}` })],
    ['another carrier', gateway.redeem({ ticket: ticket!, start: { carrier: 'twilio' } })],
    ['no JWT', gateway.redeem({ token: 'a.b.c' })],
  ];
  for (const [name, answer] of cases) {
    t.match(await answer, { status: 401, body: { code: 'credential_invalid' } }, name);
  }
  t.equal((await gateway.redeem({ ticket: ticket! })).status, 200);

  const late = await create();
  clock.advance(61_000);
  await plane.atRest();
  t.match(await gateway.redeem({ ticket: late.ws_ticket! }), {
    status: 401,
    body: { code: 'credential_invalid' },
  });
  t.equal((await gateway.check(late.ws_ticket!)).status, 401);
});

void t.test('participant tokens: forged, foreign, used and late ones are refused', async (t) => {
  const session = await create({});
  const token = session.token!;
  const [header, payload, signature] = token.split('.') as [string, string, string];
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const bad = [
    `${header}.${encode({ ...claims, room: 'room_other' })}.${signature}`,
    `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`,
    `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
    await plane.app.services.signingKeys.sign({ ...claims, aud: 'parley:api' }),
    await plane.app.services.signingKeys.sign({ ...claims, typ: 'access' }),
    await plane.app.services.signingKeys.sign({ ...claims, jti: randomUUID() }),
    await plane.app.services.signingKeys.sign({ ...claims, room: 'room_other' }),
    await plane.app.services.signingKeys.sign({ ...claims, iss: 'http://elsewhere.example' }),
  ];
  for (const [index, candidate] of bad.entries()) {
    t.match(await gateway.redeem({ token: candidate }), { status: 401 }, `bad token ${index}`);
  }
  const first = await gateway.redeem({ token });
  t.equal(first.status, 200);
  t.match(first.body, {
    room_name: session.room_name,
    limits: { client_overrides: ['tools', 'voice', 'turn_detection'] },
  });
  t.match(await gateway.redeem({ token }), { status: 409, body: { code: 'in_use' } }, 'one connection');

  const unused = await create({});
  clock.advance(10 * 60_000 + 1000);
  await plane.atRest();
  t.match(await gateway.redeem({ token: unused.token! }), { status: 401 }, 'too late');
  t.equal(
    (await gateway.redeem({ token, claimId: first.body.claim_id })).status,
    200,
    'a repeated claim still is',
  );
});

void t.test('a rejoin is a new leg with what was said; the old socket has lost the session', async (t) => {
  const session = await create();
  const first = (await gateway.redeem({ ticket: session.ws_ticket! })).body;
  const renewed = await plane.call<{ ws_ticket: string }>('POST', `/v1/sessions/${session.session_id}/token`);
  const second = await gateway.redeem({ ticket: renewed.body.ws_ticket });
  t.match(second, { status: 200, body: { leg: 1, first_event_index: 100_000 } });
  t.not(second.body.record.recording_id, first.record.recording_id);
  const old = await gateway.redeem({ ticket: session.ws_ticket!, claimId: first.claim_id });
  t.match(old, { status: 409, body: { code: 'in_use' } });
});

void t.test('a session bound to one call admits no other', async (t) => {
  const session = await create();
  t.equal(
    (await gateway.redeem({ ticket: session.ws_ticket!, start: { carrier_call_id: 'call-a' } })).status,
    200,
  );
  const renewed = await plane.call<{ ws_ticket: string }>('POST', `/v1/sessions/${session.session_id}/token`);
  const other = await gateway.redeem({
    ticket: renewed.body.ws_ticket,
    start: { carrier_call_id: 'call-b' },
  });
  t.match(other, { status: 409, body: { code: 'call_id_mismatch' } });
  const same = await gateway.redeem({ ticket: renewed.body.ws_ticket, start: { carrier_call_id: 'call-a' } });
  t.equal(same.status, 200, 'the mismatch burned nothing');
});

void t.test('a session that is over admits nobody', async (t) => {
  const session = await create();
  const { claim_id } = (await gateway.redeem({ ticket: session.ws_ticket! })).body;
  const store = plane.app.services.sessionStore;
  await store.transition(session.session_id, 'in_progress');
  await store.end(session.session_id, 'ended', {});
  t.match(await gateway.redeem({ ticket: session.ws_ticket!, claimId: claim_id }), {
    status: 409,
    body: { code: 'session_over' },
  });
});

void t.test('the check changes nothing', async (t) => {
  const { ws_ticket: ticket, session_id } = await create();
  for (let i = 0; i < 3; i++) t.match(await gateway.check(ticket!), { status: 200, body: { session_id } });
  t.equal((await gateway.check(ticket!, { carrier: 'twilio' })).status, 401);
  t.equal((await gateway.redeem({ ticket: ticket! })).status, 200);
  t.match(await gateway.check(ticket!), { status: 401, body: { code: 'credential_invalid' } });
});

void t.test('the internal listener knows gateways by their token alone', async (t) => {
  const { ws_ticket: ticket } = await create();
  const body = { kind: 'ticket', digest: credentialDigest(ticket!) };
  const at = '/internal/v1/admissions/check';
  for (const headers of [
    { authorization: 'Bearer wrong' },
    { authorization: '' },
    { authorization: `Bearer ${plane.first.apiKey}` },
    { 'parley-gateway': '' },
    { 'parley-gateway': 'nonsense' },
  ]) {
    t.equal((await gateway.internal('POST', at, body, headers as Record<string, string>)).status, 401);
  }
  t.equal((await plane.call('POST', at, { body })).status, 404, 'the public listener has no such route');
  t.equal((await gateway.internal('POST', at, { kind: 'ticket', digest: 'short' })).status, 422);
});

void t.test('recordings are taken once: the same again is fine, other content is not', async (t) => {
  const session = await create();
  const plan: TestPlan = (await gateway.redeem({ ticket: session.ws_ticket! })).body;
  const audio = Buffer.from('RIFF and some sound');
  const digest = (bytes: Buffer) => `sha-256=${createHash('sha256').update(bytes).digest('base64')}`;
  const put = (bytes: Buffer, headers: Record<string, string> = {}, id = plan.record.recording_id) =>
    gateway.internal<{ code?: string } | undefined>('PUT', `/internal/v1/recordings/${id}`, bytes, {
      'content-type': 'audio/wav',
      digest: digest(bytes),
      ...headers,
    });
  t.equal(
    (await put(audio, { digest: digest(Buffer.from('other')) })).status,
    422,
    'a digest that does not fit',
  );
  t.equal((await put(audio, { digest: '' })).status, 422, 'no digest');
  t.equal((await put(audio)).status, 204);
  t.equal((await put(audio)).status, 204);
  t.equal((await put(Buffer.from('something else'))).status, 409);
  t.equal((await put(audio, {}, 'rec_00000000000000000000000000')).status, 404);
  const stored = await readFile(path.join(plane.app.services.config.STORAGE_DIR, plan.record.key));
  t.ok(stored.equals(audio));
});
