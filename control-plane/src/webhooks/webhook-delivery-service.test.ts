import { join } from 'node:path';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { signWebhook, standardWebhooksHeaders } from '@parley/shared/http/webhook-signature';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { AgentRecord } from '../agents/agent-record.ts';
import { openDatabase } from '../storage/database.ts';
import { webhookDeliveryCollection } from './webhook-delivery-model.ts';
import { deliveryId, WebhookDeliveryService } from './webhook-delivery-service.ts';

const store = await openDocumentStore({ path: join(t.testdir(), 'webhooks.db') });
const logger = silentLogger();
const database = await openDatabase(store.uri, { logger });
t.teardown(async () => {
  await database[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
const SECRETS = ['whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz', 'whsec_old'];
const never = new AbortController().signal;
let sessions = 0;

interface Answer {
  status: number;
  headers?: Record<string, string>;
}

/** A delivery of a session of its own, and who takes it. */
async function open(answer: () => Answer | Promise<Answer> = () => ({ status: 200 })) {
  const clock = new ManualClock(Date.now());
  const settings: { enabled: boolean; url: string | null } = { enabled: true, url: 'https://new.example' };
  const asked: Record<string, unknown>[] = [];
  const told: unknown[] = [];
  let woken = 0;
  const agent = () =>
    ({ _id: 'agt_1', org_id: 'org_1', webhooks: { call_ended: { ...settings, timeout_ms: 4321 } } }) as never;
  const gone = { is: false };
  const service = new WebhookDeliveryService({
    database,
    clock,
    logger,
    owner: 'one',
    webhooks: {
      find: () => Promise.resolve(gone.is ? null : agent()),
      secrets: (_agent, webhook) => Promise.resolve(webhook === 'call_ended' ? SECRETS : []),
    },
    callLog: { append: (of, event) => Promise.resolve(void told.push({ of, ...event })) },
    safeFetch: {
      request: async (request) => {
        asked.push(request as never);
        clock.advance(15);
        const { status, headers = {} } = await answer();
        return { status, headers, body: Buffer.alloc(0), truncated: false };
      },
    },
  });
  service.wakeWith({ runNow: () => Promise.resolve(void woken++) } as never);
  const session_id = `ses_${++sessions}`;
  const request = {
    ...{ org_id: 'org_1', project_id: 'prj_1', session_id, agent_id: 'agt_1' },
    ...{ event: 'call.ended', url: 'https://first.example', payload: { a: 1 } },
  };
  const model = database.model(webhookDeliveryCollection);
  // What others left is not to be sent here.
  await model.deleteMany({});
  const id = await service.create(request);
  const read = async () => (await model.findOne({ _id: id }).lean())!;
  return {
    clock,
    service,
    settings,
    asked,
    told,
    gone,
    request,
    id,
    read,
    model,
    session_id,
    agent,
    woken: () => woken,
  };
}

void t.test('a delivery is made once, frozen, and known by its session and event', async (t) => {
  const { service, request, id, read, woken, clock } = await open();
  t.match(id, /^whd_[0-9a-f]{26}$/);
  t.equal(id, deliveryId(request.session_id, 'call.ended'));
  t.not(id, deliveryId(request.session_id, 'call.started'));
  t.match(await read(), {
    status: 'pending',
    payload: '{"a":1}',
    url: 'https://first.example',
    attempts: 0,
    round_attempts: 0,
    next_attempt_at: new Date(clock.now()),
    delivered_at: null,
  });
  t.equal(await service.create({ ...request, payload: { a: 2 } }), id);
  t.equal((await read()).payload, '{"a":1}', 'the second changes nothing');
  t.equal(woken(), 2, 'whoever sends is told at once');
});

void t.test('a receiver can tell who has sent what, and how often', async (t) => {
  const { clock, service, asked, told, read, id, session_id } = await open();
  const now = clock.now();
  await service.work(never);
  const [sent] = asked;
  t.match(sent, {
    method: 'POST',
    url: 'https://first.example',
    purpose: 'webhook',
    orgId: 'org_1',
    timeoutMs: 4321,
    body: '{"a":1}',
  });
  t.same(sent!['headers'], {
    'Content-Type': 'application/json',
    'X-Webhook-Id': id,
    'X-Webhook-Event': 'call.ended',
    'X-Webhook-Attempt': '1',
    'X-Webhook-Signature': signWebhook(SECRETS, '{"a":1}', now),
    ...standardWebhooksHeaders(SECRETS, id, '{"a":1}', now),
  });
  t.match(await read(), {
    status: 'succeeded',
    last_status: 200,
    last_error: null,
    next_attempt_at: null,
    delivered_at: new Date(clock.now()),
    lease_owner: null,
    lease_until: new Date(0),
  });
  t.same(told, [
    {
      of: { session_id, org_id: 'org_1', project_id: 'prj_1' },
      type: 'webhook',
      key: 'webhook_1',
      data: { delivery_id: id, attempt: 1, ok: true, last_status: 200, last_error: null },
    },
  ]);
  await service.work(never);
  t.equal(asked.length, 1, 'what was taken is not sent again');
});

void t.test('only 2xx is taken; 410 ends it, anything else is tried again', async (t) => {
  for (const [status, wanted, error] of [
    [204, 'succeeded', null],
    [299, 'succeeded', null],
    [300, 'retrying', 'HTTP 300'],
    [199, 'retrying', 'HTTP 199'],
    [410, 'cancelled', 'HTTP 410'],
    [500, 'retrying', 'HTTP 500'],
  ] as const) {
    const { service, read } = await open(() => ({ status }));
    await service.work(never);
    const { status: is, last_error, last_status, next_attempt_at } = await read();
    t.same([is, last_error, last_status], [wanted, error, status]);
    t.equal(next_attempt_at === null, wanted !== 'retrying', `${status}`);
  }
});

void t.test('a receiver may ask for more time', async (t) => {
  const { service, read, clock } = await open(() => ({ status: 503, headers: { 'retry-after': '1800' } }));
  await service.work(never);
  t.same((await read()).next_attempt_at, new Date(clock.now() + 1_800_000));
});

void t.test('what nobody wants any more is cancelled, unsent', async (t) => {
  const off = await open();
  off.settings.enabled = false;
  await off.service.work(never);
  t.match(await off.read(), { status: 'cancelled', next_attempt_at: null, attempts: 1 });
  t.same([off.asked, off.told], [[], []]);
  const deleted = await open();
  deleted.gone.is = true;
  await deleted.service.work(never);
  t.match(await deleted.read(), { status: 'cancelled' });
});

void t.test('erasing forgets what was sent, and stops what waits', async (t) => {
  const waiting = await open();
  t.ok(await waiting.service.isPending(waiting.session_id));
  await waiting.service.erase(waiting.session_id);
  t.notOk(await waiting.service.isPending(waiting.session_id));
  t.match(await waiting.read(), { status: 'cancelled', payload: null, next_attempt_at: null });
  await t.rejects(waiting.service.redeliver(await waiting.read()), { code: 'invalid_state' });
  const sent = await open();
  await sent.service.work(never);
  await sent.service.erase(sent.session_id);
  t.match(await sent.read(), { status: 'succeeded', payload: null });
  t.equal(waiting.asked.length, 0);
});

void t.test('a delivery is asked for once more, at the address of now', async (t) => {
  const { service, settings, read, clock, asked, woken, gone } = await open();
  await t.rejects(service.redeliver(await read()), { code: 'invalid_state' }, 'it is still tried');
  await service.work(never);
  const before = woken();
  t.match(await service.redeliver(await read()), {
    status: 'pending',
    url: 'https://new.example',
    round_attempts: 0,
    next_attempt_at: new Date(clock.now()),
  });
  t.equal(woken(), before + 1);
  await service.work(never);
  t.match(asked[1], { url: 'https://new.example', headers: { 'X-Webhook-Attempt': '2' } });
  settings.url = null;
  t.match(await service.redeliver(await read()), { url: 'https://new.example' }, 'or where it went before');
  await service.work(never);
  gone.is = true;
  t.match(await service.redeliver(await read()), { url: 'https://new.example' });
});

void t.test('a sample is sent once and its answer shown', async (t) => {
  const { service, settings, agent, asked, model, told } = await open(() => ({ status: 404 }));
  await model.deleteMany({});
  t.same(await service.test(agent() as AgentRecord, { b: 1 }), {
    ok: false,
    ms: 15,
    status: 404,
    error: 'HTTP 404',
  });
  t.match(asked[0], { url: 'https://new.example', timeoutMs: 4321, body: '{"b":1}' });
  t.match((asked[0]!['headers'] as Record<string, string>)['X-Webhook-Id'], /^whd_test[0-9a-f]{26}$/);
  t.equal(await model.countDocuments({}), 0, 'nothing is stored');
  t.same(told, []);
  settings.url = null;
  await t.rejects(service.test(agent() as AgentRecord, {}), { code: 'invalid_state' });
  const broken = await open(() => Promise.reject(new Error('a bug')));
  t.same(await broken.service.test(broken.agent() as AgentRecord, {}), {
    ok: false,
    ms: 15,
    error: 'internal',
  });
  const good = await open();
  t.same(await good.service.test(good.agent() as AgentRecord, {}), { ok: true, ms: 15, status: 200 });
});

void t.test('what is not due is left, and a process that stops begins nothing', async (t) => {
  const { service, asked, model, read, clock } = await open();
  await model.updateOne(
    { _id: (await read())._id },
    { $set: { next_attempt_at: new Date(clock.now() + 1) } },
  );
  await service.work(never);
  t.equal(asked.length, 0);
  clock.advance(1);
  await service.work(AbortSignal.abort());
  t.equal(asked.length, 0);
  await service.work(never);
  t.equal(asked.length, 1);
});
