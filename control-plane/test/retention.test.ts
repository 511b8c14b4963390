import { randomUUID } from 'node:crypto';
import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { toolCallCollection } from '../src/calls/tool-call-model.ts';
import { turnCollection } from '../src/calls/turn-model.ts';
import { orgCollection } from '../src/orgs/org-model.ts';
import { projectCollection } from '../src/projects/project-model.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import type { SessionRecord } from '../src/sessions/session-record.ts';
import { Retention } from '../src/sessions/retention.ts';
import { webhookDeliveryCollection } from '../src/webhooks/webhook-delivery-model.ts';
import { eventually, openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import { signInUser } from './fixtures/test-users.ts';

const DAY_MS = 24 * 3_600_000;
const clock = new ManualClock(Date.now());
let crmStatus = 200;
const crm = await openLoopbackServer(() => ({ status: crmStatus }));
t.teardown(() => crm[Symbol.asyncDispose]());
const cp = await openTestControlPlane({
  clock,
  env: { REGISTRATION: 'open', OUTBOUND_ALLOW: crm.url, SESSION_STARTS_PER_MINUTE: '0' },
});
t.teardown(() => cp[Symbol.asyncDispose]());
const owner = await signInUser(cp, 'owner@example.com');
const gateway = new TestGateway(cp);
const { callEvents, database, deliveries, postCall, retention } = cp.app.services;
const { org, project } = cp.first;
const P = `/v1/orgs/${org._id}/projects/${project._id}`;
const signal = new AbortController().signal;
const sessions = database.model(sessionCollection);

async function newAgent(retentionDays: number | null, webhook = false): Promise<string> {
  const config = { analysis: { lead_analysis: false }, privacy: { retention_days: retentionDays } };
  const { status, body } = await cp.call<{ id: string }>('POST', `${P}/agents`, {
    body: { name: `Agent ${Math.random()}`, config },
  });
  t.equal(status, 201);
  if (webhook) {
    const put = await cp.call('PUT', `/api/v1/webhooks/agents/${body.id}/call-ended`, {
      body: { enabled: true, url: crm.url, web_calls: true, phone_calls: true },
    });
    t.equal(put.status, 200);
  }
  return body.id;
}

/** A call that ended so many days ago, with what it left. */
async function ended(agentId: string | null, daysAgo: number): Promise<string> {
  const session = await cp.call<{ token: string }>('POST', '/v1/sessions', {
    body: agentId === null ? {} : { agent_id: agentId },
  });
  const plan = (await gateway.redeem({ token: session.body.token })).body;
  const about = { tool_call_id: 'a', tool_id: null, name: 'end_call' };
  await callEvents.handle(gateway.started(plan));
  await callEvents.handle(
    gateway.event(plan, 'tool_finished', { ...about, ok: true, duration_ms: 1, result: 'secret' }),
  );
  const ended_at = new Date(clock.now() - daysAgo * DAY_MS).toISOString();
  await callEvents.handle(gateway.ended(plan, { ended_at }));
  // Somebody does it, this call or the task of the process.
  await postCall.work(signal);
  await eventually(async () => ['done', 'skipped'].includes((await read(plan.session_id)).post_call_status));
  return plan.session_id;
}

const read = async (id: string) => (await sessions.findOne({ _id: id }).lean<SessionRecord>())!;
const isErased = async (id: string) => (await read(id)).erased_at !== null;
const setOrg = (retention_days: number | null) =>
  cp.call('PATCH', `/v1/orgs/${org._id}`, { token: owner.token, body: { retention_days } });
const setProject = (retention_days: number | null) =>
  cp.call('PATCH', `/v1/projects/${project._id}`, { token: owner.token, body: { retention_days } });

void t.test('the shortest of org, project and agent holds, from the end of the call on', async (t) => {
  const forever = await newAgent(null);
  const short = await newAgent(5);
  const ages = [1, 6, 12, 25, 40];
  // One call, and the same one again at other times.
  const byAgent = async (agent: string | null) => {
    const oldest = await ended(agent, ages.at(-1)!);
    const pattern = await read(oldest);
    const others = ages.slice(0, -1).map((age) => ({
      ...pattern,
      _id: randomUUID(),
      ended_at: new Date(clock.now() - age * DAY_MS),
    }));
    await sessions.collection.insertMany(others as never[]);
    return [...others.map(({ _id }) => _id), oldest];
  };
  const kept = await byAgent(forever);
  const shortly = await byAgent(short);
  const noAgent = await byAgent(null);
  const erased = async (ids: string[]) => (await Promise.all(ids.map(isErased))).filter(Boolean).length;

  t.equal(await retention.sweep(signal), 4, 'older than five days');
  t.same([await erased(kept), await erased(shortly), await erased(noAgent)], [0, 4, 0]);

  t.equal((await setOrg(30)).status, 200);
  await retention.sweep(signal);
  t.same([await erased(kept), await erased(shortly), await erased(noAgent)], [1, 4, 1]);

  t.equal((await setProject(10)).status, 200);
  await retention.sweep(signal);
  t.same([await erased(kept), await erased(shortly), await erased(noAgent)], [3, 4, 3]);

  t.equal((await setProject(60)).status, 200);
  await retention.sweep(signal);
  t.equal(await erased(kept), 3, 'longer than the org’s, and so without effect');
  t.equal(await retention.sweep(signal), 0, 'what is erased is not found again');
  const live = await ended(forever, 1);
  await setOrg(null);
  await setProject(null);

  const gone = shortly[4]!;
  t.match(await read(gone), { variables: {}, ended_at: Date, duration_seconds: 65.25 });
  t.equal(await database.model(turnCollection).countDocuments({ session_id: gone }), 0);
  t.equal(await database.model(toolCallCollection).countDocuments({ session_id: gone }), 0);
  t.equal(await database.model(turnCollection).countDocuments({ session_id: live }), 2);
});

void t.test('0 days: kept until the analyses and the delivery have ended', async (t) => {
  const plain = await ended(await newAgent(0), 0);
  await retention.sweep(signal);
  t.ok(await isErased(plain), 'nothing is to be delivered');

  crmStatus = 500;
  const delivered = await ended(await newAgent(0, true), 0);
  await deliveries.work(signal);
  // Until the answer is noted: the next attempt is due so long after that.
  await eventually(() =>
    database.model(webhookDeliveryCollection).exists({ session_id: delivered, status: 'retrying' }),
  );
  await retention.sweep(signal);
  t.notOk(await isErased(delivered), 'it is tried again');
  crmStatus = 200;
  clock.advance(15_000);
  await deliveries.work(signal);
  await eventually(async () => !(await deliveries.isPending(delivered)));
  await retention.sweep(signal);
  t.ok(await isErased(delivered));
  const bodies = crm.received.map(
    ({ body }) => (JSON.parse(body) as { call_session_id: string }).call_session_id,
  );
  t.ok(bodies.every((id) => id === delivered));
});

void t.test(
  'a call whose report is not analysed yet is kept, and one that nothing follows is not',
  async (t) => {
    const id = await ended(await newAgent(0), 0);
    await sessions.updateOne({ _id: id }, { $set: { post_call_status: 'pending' } });
    await retention.sweep(signal);
    t.notOk(await isErased(id), 'a report may be on its way');
    clock.advance(3_600_001);
    await cp.atRest();
    await retention.sweep(signal);
    t.ok(await isErased(id));
  },
);

void t.test('live calls are never touched', async (t) => {
  const agent_id = await newAgent(0);
  const session = await cp.call<{ session_id: string }>('POST', '/v1/sessions', { body: { agent_id } });
  await retention.sweep(signal);
  t.notOk(await isErased(session.body.session_id));
});

void t.test('a round is bounded, and the next one goes on where it stopped', async (t) => {
  const agent = await newAgent(3);
  const pattern = await read(await ended(agent, 2));
  await sessions.collection.insertMany(
    Array.from({ length: 25 }, (_, n) => ({
      ...pattern,
      _id: `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`,
      ended_at: new Date(clock.now() - 9 * DAY_MS + n),
    })) as never[],
  );
  const small = new Retention({
    ...cp.app.services,
    erase: (session) => cp.app.services.sessionErasure.erase(session),
    needed: [(id) => Promise.resolve(id.endsWith('0003'))],
    owner: cp.app.services.processName,
    tenants: { orgs: orgCollection, projects: projectCollection },
  });
  t.equal(await small.sweep(AbortSignal.abort(), 20), 0);
  t.equal(await small.sweep(signal, 20), 19, 'one of twenty is still needed');
  t.equal(await small.sweep(signal, 20), 5, 'it stands in nobody’s way');
  t.equal(await small.sweep(signal, 20), 0);
  t.equal(await retention.sweep(signal), 1);
});
