import { randomUUID } from 'node:crypto';
import t from 'tap';
import {
  standardWebhooksHeaders,
  standardWebhooksSecret,
  verifyWebhook,
} from '@parley/shared/http/webhook-signature';
import type { CallReport } from '@parley/shared/contracts/call-events';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { silentLogger } from '@parley/shared/logging/logger';
import { contactCollection } from '../src/campaigns/contact-model.ts';
import { analysisResultCollection } from '../src/post-call/analysis-result-model.ts';
import { postCallJobCollection } from '../src/post-call/post-call-job-model.ts';
import { PostCallJobs } from '../src/post-call/post-call-jobs.ts';
import type { PostCallRun } from '../src/post-call/post-call-run.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import {
  chatAnswer,
  chatCall,
  eventually,
  openLoopbackServer,
  type LoopbackAnswer,
} from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

const LEAD = {
  customer_name: 'Asha',
  mobile_number: '+1 (415) 555-0100',
  email: 'asha@example.com',
  company_name: 'Tea & Co',
  lead_source: null,
  lead_status: 'interested',
  lead_temperature: 'hot',
  ai_summary: 'She wants ten licences.',
  lead_score: 87.4,
  next_action: 'Send an offer.',
  next_follow_up_date: '2026-01-05',
  crm_stage: 'offer',
  send_whatsapp: null,
  send_email: true,
  reminder_to_sales_team: true,
  goal_status: 'achieved',
};

let llmAnswer: LoopbackAnswer = chatAnswer(LEAD);
let answerTo: (body: string) => LoopbackAnswer = () => llmAnswer;
const llm = await openLoopbackServer(({ body }) => answerTo(body));
t.teardown(() => llm[Symbol.asyncDispose]());

let crmAnswer: (n: number) => LoopbackAnswer = () => ({});
const crm = await openLoopbackServer((_, index) => crmAnswer(index));
t.teardown(() => crm[Symbol.asyncDispose]());

const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({
  clock,
  env: { OPENAI_BASE_URL: `${llm.url}/v1`, OPENAI_API_KEY: 'sk-llm-secret', OUTBOUND_ALLOW: crm.url },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const { callEvents, deliveries, postCall, sessionStore } = plane.app.services;
const signal = new AbortController().signal;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;

interface Delivery {
  id: string;
  status: string;
  attempts: number;
  url: string;
  last_status: number | null;
  last_error: string | null;
  next_attempt_at: string | null;
  payload: Record<string, unknown>;
}

async function makeAgent(
  config: object = {},
  callEnded: object = {},
): Promise<{ id: string; secret: string }> {
  const { body } = await plane.call<{ id: string }>('POST', `${P}/agents`, {
    body: { name: `Agent ${randomUUID()}`, config },
  });
  const at = `/api/v1/webhooks/agents/${body.id}`;
  const put = await plane.call('PUT', `${at}/call-ended`, {
    body: { enabled: true, url: `${crm.url}/crm`, web_calls: true, phone_calls: true, ...callEnded },
  });
  if (put.status !== 200) throw new Error(JSON.stringify(put.body));
  const rotated = await plane.call<{ secret: string }>('POST', `${at}/rotate-secret`, {
    body: { webhook: 'call_ended' },
  });
  return { id: body.id, secret: rotated.body.secret };
}

/** A call of the agent, from its session to its report. */
async function call(
  agentId: string | null,
  over: Partial<CallReport> = {},
  body: object = {},
  whileLive: (sessionId: string) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  const { body: session } = await plane.call<SessionResponse>('POST', '/v1/sessions', {
    body: { ...(agentId === null ? {} : { agent_id: agentId }), ...body },
  });
  const start = { carrier_call_id: randomUUID() };
  const redeemed = await gateway.redeem(
    session.token ? { token: session.token } : { ticket: session.ws_ticket!, start },
  );
  await callEvents.handle(gateway.started(redeemed.body));
  await whileLive(session.session_id);
  await callEvents.handle(gateway.ended(redeemed.body, over));
  return session.session_id;
}

const read = async (id: string) =>
  (
    await plane.call<SessionResponse & { detail: { post_call: { status: string } } }>(
      'GET',
      `/v1/sessions/${id}`,
    )
  ).body;
const finished = (id: string) =>
  eventually(async () => {
    await postCall.work(signal);
    return (await read(id)).detail.post_call.status === 'done';
  });
const deliveriesOf = async (agentId: string, session?: string) =>
  (
    await plane.call<{ items: Delivery[] }>(
      'GET',
      `/v1/agents/${agentId}/webhook-deliveries${session ? `?session_id=${session}` : ''}`,
    )
  ).body.items;
/** Works until the delivery of the session is in `status`. */
const delivered = (agentId: string, session: string, status: string) =>
  eventually(async () => {
    await deliveries.work(signal);
    return (await deliveriesOf(agentId, session)).find((delivery) => delivery.status === status);
  });

void t.test('after a call the lead is analysed and the webhook is sent, signed', async (t) => {
  const agent = await makeAgent({ analysis: { goal: 'Sell licences' } });
  const before = crm.received.length;
  const id = await call(agent.id);
  await finished(id);
  const delivery = await delivered(agent.id, id, 'succeeded');
  t.match(delivery, { attempts: 1, last_status: 200, last_error: null, url: `${crm.url}/crm` });
  const [sent] = crm.received.slice(before);
  t.match(sent, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-webhook-id': delivery.id,
      'x-webhook-event': 'call.ended',
      'x-webhook-attempt': '1',
      ...standardWebhooksHeaders([agent.secret], delivery.id, sent!.body, clock.now()),
      'user-agent': /Parley/,
    },
  });
  const signature = sent!.headers['x-webhook-signature'] as string;
  t.match(verifyWebhook(agent.secret, signature, sent!.body, clock.now()), { ok: true });
  const session = await read(id);
  const payload = JSON.parse(sent!.body) as Record<string, unknown>;
  const { goal_status: _goal, ...lead } = { ...LEAD, mobile_number: '+14155550100', lead_score: 87 };
  t.same(payload, {
    ...lead,
    send_whatsapp: false,
    call_datetime: session.started_at,
    call_duration: 65.25,
    call_status: 'completed',
    recording_url: payload['recording_url'],
    call_direction: 'inbound',
    call_session_id: id,
    agent_id: agent.id,
    call_summary: LEAD.ai_summary,
    user_name: 'Asha',
    phone_number: '+14155550100',
    call_id: id,
    post_call_analyses: [
      {
        rule_name: 'lead',
        source: 'system',
        structured_json: { ...lead, send_whatsapp: null, goal_status: 'achieved' },
      },
    ],
    post_call_analysis_count: 1,
  });
  t.equal(session.goal_status, 'achieved');
  await plane.app.services.usageSums.work(signal);
  t.match(
    (await plane.call('GET', `/v1/agents/${agent.id}/traffic/results?from=2026-01-01&to=2026-01-01`)).body,
    {
      items: [{ sessions: 1, goals: { achieved: 1, not_achieved: 0 } }],
    },
  );
  // An attempt is noted there last.
  const events = await eventually(async () => {
    const { body } = await plane.call<{ items: { type: string; offset_ms: number }[] }>(
      'GET',
      `/v1/sessions/${id}/events`,
    );
    return body.items.some((event) => event.type === 'webhook') && body.items;
  });
  const offsetOf = (type: string) => events.findLast((event) => event.type === type)!.offset_ms;
  t.ok(offsetOf('call_ended') > 0);
  t.ok(offsetOf('webhook') >= offsetOf('call_ended'), 'a delivery stands behind the end in time, too');
  const item = await plane.call<Delivery>('GET', `/v1/webhook-deliveries/${delivery.id}`);
  t.same(item.body.payload, payload, 'the item route shows what was sent');
  t.notOk('payload' in delivery, 'the list does not');

  const asked = JSON.parse(llm.received.at(-1)!.body) as {
    messages: { content: string }[];
    response_format: object;
  };
  t.match(asked.messages[0]!.content, /Sell licences/);
  t.match(asked.messages[1]!.content, /caller: I want to buy ten licences\./);
  t.match(asked.response_format, { type: 'json_schema', json_schema: { strict: true } });
  const rows = await plane.call<{ items: object[]; total: number }>('GET', `/v1/sessions/${id}/analyses`);
  t.match(rows.body, {
    total: 1,
    items: [{ rule_name: 'lead', status: 'done', llm_id: 'llm_openai_gpt41_mini' }],
  });
});

void t.test('a failing model leaves nulls and holds nothing back', async (t) => {
  const agent = await makeAgent();
  for (const answer of [
    chatAnswer('I would rather not.'),
    { status: 400, body: { error: { message: 'no' } } },
  ]) {
    llmAnswer = answer;
    const id = await call(agent.id);
    await finished(id);
    const delivery = await delivered(agent.id, id, 'succeeded');
    const { payload } = (await plane.call<Delivery>('GET', `/v1/webhook-deliveries/${delivery.id}`)).body;
    t.match(payload, {
      customer_name: null,
      ai_summary: null,
      send_email: false,
      call_status: 'completed',
      post_call_analyses: [],
      post_call_analysis_count: 0,
    });
    const rows = await plane.call<{ items: { status: string }[] }>('GET', `/v1/sessions/${id}/analyses`);
    t.match(rows.body.items, [{ status: 'failed', structured_json: null }]);
    t.notMatch(JSON.stringify(rows.body), /sk-llm-secret/);
  }
  llmAnswer = chatAnswer(LEAD);
});

void t.test('nobody is analysed who said nothing', async (t) => {
  const agent = await makeAgent();
  const asked = llm.received.length;
  const id = await call(agent.id, { turns: [] });
  await finished(id);
  t.equal(llm.received.length, asked);
  const rows = await plane.call<{ items: object[] }>('GET', `/v1/sessions/${id}/analyses`);
  t.match(rows.body.items, [{ status: 'skipped' }]);
  await delivered(agent.id, id, 'succeeded');
});

void t.test('it is sent only where it is wanted', async (t) => {
  const web = await makeAgent({}, { web_calls: false });
  const phone = await makeAgent({}, { phone_calls: false });
  const off = await makeAgent({}, { enabled: false });
  const ids = [
    await call(web.id),
    await call(phone.id, {}, { channel: 'telephony', provider: 'plivo' }),
    await call(off.id),
    await call(null),
  ];
  for (const id of ids) await finished(id);
  for (const agent of [web, phone, off]) t.same(await deliveriesOf(agent.id), []);
  const wanted = await call(web.id, {}, { channel: 'telephony', provider: 'plivo' });
  await finished(wanted);
  t.equal((await deliveriesOf(web.id)).length, 1);
});

void t.test(
  'what is refused is tried eight times over a day, with the same body and a fresh signature',
  async (t) => {
    const agent = await makeAgent();
    crmAnswer = () => ({ status: 500 });
    const before = crm.received.length;
    const id = await call(agent.id);
    await finished(id);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 8; attempt++) {
      // Settled, not only begun: the next time is ahead, or there is none.
      const delivery = await eventually(async () => {
        await deliveries.work(signal);
        const [found] = await deliveriesOf(agent.id, id);
        if (found?.attempts !== attempt) return undefined;
        if (attempt === 8) return found.status === 'failed' && found;
        return Date.parse(found.next_attempt_at!) > clock.now() && found;
      });
      if (attempt < 8) {
        const next = delivery.next_attempt_at!;
        t.equal(delivery.status, 'retrying');
        waits.push(Date.parse(next) - clock.now());
        clock.advance(Date.parse(next) - clock.now() - 1);
        await deliveries.work(signal);
        t.equal(crm.received.length - before, attempt, 'not before its time');
        clock.advance(1);
      }
    }
    const planned = [10, 60, 300, 1800, 7200, 21_600, 43_200];
    for (const [index, wait] of waits.entries()) {
      t.ok(
        Math.abs(wait / 1000 - planned[index]!) <= planned[index]! * 0.1 + 0.1,
        `wait ${index}: ${wait} ms`,
      );
    }
    t.match(await deliveriesOf(agent.id, id), [
      { status: 'failed', attempts: 8, next_attempt_at: null, last_error: 'HTTP 500' },
    ]);
    const sent = crm.received.slice(before);
    t.equal(new Set(sent.map(({ body }) => body)).size, 1);
    t.equal(new Set(sent.map(({ headers }) => headers['x-webhook-id'])).size, 1);
    t.same(
      sent.map(({ headers }) => headers['x-webhook-attempt']),
      ['1', '2', '3', '4', '5', '6', '7', '8'],
    );
    t.equal(new Set(sent.map(({ headers }) => headers['x-webhook-signature'])).size, 8);

    crmAnswer = () => ({ status: 204 });
    await plane.call('PUT', `/api/v1/webhooks/agents/${agent.id}/call-ended`, {
      body: { enabled: true, url: `${crm.url}/moved`, web_calls: true, phone_calls: true },
    });
    const [failed] = await deliveriesOf(agent.id, id);
    t.equal((await plane.call('POST', `/v1/webhook-deliveries/${failed!.id}/redeliver`)).status, 202);
    await delivered(agent.id, id, 'succeeded');
    t.match(crm.received.at(-1), {
      path: '/moved',
      headers: { 'x-webhook-attempt': '9' },
      body: sent[0]!.body,
    });
    // An attempt is noted there last.
    const noted = await eventually(async () => {
      const { body } = await plane.call<{ total: number }>('GET', `/v1/sessions/${id}/events?type=webhook`);
      return body.total >= 9 && body.total;
    });
    t.equal(noted, 9);
  },
);

void t.test('Retry-After is obeyed; 410 and switching off end it at once', async (t) => {
  const agent = await makeAgent();
  crmAnswer = () => ({ status: 503, headers: { 'retry-after': '1800' } });
  const later = await call(agent.id);
  await finished(later);
  const waiting = await delivered(agent.id, later, 'retrying');
  t.equal(Date.parse(waiting.next_attempt_at!) - clock.now(), 1_800_000);
  const busy = await plane.call<{ code: string }>('POST', `/v1/webhook-deliveries/${waiting.id}/redeliver`);
  t.match(busy, { status: 409, body: { code: 'invalid_state' } });

  crmAnswer = () => ({ status: 410 });
  const gone = await call(agent.id);
  await finished(gone);
  t.match(await delivered(agent.id, gone, 'cancelled'), { last_status: 410, attempts: 1 });

  await plane.call('PUT', `/api/v1/webhooks/agents/${agent.id}/call-ended`, {
    body: { enabled: false, url: `${crm.url}/crm`, web_calls: true, phone_calls: true },
  });
  const before = crm.received.length;
  clock.advance(1_800_001);
  await delivered(agent.id, later, 'cancelled');
  t.equal(crm.received.length, before);
  crmAnswer = () => ({});
});

void t.test('redirects are not followed and unreachable receivers are named by a code', async (t) => {
  crmAnswer = () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } });
  const agent = await makeAgent();
  const test = () => plane.call('POST', `/api/v1/webhooks/agents/${agent.id}/call-ended/test`);
  t.match((await test()).body, { ok: false, status: 302, error: 'HTTP 302' });
  crmAnswer = () => ({});
  const before = crm.received.length;
  t.match((await test()).body, { ok: true, status: 200 });
  const sample = crm.received[before]!;
  t.match(
    verifyWebhook(agent.secret, sample.headers['x-webhook-signature'] as string, sample.body, clock.now()),
    { ok: true },
  );
  t.same(await deliveriesOf(agent.id), [], 'a sample is no delivery');
});

void t.test(
  'a job whose process died is taken up within seconds, one that is worked on is not',
  async (t) => {
    const { database } = plane.app.services;
    const model = database.model(postCallJobCollection);
    // Not due yet by the clock of the process under test above, which would take it.
    const due = clock.now() + 3_600_000;
    /** A process of its own, with a clock that stands still unless it is moved: then nothing is renewed. */
    const process = () => {
      const clock = new ManualClock(due);
      const stop = new AbortController();
      const begun = Promise.withResolvers<AbortSignal>();
      const end = Promise.withResolvers<void>();
      let runs = 0;
      const run = {
        run: (_job: unknown, signal: AbortSignal) => (runs++, begun.resolve(signal), end.promise),
        finish: async () => {},
      } as unknown as PostCallRun;
      const unused = () => Promise.reject(new Error('unused'));
      const repeat = { run: unused, giveUp: unused };
      const jobs = new PostCallJobs({ database, run, repeat, clock, logger: silentLogger() });
      return { clock, stop, begun: begun.promise, end, jobs, runs: () => runs };
    };
    const [first, second] = [process(), process()];
    const id = randomUUID();
    await new model({
      _id: id,
      status: 'pending',
      run_at: new Date(due),
      lease_until: new Date(0),
      turns: null,
    }).save();
    const leaseEnds = async () => (await model.findById(id).lean())!.lease_until.getTime();

    const working = first.jobs.work(first.stop.signal);
    const signal = await first.begun;
    for (let seconds = 0; seconds < 60; seconds += 5) {
      const before = await leaseEnds();
      first.clock.advance(5000);
      second.clock.advance(5000);
      // The next renewal is set only after the write of this one has come back.
      await eventually(async () => (await leaseEnds()) > before && first.clock.pendingTimers === 1);
      await second.jobs.work(second.stop.signal);
    }
    t.equal(second.runs(), 0, 'the first one is at it');

    second.clock.advance(21_000);
    const taken = second.jobs.work(second.stop.signal);
    await second.begun;
    t.notOk(signal.aborted);
    first.clock.advance(5000);
    await eventually(async () => signal.aborted);
    first.end.resolve();
    await working;
    t.match(await model.findById(id).lean(), { status: 'pending', attempts: 2 }, 'it is not the first one’s');
    second.end.resolve();
    await taken;
    t.match(await model.findById(id).lean(), { status: 'done' });
  },
);

void t.test('a delivery under way when its process died is taken up by another', async (t) => {
  const agent = await makeAgent();
  const id = await call(agent.id);
  const session = (await sessionStore.find(id))!;
  await finished(id);
  await delivered(agent.id, id, 'succeeded');
  const model = plane.app.services.database.model(
    (await import('../src/webhooks/webhook-delivery-model.ts')).webhookDeliveryCollection,
  );
  const before = crm.received.length;
  await model.updateOne(
    { session_id: session._id },
    {
      $set: {
        status: 'pending',
        lease_owner: 'cp_dead',
        lease_until: new Date(clock.now() + 60_000),
        next_attempt_at: new Date(clock.now()),
      },
    },
  );
  await deliveries.work(signal);
  t.equal(crm.received.length, before, 'not while the other may still be at it');
  clock.advance(60_001);
  await delivered(agent.id, id, 'succeeded');
  t.equal(crm.received.length, before + 1);
});

void t.test('secrets: shown once, masked afterwards, both valid while they overlap', async (t) => {
  const { body } = await plane.call<{ id: string }>('POST', `${P}/agents`, { body: { name: 'Rotating' } });
  const at = `/api/v1/webhooks/agents/${body.id}`;
  type Settings = Record<
    'start_call' | 'call_ended',
    { enabled: boolean; url: string | null; secret: { set: boolean; last_four: string } }
  >;
  const settings = async () => (await plane.call<Settings>('GET', at)).body;
  t.match(await settings(), {
    start_call: { enabled: false, url: `http://127.0.0.1:8080${at}/incoming`, secret: { set: false } },
    call_ended: { enabled: false, url: null, secret: { set: false } },
  });
  const rotate = async (sent?: object) =>
    (
      await plane.call<{ secret: string; webhook: string; previous_valid_until?: string }>(
        'POST',
        `${at}/rotate-secret`,
        { body: sent },
      )
    ).body;
  const first = await rotate();
  t.match(first, {
    webhook: 'start_call',
    secret: /^whsec_[A-Za-z0-9_-]{43}$/,
    standard_webhooks_secret: standardWebhooksSecret(first.secret),
  });
  t.match(await settings(), {
    start_call: { enabled: true, secret: { set: true, last_four: first.secret.slice(-4) } },
  });
  const second = await rotate({ grace_seconds: 60 });
  t.equal(Date.parse(second.previous_valid_until!), clock.now() + 60_000);
  const webhooks = plane.app.services.agentWebhooks;
  t.same(await webhooks.secrets(body.id, 'start_call'), [second.secret, first.secret]);
  clock.advance(60_001);
  t.same(await webhooks.secrets(body.id, 'start_call'), [second.secret]);
  t.notMatch(JSON.stringify(await settings()), new RegExp(second.secret));

  for (const url of [
    'http://crm.example.com/x',
    'https://10.0.0.1/x',
    'https://[::1]/x',
    'https://metadata.localhost/x',
    'https://169.254.169.254/',
  ]) {
    const bad = await plane.call<{ detail: { loc: string[] }[] }>('PUT', `${at}/call-ended`, {
      body: { enabled: true, url, web_calls: true, phone_calls: true },
    });
    t.equal(bad.status, 422, url);
    t.same(bad.body.detail[0]!.loc, ['body', 'url']);
  }
  const none = await plane.call('PUT', `${at}/call-ended`, {
    body: { enabled: true, url: null, web_calls: true, phone_calls: true },
  });
  t.equal(none.status, 422);
  const agent = await plane.call<{ config: { webhooks: { call_ended: object } }; version: number }>(
    'GET',
    `/v1/agents/${body.id}`,
  );
  t.equal(agent.body.version, 1, 'webhooks belong to no version');
});

void t.test('webhooks and deliveries of other tenants do not exist', async (t) => {
  const agent = await makeAgent();
  const id = await call(agent.id);
  await finished(id);
  const { id: deliveryId } = await delivered(agent.id, id, 'succeeded');
  const other = await plane.makeTenant();
  const token = other.apiKey;
  for (const [method, path, body] of [
    ['GET', `/api/v1/webhooks/agents/${agent.id}`, undefined],
    ['POST', `/api/v1/webhooks/agents/${agent.id}/rotate-secret`, {}],
    ['PUT', `/api/v1/webhooks/agents/${agent.id}/start-call`, { enabled: true }],
    ['POST', `/api/v1/webhooks/agents/${agent.id}/call-ended/test`, undefined],
    ['GET', `/v1/agents/${agent.id}/webhook-deliveries`, undefined],
    ['GET', `/v1/webhook-deliveries/${deliveryId}`, undefined],
    ['POST', `/v1/webhook-deliveries/${deliveryId}/redeliver`, undefined],
  ] as const) {
    t.equal((await plane.call(method, path, { token, body })).status, 404, `${method} ${path}`);
  }
  const viewer = await plane.makeTenant('viewer');
  t.equal((await plane.call('GET', `/v1/webhook-deliveries/nonsense`, { token: viewer.apiKey })).status, 422);
});

void t.test('erasing a session ends its deliveries and forgets what was sent', async (t) => {
  const agent = await makeAgent();
  const id = await call(agent.id);
  await finished(id);
  const { id: deliveryId } = await delivered(agent.id, id, 'succeeded');
  t.equal((await plane.call('DELETE', `/v1/sessions/${id}`)).status, 204);
  t.match((await plane.call('GET', `/v1/webhook-deliveries/${deliveryId}`)).body, { payload: null });
  t.equal((await plane.call('POST', `/v1/webhook-deliveries/${deliveryId}/redeliver`)).status, 409);
  t.match((await plane.call('GET', `/v1/sessions/${id}/analyses`)).body, { total: 0 });
});

void t.test('the agent’s rules run beside the lead analysis, and their rows are sent', async (t) => {
  const rule = async (body: object) =>
    (await plane.call<{ id: string }>('POST', `${P}/analyses`, { body })).body.id;
  const schema = { type: 'object', properties: { satisfied: { type: 'boolean' } } };
  const mood = await rule({ name: 'Mood', type: 'structured', prompt: 'RULE-MOOD', output_schema: schema });
  const note = await rule({ name: 'Note', type: 'text', prompt: 'RULE-NOTE' });
  const phoneOnly = await rule({
    name: 'Phone only',
    type: 'text',
    prompt: 'RULE-PHONE',
    run_when: { channels: ['telephony'] },
  });
  const agent = await makeAgent();
  for (const analysis_id of [mood, note, phoneOnly]) {
    await plane.call('POST', `/v1/agents/${agent.id}/post-call-analyses`, { body: { analysis_id } });
  }
  llmAnswer = chatAnswer(LEAD);
  answerTo = (body) => {
    if (body.includes('RULE-MOOD')) return chatAnswer({ satisfied: true });
    if (body.includes('RULE-NOTE')) return chatAnswer('All went well.');
    return llmAnswer;
  };
  const id = await call(agent.id);
  await finished(id);
  const { id: deliveryId } = await delivered(agent.id, id, 'succeeded');
  const { payload } = (await plane.call<Delivery>('GET', `/v1/webhook-deliveries/${deliveryId}`)).body;
  t.equal(payload['post_call_analysis_count'], 3);
  const rows = payload['post_call_analyses'] as { rule_name: string }[];
  t.equal(rows[0]!.rule_name, 'lead', 'the system’s row is the first');
  t.same(
    rows.slice(1).sort((a, b) => a.rule_name.localeCompare(b.rule_name)),
    [
      { rule_name: 'Mood', source: 'rule', structured_json: { satisfied: true } },
      { rule_name: 'Note', source: 'rule', body_text: 'All went well.' },
    ],
  );
  const all = await plane.call<{ items: { rule_name: string; status: string; error: string | null }[] }>(
    'GET',
    `/v1/sessions/${id}/analyses`,
  );
  t.match(
    all.body.items.find((row) => row.rule_name === 'Phone only'),
    { status: 'skipped', error: 'condition' },
  );

  const none = await call(agent.id, {}, { post_call_analysis_ids: [] });
  await finished(none);
  t.equal(
    (await plane.call('GET', `/v1/sessions/${none}/analyses`)).body['total' as never],
    1,
    '[] = the system’s alone',
  );
  const named = await call(agent.id, {}, { post_call_analysis_ids: [note] });
  await finished(named);
  t.match((await plane.call('GET', `/v1/sessions/${named}/analyses`)).body, { total: 2 });
});

interface Row {
  analysis_id: string | null;
  rule_name: string;
  status: string;
  error: string | null;
  structured_json: unknown;
  evidence: unknown;
  body_text: string | null;
  tool_invocation: unknown;
}

void t.test('an analysis is tried over a session or a transcript, and nothing is kept', async (t) => {
  const schema = { type: 'object', properties: { tea: { type: 'boolean' } } };
  const body = { name: 'Tea', type: 'structured', prompt: 'RULE-TEA', output_schema: schema, enabled: false };
  const { body: rule } = await plane.call<{ id: string }>('POST', `${P}/analyses`, { body });
  const agent = await makeAgent();
  const asked: string[] = [];
  answerTo = (question) => {
    if (!question.includes('RULE-TEA')) return llmAnswer;
    asked.push(question);
    return chatAnswer({
      answer: { tea: true },
      evidence: [
        { path: '$.tea', turn: 1, quote: 'Tea, please' },
        { path: '$.tea', turn: 0, quote: 'Tea, please' },
        { path: '$.milk', turn: 1, quote: 'Tea, please' },
      ],
    });
  };
  const attempt = (of: object) => plane.call<Row>('POST', `/v1/analyses/${rule.id}/try`, { body: of });
  const transcript = [
    { role: 'agent', text: 'What may I bring you?' },
    { role: 'caller', text: 'Tea, please.' },
  ];
  const tried = await attempt({ transcript });
  t.equal(tried.status, 200);
  t.same(tried.body, {
    session_id: null,
    analysis_id: rule.id,
    rule_name: 'Tea',
    source: 'rule',
    status: 'done',
    error: null,
    structured_json: { tea: true },
    evidence: { '$.tea': [1] },
    body_text: null,
    tool_invocation: null,
    llm_id: tried.body['llm_id' as never],
  });
  t.match(asked[0], '[1] caller: Tea, please.', 'turns are numbered');
  const id = await call(agent.id);
  await finished(id);
  const before = await plane.call('GET', `/v1/sessions/${id}/analyses`);
  t.match((await attempt({ session_id: id })).body, { session_id: id, status: 'done', evidence: {} });
  t.same((await plane.call('GET', `/v1/sessions/${id}/analyses`)).body, before.body);
  t.equal((await plane.call('DELETE', `/v1/sessions/${id}`)).status, 204);
  t.match((await attempt({ session_id: id })).body, { status: 'skipped', error: 'no_transcript' });
  t.match((await attempt({ session_id: randomUUID() })).body, {
    detail: [{ loc: ['body', 'session_id'], type: 'reference_not_found' }],
  });
  for (const wrong of [{}, { session_id: id, transcript }]) t.equal((await attempt(wrong)).status, 422);
});

/** Makes a contact of a campaign whose last attempt, which is over, was this session. @returns what is known of its goal */
async function contactCalledBy(sessionId: string, agent_id: string): Promise<() => Promise<string | null>> {
  const { database } = plane.app.services;
  const { body } = await plane.call<{ id: string }>('POST', `${P}/campaigns`, {
    body: { name: 'Offers', agent_id },
  });
  const path = `/v1/campaigns/${body.id}/contacts`;
  await plane.call('POST', path, { body: { contacts: [{ phone_number: '+14155550100' }] } });
  const contact = async () =>
    (await plane.call<{ items: { id: string; goal_status: string | null }[] }>('GET', path)).body.items[0]!;
  const { id } = await contact();
  await database
    .model(contactCollection)
    .updateOne({ _id: id }, { $set: { last_session_id: sessionId, status: 'completed' } });
  await database.model(sessionCollection).updateOne({ _id: sessionId }, { $set: { contact_id: id } });
  return async () => (await contact()).goal_status;
}

void t.test('analyses run again, replace their rows, and tell nobody', async (t) => {
  const { body: rule } = await plane.call<{ id: string }>('POST', `${P}/analyses`, {
    body: { name: 'Verdict', type: 'text', prompt: 'RULE-VERDICT', run_when: { channels: ['telephony'] } },
  });
  const agent = await makeAgent();
  await plane.call('POST', `/v1/agents/${agent.id}/post-call-analyses`, { body: { analysis_id: rule.id } });
  let verdict = 'First.';
  answerTo = (body) => (body.includes('RULE-VERDICT') ? chatAnswer(verdict) : llmAnswer);
  llmAnswer = chatAnswer(LEAD);
  let contactGoal = () => Promise.resolve<string | null>('not known');
  const id = await call(agent.id, {}, {}, async (sessionId) => {
    contactGoal = await contactCalledBy(sessionId, agent.id);
  });
  const again = (body?: object) =>
    plane.call<{ items: Row[]; total: number }>('POST', `/v1/sessions/${id}/analyses`, { body });
  t.match(await again(), { status: 409, body: { code: 'invalid_state' } }, 'not while they run');
  await finished(id);
  t.equal(await contactGoal(), 'achieved', 'the attempt had ended before');
  await delivered(agent.id, id, 'succeeded');
  const rows = async () =>
    (await plane.call<{ items: Row[] }>('GET', `/v1/sessions/${id}/analyses`)).body.items;
  const ofRule = async () => (await rows()).find((row) => row.analysis_id === rule.id);
  t.match(await ofRule(), { status: 'skipped', error: 'condition' });
  const told = crm.received.length;
  const repeated = () => eventually(async () => (await rows()).every(({ status }) => status !== 'pending'));

  const accepted = await again({ analysis_ids: [rule.id] });
  t.equal(accepted.status, 202);
  t.match(accepted.body.items, [
    { rule_name: 'lead', status: 'done' },
    { rule_name: 'Verdict', status: 'pending' },
  ]);
  t.match(await again(), { status: 409, body: { code: 'invalid_state' } }, 'one at a time');
  await repeated();
  t.match(await ofRule(), { status: 'done', body_text: 'First.' }, 'whatever its conditions say');

  verdict = 'Second.';
  llmAnswer = chatAnswer({ ...LEAD, ai_summary: 'Once more.', goal_status: 'not_achieved' });
  t.match((await again()).body.items, [{ status: 'pending' }, { status: 'pending' }]);
  await repeated();
  const [lead] = await rows();
  t.match(lead, { status: 'done', structured_json: { ai_summary: 'Once more.' } });
  t.match(await ofRule(), { status: 'skipped', error: 'condition', body_text: null });
  t.match(await read(id), { goal_status: 'not_achieved' });
  t.equal(await contactGoal(), 'not_achieved');
  await deliveries.work(signal);
  t.equal(crm.received.length, told, 'no webhook');

  const foreign = await again({ analysis_ids: [rule.id, 'ana_01k5z8r5m2q7v3x9b4n6c8d0ef'] });
  t.match(foreign.body, { detail: [{ loc: ['body', 'analysis_ids', 1], type: 'reference_not_found' }] });
  t.equal((await plane.call('DELETE', `/v1/sessions/${id}`)).status, 204);
  t.match(await again(), { status: 409, body: { code: 'invalid_state' } }, 'nothing to be read');
});

void t.test('an analysis may call a tool, once for each time it is asked', async (t) => {
  const make = async (path: string, body: object) =>
    (await plane.call<{ id: string }>('POST', path, { body })).body.id;
  const tool = (name: string, more: object = {}) =>
    make(`/v1/orgs/${plane.first.org._id}/tools`, {
      ...{ name, description: 'Books a visit.', type: 'webhook', parameters: { type: 'object' } },
      webhook: { url: `${crm.url}/${name}`, method: 'POST' },
      ...more,
    });
  const toolId = await tool('book_visit');
  const analysis = { name: 'Visit', type: 'tool', prompt: 'RULE-VISIT', tool_id: toolId };
  const asking = await tool('ask_first', { execution: { confirm: true } });
  for (const [body, type] of [
    [{ ...analysis, tool_id: null }, 'missing'],
    [{ ...analysis, tool_id: 'tol_01k5z8r5m2q7v3x9b4n6c8d0ef' }, 'reference_not_found'],
    [{ ...analysis, tool_id: asking }, 'not_available'],
  ] as const) {
    const { status, body: refused } = await plane.call('POST', `${P}/analyses`, { body });
    t.equal(status, 422);
    t.match(refused, { detail: [{ loc: ['body', 'tool_id'], type }] });
  }
  const ruleId = await make(`${P}/analyses`, analysis);
  const agent = await makeAgent();
  await plane.call('POST', `/v1/agents/${agent.id}/post-call-analyses`, { body: { analysis_id: ruleId } });
  llmAnswer = chatAnswer(LEAD);
  let decision = chatCall('book_visit', { day: 'Friday' });
  const asked: string[] = [];
  answerTo = (body) => {
    if (!body.includes('RULE-VISIT')) return llmAnswer;
    asked.push(body);
    return decision;
  };
  const booked = () => crm.received.filter(({ path }) => path === '/book_visit');
  const before = crm.received.length;
  crmAnswer = (n) => (n >= before ? { body: { booked: true } } : {});
  const id = await call(agent.id);
  await finished(id);
  const ofRule = async () => {
    const { body } = await plane.call<{ items: Row[] }>('GET', `/v1/sessions/${id}/analyses`);
    return body.items.find((row) => row.analysis_id === ruleId);
  };
  const invocation = { tool_id: toolId, arguments: { day: 'Friday' }, ok: true, result: '{"booked":true}' };
  t.match(await ofRule(), { status: 'done', error: null, body_text: null, tool_invocation: invocation });
  t.equal(booked().length, 1);
  t.match(JSON.parse(booked()[0]!.body), {
    ...{ tool: 'book_visit', arguments: { day: 'Friday' } },
    session: { session_id: id, agent_id: agent.id },
  });
  t.match(JSON.parse(asked[0]!), { tools: [{ type: 'function', function: { name: 'book_visit' } }] });
  const { id: deliveryId } = await delivered(agent.id, id, 'succeeded');
  const { payload } = (await plane.call<Delivery>('GET', `/v1/webhook-deliveries/${deliveryId}`)).body;
  t.match(payload['post_call_analyses'], [
    { rule_name: 'lead' },
    { rule_name: 'Visit', source: 'rule', tool_invocation: invocation },
  ]);

  // Its process died before the job was over.
  const { database } = plane.app.services;
  const again = () =>
    database
      .model(postCallJobCollection)
      .updateOne({ _id: id }, { $set: { status: 'pending', attempts: 0, lease_until: new Date(0) } });
  await again();
  await postCall.work(signal);
  t.equal(booked().length, 1, 'what was called is not called again');
  const rows = database.model(analysisResultCollection);
  await rows.updateOne({ session_id: id, analysis_id: ruleId }, { $set: { status: 'running' } });
  await again();
  await postCall.work(signal);
  t.equal(booked().length, 1);
  t.match(await ofRule(), { status: 'failed', error: 'outcome_unknown' });

  decision = chatAnswer('Nobody asked for a visit.');
  const repeat = () =>
    plane.call('POST', `/v1/sessions/${id}/analyses`, { body: { analysis_ids: [ruleId] } });
  t.equal((await repeat()).status, 202);
  await eventually(async () => {
    await postCall.work(signal);
    return (await ofRule())?.status === 'done';
  });
  t.match(await ofRule(), { body_text: 'Nobody asked for a visit.', tool_invocation: null });
  t.equal(booked().length, 1);

  const attempt = async () =>
    (
      await plane.call<Row>('POST', `/v1/analyses/${ruleId}/try`, {
        body: { transcript: [{ role: 'caller', text: 'Come on Friday.' }] },
      })
    ).body;
  decision = chatCall('book_visit', { day: 'Monday' });
  crmAnswer = () => ({ status: 500, body: { booked: false } });
  t.match(await attempt(), { status: 'done', tool_invocation: { arguments: { day: 'Monday' }, ok: false } });
  t.equal(booked().length, 2, 'a trial acts');
  decision = chatCall('another_tool', {});
  t.match(await attempt(), { status: 'failed', error: 'answer_invalid' });
  decision = chatCall('book_visit', { day: 'Monday' });
  await plane.call('PATCH', `/v1/tools/${toolId}`, { body: { enabled: false } });
  t.match(await attempt(), { status: 'failed', error: 'tool_unavailable', tool_invocation: null });
  t.equal(booked().length, 2);
});

void t.test('what models do after a call is booked', async (t) => {
  const { rates, wallets } = plane.app.services;
  const orgId = plane.first.org._id;
  const unlimited = () => wallets.configure(orgId, { mode: 'unlimited' }, 'USD');
  t.teardown(unlimited);
  await rates.set({
    currency: 'USD',
    models: [
      { model: 'llm_openai_gpt41_mini', unit: '1m_input_tokens', amount: '1' },
      { model: 'llm_openai_gpt41_mini', unit: '1m_output_tokens', amount: '2' },
    ],
  });
  await wallets.configure(orgId, { mode: 'prepaid' }, 'USD');
  await wallets.topUp(orgId, { reference: 'first', amount: 1_000_000_000n, currency: 'USD' });
  const usage = { prompt_tokens: 100_000, completion_tokens: 50_000, total_tokens: 150_000 };
  answerTo = (body) => chatAnswer(body.includes('RULE-LAST') ? 'Fine.' : LEAD, usage);
  const rule = { name: 'Last', type: 'text', prompt: 'RULE-LAST' };
  const { body: last } = await plane.call<{ id: string }>('POST', `${P}/analyses`, { body: rule });
  const agent = await makeAgent();
  await plane.call('POST', `/v1/agents/${agent.id}/post-call-analyses`, { body: { analysis_id: last.id } });
  // The call itself costs nothing.
  const nothing = { llm_input_tokens: 0, llm_output_tokens: 0, tts_characters: 0 };
  const id = await call(agent.id, { usage: { stt_seconds: 0, carrier_seconds: 0, ...nothing } });
  await finished(id);
  // 0.2 for each of two answers.
  t.match(await wallets.find(orgId), { balance_nano: 600_000_000n, reserved_nano: 0n });
  const attempt = () => plane.call('POST', `/v1/analyses/${last.id}/try`, { body: { session_id: id } });
  for (let n = 0; n < 3; n++) t.equal((await attempt()).status, 200);
  t.match(await attempt(), { status: 402, body: { code: 'insufficient_balance' } });
  t.match(
    await plane.call('POST', `/v1/sessions/${id}/analyses`),
    { status: 402, body: { code: 'insufficient_balance' } },
    'nor is it repeated',
  );
  t.match(await wallets.find(orgId), { balance_nano: 0n });
  await unlimited();
  t.equal((await attempt()).status, 200);
  t.match(await wallets.find(orgId), { balance_nano: 0n }, 'unlimited: nothing is taken off');
});
