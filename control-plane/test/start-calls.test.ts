import { randomUUID } from 'node:crypto';
import t from 'tap';
import { newWebhookSecret, signWebhook, signWebhookBody } from '@parley/shared/http/webhook-signature';
import { orgCollection } from '../src/orgs/org-model.ts';
import { readOverrides } from '../src/sessions/session-overrides.ts';
import { telephonyAccountCollection } from '../src/telephony/telephony-account-model.ts';
import { openDiallingWorld } from './fixtures/dialling-world.ts';
import type { Line } from './fixtures/dialling-world.ts';

// What becomes of the calls is no matter here.
const world = await openDiallingWorld(t);
const { clock, plane, session } = world;
const { database, directory } = plane.app.services;
const TO = '+442071230000';

interface Started {
  status: string;
  session_id: string;
  campaign_id: string;
  contact_id: string;
  attempt_number: number;
  queued_at: string;
}
interface Refused {
  code: string;
  detail: { loc: (string | number)[]; type: string }[];
}
type Body = Started & Refused;

const start = (body: object, headers: Record<string, string> = {}, token?: string) =>
  plane.call<Body>('POST', '/v1/campaigns/start-call', {
    body,
    headers,
    ...(token === undefined ? {} : { token }),
  });

/** Where the webhook of an agent is, and what signs for it. */
async function webhook(line: Line, settings: object = {}) {
  const at = `/api/v1/webhooks/agents/${line.agentId}`;
  const { body } = await plane.call<{ secret: string }>('POST', `${at}/rotate-secret`);
  if (Object.keys(settings).length > 0)
    await plane.call('PUT', `${at}/start-call`, { body: { enabled: true, ...settings } });
  const post = (text: string, signature: string | undefined, headers: Record<string, string> = {}) =>
    plane.call<Body>('POST', `${at}/incoming`, {
      body: Buffer.from(text),
      token: null,
      headers: { ...(signature === undefined ? {} : { 'x-webhook-signature': signature }), ...headers },
    });
  const { secret } = body;
  const signed = (text: string, at = clock.now()) => signWebhook(secret, text, at);
  return {
    ...{ at, secret, post, signed },
    send: (sent: object, headers: Record<string, string> = {}) => {
      const text = JSON.stringify(sent);
      return post(text, signed(text), headers);
    },
  };
}

void t.test('a call is started by one request', async (t) => {
  const line = await world.line();
  const { status, body } = await start({
    agent_id: line.agentId,
    phoneNumber: TO,
    name: 'Asha',
    external_id: 'c-7',
    timezone: 'Asia/Kolkata',
    variables: { plan: 'Gold' },
    overrides: { greeting: 'Good morning', config: { limits: { max_duration_seconds: 60 } } },
    unknown: 'is ignored',
  });
  t.equal(status, 202);
  t.match(body, { status: 'queued', attempt_number: 1, campaign_id: /^cmp_/, contact_id: /^cct_/ });
  const made = await session(body.session_id);
  t.match(made, {
    ...{ direction: 'outbound', agent_id: line.agentId, to_number: TO, from_number: line.number },
    ...{ campaign_id: body.campaign_id, contact_id: body.contact_id, attempt_number: 1 },
    variables: { plan: 'Gold', name: 'Asha', external_id: 'c-7', phone_number: TO },
    dial: { source: 'api', kind: 'single', contact_timezone: 'Asia/Kolkata' },
  });
  t.match(readOverrides(made.overrides), { greeting: 'Good morning' });
  const campaign = await plane.call('GET', `/v1/campaigns/${body.campaign_id}`);
  t.match(campaign.body, { kind: 'single', status: 'running', counters: { total: 1, attempts: 1 } });
  const contacts = `/v1/campaigns/${body.campaign_id}/contacts`;
  t.match((await plane.call('GET', contacts)).body, {
    items: [{ id: body.contact_id, phone_number: TO, name: 'Asha', last_session_id: body.session_id }],
  });
  const attempts = `/v1/campaign-contacts/${body.contact_id}/attempts`;
  t.match((await plane.call('GET', attempts)).body, {
    items: [{ session_id: body.session_id, attempt_number: 1 }],
  });
});

void t.test('a request that cannot be is refused where it is wrong, and leaves nothing behind', async (t) => {
  const line = await world.line();
  const agent_id = line.agentId;
  const call = { agent_id, to_number: TO };
  const cases: [what: string, body: object, loc: string, type?: string][] = [
    ['no number', { agent_id }, 'to_number', 'missing'],
    ['two numbers', { ...call, phone_number: '+442071230001' }, 'phone_number'],
    ['no E.164', { agent_id, to_number: '02071230000' }, 'to_number'],
    ['no agent', { to_number: TO }, 'agent_id', 'missing'],
    [
      'a number of nobody',
      { ...call, phone_number_id: 'phn_01k5z8r5m2q7v3x9b4n6c8d0ef' },
      'phone_number_id',
      'reference_not_found',
    ],
    [
      'an analysis of nobody',
      { ...call, post_call_analysis_ids: ['ana_x'] },
      'post_call_analysis_ids',
      'reference_not_found',
    ],
    ['overrides', { ...call, overrides: { config: { webhooks: {} } } }, 'overrides'],
    ['a model of nobody', { ...call, overrides: { llm_id: 'llm_x' } }, 'overrides', 'reference_not_found'],
    [
      'too late',
      { ...call, schedule_at: new Date(clock.now() + 31 * 86_400_000).toISOString() },
      'schedule_at',
    ],
  ];
  for (const [what, body, field, type] of cases) {
    const answer = await start(body);
    t.match(answer.body.detail, [{ loc: ['body', field], ...(type === undefined ? {} : { type }) }], what);
  }
  t.match(await start({ ...call, phone_number: TO, phoneNumber: TO }), { status: 202 }, 'the same thrice');
  t.match(await start({ ...call, agent_id: 'agt_01k5z8r5m2q7v3x9b4n6c8d0ef' }), { status: 404 });
  const other = await plane.makeTenant();
  t.match(await start(call, {}, other.apiKey), { status: 404 }, 'of another tenant');
  const silent = await world.line({ number: { outbound_enabled: false } });
  const refused = await start({
    ...{ agent_id, to_number: TO, phone_number_id: silent.numberId },
  });
  t.match(refused, { status: 409, body: { code: 'invalid_state' } }, 'a number that calls nobody');
  const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
  const singles = await plane.call<{ total: number }>(
    'GET',
    `${P}/campaigns?kind=single&agent_id=${agent_id}`,
  );
  t.equal(singles.body.total, 1, 'the one that was accepted');
  t.equal((await plane.call('DELETE', `/v1/agents/${silent.agentId}`)).status, 204);
  t.match(await start({ ...call, agent_id: silent.agentId }), {
    status: 409,
    body: { code: 'invalid_state' },
  });
});

void t.test('a call for later has its session then', async (t) => {
  const line = await world.line();
  const schedule_at = new Date(clock.now() + 3_600_000).toISOString();
  const { status, body } = await start({ agent_id: line.agentId, to_number: TO, schedule_at });
  t.match({ status, body }, { status: 202, body: { status: 'queued', session_id: null } });
  const campaign = `/v1/campaigns/${body.campaign_id}`;
  t.match((await plane.call('GET', campaign)).body, { status: 'scheduled', start_at: schedule_at });
  clock.advance(3_600_000);
  const contact = () =>
    plane.call<{ items: { last_session_id: string | null }[] }>('GET', `${campaign}/contacts`);
  const id = await world.passUntil(
    'the session',
    async () => (await contact()).body.items[0]!.last_session_id,
  );
  const queued = await world.passUntil('the order', () => session(id));
  t.match(queued, { campaign_id: body.campaign_id, to_number: TO, dial: { kind: 'single', source: 'api' } });
});

void t.test('what a call for later lacks now is told at once, and leaves nothing behind', async (t) => {
  const schedule_at = new Date(clock.now() + 3_600_000).toISOString();
  const line = await world.line({ config: { variables: [{ name: 'plan', required: true }] } });
  const call = { agent_id: line.agentId, to_number: TO, schedule_at };
  t.match(await start(call), { status: 422, body: { detail: [{ loc: ['body', 'variables', 'plan'] }] } });
  const { numberId } = await world.line({ number: { outbound_enabled: false } });
  const named = { ...call, variables: { plan: 'Gold' } };
  t.match(await start({ ...named, phone_number_id: numberId }), {
    status: 409,
    body: { code: 'invalid_state' },
  });
  const campaigns = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/campaigns`;
  const all = () => plane.call<{ total: number }>('GET', `${campaigns}?kind=single&agent_id=${line.agentId}`);
  t.equal((await all()).body.total, 0);
  t.equal((await start(named)).status, 202);
});

void t.test('an account that is disabled and a number that is suspended are told of', async (t) => {
  const line = await world.line();
  await database
    .model(telephonyAccountCollection)
    .updateOne({ _id: line.accountId }, { $set: { status: 'disabled' } });
  const call = { agent_id: line.agentId, to_number: TO, phone_number_id: line.numberId };
  t.match(await start(call), { status: 409, body: { code: 'invalid_state' } });
  const number = { status: 'suspended' };
  const suspended = await world.line({ number });
  t.match(await start({ ...call, phone_number_id: suspended.numberId }), { status: 409 });
});

void t.test('the same request with a key is one call', async (t) => {
  const line = await world.line();
  const headers = { 'idempotency-key': randomUUID() };
  const first = await start({ agent_id: line.agentId, to_number: TO }, headers);
  const again = await start({ agent_id: line.agentId, to_number: TO }, headers);
  t.same(again.body, first.body);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
});

void t.test('a signed request starts a call, its further fields are variables', async (t) => {
  const line = await world.line({ config: { variables: [{ name: 'plan', default: 'Silver' }] } });
  const { at, secret, send } = await webhook(line);
  t.match(await plane.call('GET', at), {
    body: {
      start_call: {
        enabled: true,
        url: `https://voice.example.com${at}/incoming`,
        secret: { set: true, last_four: secret.slice(-4) },
      },
    },
  });
  const { status, body } = await send({
    phoneNumber: TO,
    phone_number_id: line.numberId,
    name: 'Asha',
    variables: { city: 'Pune' },
    ...{ city: 'ignored', floor: 7, vip: true, tags: ['x'], 'system.now': 'never', long: 'x'.repeat(5000) },
  });
  t.equal(status, 202);
  const made = await session(body.session_id);
  t.same(made.variables, {
    ...{ plan: 'Silver', floor: '7', vip: 'true', phone_number: TO, name: 'Asha', city: 'Pune' },
  });
  t.match(made, { dial: { source: 'webhook' }, from_number: line.number });
});

void t.test('whatever is wrong with agent and signature is one answer', async (t) => {
  const line = await world.line();
  const { at, post, signed, secret } = await webhook(line);
  const text = JSON.stringify({ phoneNumber: TO });
  const old = clock.now() - 301_000;
  const elsewhere = (id: string) =>
    plane.call<Body>('POST', `/api/v1/webhooks/agents/${id}/incoming`, {
      body: Buffer.from(text),
      token: null,
      headers: { 'x-webhook-signature': signed(text) },
    });
  const unset = await world.line();
  const answers = [
    await post(text, undefined),
    await post(text, signWebhook(newWebhookSecret(), text, clock.now())),
    await post(`${text} `, signed(text)),
    await post(text, signed(text, old)),
    await post(text, 'nonsense'),
    await elsewhere('agt_01k5z8r5m2q7v3x9b4n6c8d0ef'),
    await elsewhere('no-agent'),
    await elsewhere(unset.agentId),
  ].map(
    ({
      status,
      body: { request_id: _, ...body },
    }: {
      status: number;
      body: object & { request_id?: string };
    }) => ({
      status,
      body,
    }),
  );
  for (const answer of answers) t.same(answer, answers[0]);
  t.match(answers[0], { status: 401, body: { code: 'bad_signature' } });
  t.match((await plane.call('GET', `/api/v1/webhooks/agents/${unset.agentId}`)).body, {
    start_call: { secret: { set: false } },
  });
  // Known from here on.
  t.match(await post('{', signed('{')), {
    status: 422,
    body: { detail: [{ loc: ['body'], type: 'json_invalid' }] },
  });
  t.match(await post('{}', signed('{}')), {
    status: 422,
    body: { detail: [{ loc: ['body', 'to_number'] }] },
  });
  await plane.call('PUT', `${at}/start-call`, { body: { enabled: false } });
  t.match(await post(text, signed(text)), { status: 403, body: { code: 'webhook_disabled' } });
  t.match((await plane.call('POST', `${at}/rotate-secret`)).status, 200);
  t.match(
    (await plane.call('GET', at)).body,
    { start_call: { enabled: false } },
    'a later secret enables nothing',
  );
  t.match(await post(text, signWebhook(secret, text, clock.now())), { status: 401 }, 'the old secret');
});

void t.test('a request that was signed before is answered as the first time', async (t) => {
  const line = await world.line();
  const { at, post, send, signed, secret } = await webhook(line);
  const text = JSON.stringify({ phoneNumber: TO, order: 1 });
  const replayed = (answer: { headers: Headers }) => answer.headers.get('idempotency-replayed');
  const first = await post(text, signed(text));
  const again = await post(text, signed(text).replace(',', ', '));
  t.same([again.status, again.body, replayed(again)], [202, first.body, 'true']);
  const later = await post(text, signed(text, clock.now() + 1000));
  t.equal(later.status, 202);
  t.not(later.body.session_id, first.body.session_id, 'signed anew: another call');

  const plain = signWebhookBody(secret, text);
  const bodyOnly = await post(text, plain);
  t.not(bodyOnly.body.session_id, later.body.session_id);
  clock.advance(23 * 3_600_000);
  await plane.atRest();
  t.equal((await post(text, plain)).body.session_id, bodyOnly.body.session_id, 'for a day');
  clock.advance(2 * 3_600_000);
  await plane.atRest();
  t.not((await post(text, plain)).body.session_id, bodyOnly.body.session_id);

  const key = { 'idempotency-key': 'order-7' };
  const keyed = await send({ phoneNumber: TO, n: 1 }, key);
  clock.advance(5000);
  await plane.atRest();
  const repeated = await send({ phoneNumber: TO, n: 1 }, key);
  t.same([repeated.body, replayed(repeated)], [keyed.body, 'true'], 'signed anew, with the same key');
  t.match(await send({ phoneNumber: TO, n: 2 }, key), {
    status: 409,
    body: { code: 'idempotency_key_reused' },
  });

  await plane.call('PUT', `${at}/start-call`, { body: { enabled: true, require_timestamp: true } });
  t.match(await post(text, plain), { status: 401 }, 'the form without time');
});

void t.test('overrides come by the webhook where the agent takes them', async (t) => {
  const line = await world.line();
  const { at, send } = await webhook(line);
  const sent = { phoneNumber: TO, overrides: { greeting: 'Hello Asha' } };
  t.match(await send(sent), {
    status: 422,
    body: { detail: [{ loc: ['body', 'overrides'], type: 'not_available' }] },
  });
  await plane.call('PUT', `${at}/start-call`, { body: { enabled: true, allow_overrides: true } });
  const { body } = await send({ ...sent, again: true });
  t.match(readOverrides((await session(body.session_id)).overrides), { greeting: 'Hello Asha' });
});

void t.test('an agent is asked for 60 calls a minute, and not in a suspended org', async (t) => {
  const tenant = await plane.makeTenant();
  const line = await world.line({ tenant });
  const { status } = await start({ agent_id: line.agentId, to_number: TO }, {}, tenant.apiKey);
  t.equal(status, 202);
  const tooMany = await Promise.all(
    Array.from({ length: 60 }, () =>
      start(
        { agent_id: line.agentId, to_number: TO, phone_number_id: 'phn_01k5z8r5m2q7v3x9b4n6c8d0ef' },
        {},
        tenant.apiKey,
      ),
    ),
  );
  t.equal(tooMany.filter((answer) => answer.status === 429).length, 1, 'refused ones count, too');
  const at = `/api/v1/webhooks/agents/${line.agentId}`;
  const { body } = await plane.call<{ secret: string }>('POST', `${at}/rotate-secret`, {
    token: tenant.apiKey,
  });
  await database.model(orgCollection).updateOne({ _id: tenant.org._id }, { $set: { status: 'suspended' } });
  directory.forget(tenant.org._id);
  const text = JSON.stringify({ phoneNumber: TO });
  const refused = await plane.call('POST', `${at}/incoming`, {
    body: Buffer.from(text),
    token: null,
    headers: { 'x-webhook-signature': signWebhook(body.secret, text, clock.now()) },
  });
  t.match(refused, { status: 403, body: { code: 'org_suspended' } });
});
