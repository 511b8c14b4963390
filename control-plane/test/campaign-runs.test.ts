import t from 'tap';
import type { Test } from 'tap';
import type { Telephone } from '@parley/emulators/callers/telephone';
import { agentCollection } from '../src/agents/agent-model.ts';
import { walletCollection } from '../src/billing/wallet-model.ts';
import { costEntryCollection } from '../src/billing/cost-entry-model.ts';
import { addTo, countedOf, noCounters } from '../src/campaigns/campaign-counters.ts';
import type { Counters } from '../src/campaigns/campaign-counters.ts';
import { campaignCollection } from '../src/campaigns/campaign-model.ts';
import type { CampaignRecord } from '../src/campaigns/campaign-model.ts';
import { contactCollection } from '../src/campaigns/contact-model.ts';
import type { ContactRecord } from '../src/campaigns/contact-model.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import { phoneNumberCollection } from '../src/telephony/phone-number-model.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { openDiallingWorld } from './fixtures/dialling-world.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';

/** Many calls on one clock: `npm run test:long` has them all. */
const LONG_ONLY = LONG ? {} : { skip: 'npm run test:long' };

/** Campaigns that call: over an emulated carrier, whose telephones do what the number says. */
const world = await openDiallingWorld(t);
const { carriers, clock, media, plane, passUntil } = world;
const gateway = new TestGateway(plane);
const { database, callEvents } = plane.app.services;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
const line = await world.line({
  config: { telephony: { ring_timeout_seconds: 60 }, end_call: { message: 'We have to stop here.' } },
});

interface Campaign {
  id: string;
  status: string;
  pause_reason: string | null;
  counters: Counters;
}
interface Contact {
  id: string;
  phone_number: string;
  status: string;
  outcome: string | null;
  skip_reason: string | null;
  attempts_made: number;
  last_session_id: string;
}

const telephones = (does: Telephone['does']) => carriers.plivo.setTelephones(() => ({ does, afterMs: 200 }));
const campaigns = database.model(campaignCollection);
const contactModel = database.model(contactCollection);

/** A campaign whose contacts have these numbers. */
async function campaign(numbers: readonly string[], more: object = {}): Promise<string> {
  const { body, status } = await plane.call<Campaign>('POST', `${P}/campaigns`, {
    body: {
      ...{ name: 'Renewals', agent_id: line.agentId, phone_number_ids: [line.numberId] },
      ...{ calls_per_second: 20, retry: { max_attempts: 1 }, ...more },
    },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const contacts = numbers.map((phone_number) => ({ phone_number }));
  await plane.call('POST', `/v1/campaigns/${body.id}/contacts`, { body: { contacts } });
  return body.id;
}
const act = (id: string, action: string, body?: object) =>
  plane.call<Campaign & { requeued: number; detail: unknown }>('POST', `/v1/campaigns/${id}/${action}`, {
    ...(body && { body }),
  });
const read = async (id: string) => (await plane.call<Campaign>('GET', `/v1/campaigns/${id}`)).body;
const contacts = async (id: string) =>
  (await plane.call<{ items: Contact[] }>('GET', `/v1/campaigns/${id}/contacts?limit=200&sort=created_at`))
    .body.items;
const attempts = async ({ id }: Contact) =>
  (
    await plane.call<{ items: { attempt_number: number; status: string; outcome: string }[] }>(
      'GET',
      `/v1/campaign-contacts/${id}/attempts?sort=created_at`,
    )
  ).body.items;
/** Lets time pass until a campaign is in this state, and nothing of it is under way. */
const becomes = (id: string, status: string) =>
  passUntil(`the campaign to be ${status}`, async () => {
    const now = await campaigns.findOne({ _id: id }).lean<CampaignRecord>();
    return now?.status === status && (!now.active || status === 'paused' || status === 'running') && now;
  });
/** How many calls of a campaign are on their way. */
const dialled = (campaign_id: string) =>
  database.model(sessionCollection).countDocuments({ campaign_id, status: { $in: ['dialing', 'ringing'] } });
const rings = (campaign_id: string) =>
  database.model(sessionCollection).countDocuments({ campaign_id, status: 'ringing' });
/** Lets much time pass at once. */
async function leap(ms: number): Promise<void> {
  await plane.atRest();
  clock.advance(ms);
  await plane.atRest();
}
const numbers = (count: number, first: number) =>
  Array.from({ length: count }, (_, n) => `+1415556${String(first + n).padStart(4, '0')}`);

async function countersFit(t: Test, id: string): Promise<void> {
  const expected = noCounters();
  for (const contact of await contactModel.find({ campaign_id: id }).lean<ContactRecord[]>())
    addTo(expected, countedOf(contact), 1);
  t.same((await read(id)).counters, expected);
}

void t.test('each contact is called, and again where the rule says so', async (t) => {
  const does: Record<string, Telephone['does']> = { 1: 'busy', 2: 'refuse', 3: 'invalid', 4: 'answer' };
  carriers.plivo.setTelephones((to) => ({ does: does[to.at(-1)!]!, afterMs: 200 }));
  const id = await campaign(numbers(4, 1), {
    retry: { max_attempts: 2, delays_minutes: [1], retry_on: ['busy'] },
  });
  const before = media.sockets.length;
  const started = await act(id, 'start');
  t.match(started, { status: 200, body: { status: 'running', pause_reason: null } });
  const stream = await passUntil('the answered call', () => Promise.resolve(media.sockets[before]));
  const answered = (await contacts(id)).find(({ phone_number }) => phone_number.endsWith('4'))!;
  const ticket = stream.path.split('/').at(-1)!;
  const { carrier_call_id } = await world.session(answered.last_session_id);
  const plan = await gateway.redeem({ ticket, start: { carrier: 'plivo', carrier_call_id } });
  await callEvents.handle(gateway.started(plan.body));
  await passUntil('the contact to be in a call', async () =>
    (await contacts(id)).some(({ status }) => status === 'in_progress'),
  );
  const counted = await passUntil('the contact to be counted', async () => {
    const { counters } = await read(id);
    return counters.in_progress === 1 && counters;
  });
  t.match(counted, { total: 4 });
  await callEvents.handle(gateway.ended(plan.body));
  const again = await passUntil('a contact to wait', async () =>
    contactModel.findOne({ campaign_id: id, status: 'waiting_retry' }).lean<ContactRecord>(),
  );
  t.ok(again.next_attempt_at!.getTime() > clock.now() + 30_000, 'a minute later');
  await leap(59_000);
  await becomes(id, 'completed');
  t.same(
    (await contacts(id)).map(({ status, outcome, attempts_made }) => [status, outcome, attempts_made]),
    [
      ['failed', 'busy', 2],
      ['failed', 'rejected', 1],
      ['failed', 'invalid_number', 1],
      ['completed', 'answered', 1],
    ],
  );
  t.same(
    (await attempts((await contacts(id))[0]!)).map((one) => [one.attempt_number, one.status, one.outcome]),
    [1, 2].map((n) => [n, 'failed', 'busy']),
  );
  t.match((await read(id)).counters, { completed: 1, failed: 3, attempts: 5, answered: 1 });
  await countersFit(t, id);
  t.equal(await database.model(sessionCollection).countDocuments({ campaign_id: id }), 5);

  telephones('refuse');
  t.match(await act(id, 'redial', { outcomes: ['rejected'] }), { status: 200, body: { requeued: 1 } });
  t.match(await read(id), { status: 'paused', pause_reason: 'redial' });
  await act(id, 'resume');
  await becomes(id, 'completed');
  t.match((await contacts(id))[1], { status: 'failed', outcome: 'rejected', attempts_made: 2 });
  await countersFit(t, id);
});

void t.test('as many at a time as it says, which may be changed; paused, it calls nobody', async (t) => {
  telephones('ring');
  const id = await campaign(numbers(8, 100), { max_concurrent: 2 });
  await act(id, 'start');
  await passUntil('two calls', async () => (await dialled(id)) === 2);
  await leap(3000);
  t.equal(await dialled(id), 2);
  await plane.call('PATCH', `/v1/campaigns/${id}`, { body: { max_concurrent: 4 } });
  await passUntil('four calls', async () => (await dialled(id)) === 4);
  await leap(3000);
  t.equal(await dialled(id), 4);
  await act(id, 'pause');
  t.match(await read(id), { status: 'paused', pause_reason: 'user' });
  await leap(60_000);
  await passUntil('no call', async () => (await dialled(id)) === 0);
  await leap(10_000);
  t.equal(await dialled(id), 0);
  // What is queued waits.
  await passUntil('the others to be over', async () => (await read(id)).counters.queued === 4);
  const cancelled = await act(id, 'cancel');
  t.match(cancelled.body, { status: 'cancelled', counters: { pending: 0 } });
  await becomes(id, 'cancelled');
  const { counters } = await read(id);
  t.match(counters, { queued: 0, in_progress: 0, waiting_retry: 0 });
  t.equal(counters.cancelled + counters.failed, 8);
  await countersFit(t, id);
});

void t.test('failures of the carrier pause it', LONG_ONLY, async (t) => {
  telephones('busy');
  carriers.plivo.setFaults([{ kind: 'refuse', status: 400, count: 1000 }]);
  t.teardown(() => carriers.plivo.setFaults([]));
  const id = await campaign(numbers(8, 200), {
    circuit_breaker: { min_calls: 4, failure_percent: 100 },
    retry: { max_attempts: 1 },
  });
  await act(id, 'start');
  const paused = await becomes(id, 'paused');
  t.equal(paused.pause_reason, 'circuit_breaker');
  carriers.plivo.setFaults([]);
  await passUntil('the calls under way to be over', async () => (await dialled(id)) === 0);
  await act(id, 'resume');
  await becomes(id, 'completed');
  const { counters } = await read(id);
  t.equal(counters.failed, 8, 'what was before does not pause it again');
  await countersFit(t, id);
});

void t.test('why no calls can be made is told', LONG_ONLY, async (t) => {
  telephones('busy');
  const orgId = plane.first.org._id;
  const obstacles = {
    agent_unavailable: () =>
      toggled(agentCollection, line.agentId, { archived_at: new Date(0) }, { archived_at: null }),
    number_unavailable: () =>
      toggled(phoneNumberCollection, line.numberId, { status: 'released' }, { status: 'active' }),
    insufficient_balance: async () => {
      const nothing = { balance_nano: 0n, reserved_nano: 0n, holds: {}, pending: [], revision: 0 };
      const wallet = { _id: orgId, org_id: orgId, mode: 'prepaid', currency: 'USD', ...nothing };
      const model = database.model(walletCollection);
      await model.collection.insertOne(wallet as never);
      return () => model.deleteOne({ _id: orgId });
    },
  };
  for (const [reason, put] of Object.entries(obstacles)) {
    const id = await campaign(numbers(2, 300));
    await campaigns.updateOne({ _id: id }, { $set: { status: 'running', active: true } });
    const remove = await put();
    t.equal((await becomes(id, 'paused')).pause_reason, reason, reason);
    await remove();
    t.equal((await act(id, 'resume')).status, 200);
    await becomes(id, 'completed');
    t.match((await read(id)).counters, { failed: 2, attempts: 2 });
  }

  async function toggled(
    collection: typeof agentCollection | typeof phoneNumberCollection,
    _id: string,
    there: object,
    gone: object,
  ) {
    const model = database.model(collection as typeof agentCollection);
    await model.updateOne({ _id }, { $set: there });
    return () => model.updateOne({ _id }, { $set: gone });
  }
});

void t.test('what its calls may cost is not passed', LONG_ONLY, async (t) => {
  telephones('busy');
  const id = await campaign(numbers(2, 400), { max_cost_amount: '1.50' });
  for (const [n, state] of (['booked', 'reserved'] as const).entries())
    await database.insert(costEntryCollection, {
      _id: `entry-${n}`,
      ...{ org_id: plane.first.org._id, project_id: plane.first.project._id, campaign_id: id },
      ...{ state, currency: 'USD', reserved_nano: 500_000_000n },
      amount_nano: state === 'booked' ? 1_000_000_000n : null,
    });
  await act(id, 'start');
  t.equal((await becomes(id, 'paused')).pause_reason, 'budget');
  t.match((await read(id)).counters, { pending: 2, attempts: 0 });
  await plane.call('PATCH', `/v1/campaigns/${id}`, { body: { max_cost_amount: '2' } });
  await act(id, 'resume');
  await becomes(id, 'completed');
});

void t.test('what is changed while it is paused holds for calls that were queued', async (t) => {
  telephones('ring');
  const id = await campaign(numbers(3, 480), { max_concurrent: 1 });
  await act(id, 'start');
  await passUntil('a call', async () => (await rings(id)) === 1);
  await act(id, 'pause');
  await plane.call('PATCH', `/v1/campaigns/${id}`, { body: { overrides: { greeting: 'Good evening' } } });
  const all = await contacts(id);
  t.same(
    all.map(({ status, attempts_made }) => [status, attempts_made]),
    [
      ['queued', 1],
      ['pending', 0],
      ['pending', 0],
    ],
  );
  await act(id, 'resume');
  const queued = await passUntil('them to be queued again', async () => {
    const [, second] = await contacts(id);
    return second!.status === 'queued' && world.session(second!.last_session_id);
  });
  t.match(queued, { status: 'queued', overrides: '{"greeting":"Good evening"}' });
  await act(id, 'cancel');
});

void t.test('calls under way end when the campaign has spent what it may', async (t) => {
  telephones('answer');
  const id = await campaign(numbers(1, 450), { max_cost_amount: '1.50' });
  const before = media.sockets.length;
  await act(id, 'start');
  const stream = await passUntil('the answered call', () => Promise.resolve(media.sockets[before]));
  const [contact] = await contacts(id);
  const { carrier_call_id } = await world.session(contact!.last_session_id);
  const ticket = stream.path.split('/').at(-1)!;
  const plan = await gateway.redeem({ ticket, start: { carrier: 'plivo', carrier_call_id } });
  await callEvents.handle(gateway.started(plan.body));
  await passUntil(
    'the contact to be in a call',
    async () => (await contacts(id))[0]!.status === 'in_progress',
  );
  const commands = await gateway.commands();
  t.teardown(() => commands.close());
  await database.insert(costEntryCollection, {
    _id: contact!.last_session_id,
    ...{ org_id: plane.first.org._id, project_id: plane.first.project._id, campaign_id: id },
    ...{ state: 'reserved', currency: 'USD', reserved_nano: 1_500_000_000n, amount_nano: null },
  });
  const end = await passUntil('the command', () =>
    Promise.resolve(commands.all.find(({ type }) => type === 'end')),
  );
  t.match(end, {
    session_id: plan.body.session_id,
    args: { ended_by: 'system', hangup_reason: 'budget', message: 'We have to stop here.' },
  });
  t.match(await read(id), { status: 'paused', pause_reason: 'budget' });
  await callEvents.handle(gateway.ended(plan.body));
});

void t.test('it begins and ends when it is to', async (t) => {
  telephones('ring');
  const at = (ms: number) => new Date(clock.now() + ms).toISOString();
  const id = await campaign(numbers(8, 500), {
    ...{ start_at: at(2000), end_at: at(60_000), max_concurrent: 1 },
  });
  t.match(await act(id, 'start'), { status: 200, body: { status: 'scheduled' } });
  await becomes(id, 'running');
  // Its carrier has said so: a request that time passes over is looked for, and not a call under way.
  await passUntil('a call', async () => (await rings(id)) === 1);
  await leap(58_000);
  await passUntil('the end', async () => (await read(id)).status === 'completed');
  await leap(10_000);
  await becomes(id, 'completed');
  const all = await contacts(id);
  t.equal(all.filter(({ skip_reason }) => skip_reason === 'campaign_ended').length, 7);
  t.match(all[0], { status: 'failed', outcome: 'no_answer' }, 'the call under way goes on to its end');
  await countersFit(t, id);
});

void t.test("people are called in their own hours, and others don't wait for them", LONG_ONLY, async (t) => {
  telephones('busy');
  const hour = new Date(clock.now()).getUTCHours();
  const minute = new Date(clock.now()).getUTCMinutes();
  /** A zone in which it is so many hours after noon. */
  const zone = (hours: number) => `Etc/GMT${signed(hour - 12 - hours)}`;
  const signed = (offset: number) => (offset < 0 ? String(offset) : `+${offset}`);
  const local = (offset: number) => {
    const time = 12 * 60 + minute + offset;
    return `${Math.floor(time / 60)}:${String(time % 60).padStart(2, '0')}`;
  };
  const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
  const id = await campaign([], {
    calling_hours: {
      ...{ timezone: zone(0), use_contact_timezone: true },
      windows: [{ days, start: local(-5), end: local(30) }],
    },
  });
  const [here, west] = numbers(2, 600);
  await plane.call('POST', `/v1/campaigns/${id}/contacts`, {
    // An hour behind: for them it is too early.
    body: { contacts: [{ phone_number: west, timezone: zone(-1) }, { phone_number: here }] },
  });
  await act(id, 'start');
  await passUntil('the one who may be called', async () => (await read(id)).counters.failed === 1);
  const [early] = await contacts(id);
  t.match(early, { status: 'pending', attempts_made: 0 });
  t.equal((await read(id)).status, 'running', 'it waits');
  await leap(54 * 60_000);
  t.match((await contacts(id))[0], { status: 'pending' });
  clock.advance(3 * 60_000);
  await becomes(id, 'completed');
  t.match((await contacts(id))[0], { status: 'failed', outcome: 'busy', attempts_made: 1 });
});

void t.test('a campaign that lacks something is not started', async (t) => {
  const none = await campaign([]);
  const problem = async (id: string) => {
    const { status, body } = await act(id, 'start');
    return [status, (body.detail as { loc: string[] }[])[0]?.loc[1]];
  };
  t.same(await problem(none), [422, 'contacts']);
  const id = await campaign(numbers(1, 700));
  await database
    .model(phoneNumberCollection)
    .updateOne({ _id: line.numberId }, { $set: { status: 'released' } });
  t.same(await problem(id), [422, 'phone_number_ids']);
  await database
    .model(phoneNumberCollection)
    .updateOne({ _id: line.numberId }, { $set: { status: 'active' } });
  await database
    .model(agentCollection)
    .updateOne({ _id: line.agentId }, { $set: { archived_at: new Date() } });
  t.same(await problem(id), [422, 'agent_id']);
  await database.model(agentCollection).updateOne({ _id: line.agentId }, { $set: { archived_at: null } });
  for (const action of ['pause', 'resume', 'redial']) t.equal((await act(id, action)).status, 409, action);
});

void t.test(
  'suppressed numbers, and people without what the agent must know, are skipped',
  LONG_ONLY,
  async (t) => {
    telephones('busy');
    const id = await campaign(numbers(2, 800));
    const list = await plane.call<{ id: string }>('POST', `${P}/recipient-lists`, {
      body: { name: 'Never', kind: 'suppression' },
    });
    await plane.call('POST', `/v1/recipient-lists/${list.body.id}/recipients`, {
      body: { recipients: [{ phone_number: numbers(1, 800)[0] }] },
    });
    const agent = `/v1/agents/${line.agentId}`;
    const required = [
      { name: 'plan', required: true },
      { name: 'phone_number', required: true },
    ];
    await plane.call('PATCH', agent, { body: { config: { variables: required } } });
    await act(id, 'start');
    await becomes(id, 'completed');
    await plane.call('PATCH', agent, { body: { config: { variables: [] } } });
    t.same(
      (await contacts(id)).map(({ status, skip_reason, attempts_made }) => [
        status,
        skip_reason,
        attempts_made,
      ]),
      [
        ['skipped', 'suppressed', 0],
        ['skipped', 'missing_variable', 0],
      ],
    );
    t.match((await read(id)).counters, { total: 2, skipped: 2, attempts: 0 });
  },
);

void t.test('a call by itself is a campaign that lists leave out', async (t) => {
  telephones('busy');
  const { singleCalls, storedAgents } = plane.app.services;

  const scope = new Scope(database, {
    ...{ orgId: plane.first.org._id, projectId: plane.first.project._id, projects: null, role: 'owner' },
  });
  const call = {
    agent: (await storedAgents.forNewSession(line.agentId, null))!,
    ...{ to: numbers(1, 900)[0]!, name: 'Ada', externalId: null, timezone: null, numberIds: [line.numberId] },
    ...{ variables: { plan: 'gold' }, overrides: { greeting: 'Hello {{name}}' }, analysisIds: [] },
    ...{ retry: null, source: 'api' as const, createdBy: 'key_sample' },
  };
  const made = await singleCalls.createSingle(scope, { ...call, startAt: null });
  const session = await world.session(made.sessionId!);
  t.match(session, {
    ...{ status: 'queued', campaign_id: made.campaignId, contact_id: made.contactId, attempt_number: 1 },
    variables: { plan: 'gold', name: 'Ada', phone_number: call.to },
    overrides: '{"greeting":"Hello {{name}}"}',
    post_call_analysis_ids: [],
  });
  await becomes(made.campaignId, 'completed');
  const later = await singleCalls.createSingle(scope, { ...call, startAt: new Date(clock.now() + 2000) });
  t.equal(later.sessionId, null);
  t.equal((await read(later.campaignId)).status, 'scheduled');
  await becomes(later.campaignId, 'completed');
  t.match((await contacts(later.campaignId))[0], { status: 'failed', outcome: 'busy', attempts_made: 1 });
  const listed = await plane.call<{ items: Campaign[] }>('GET', `${P}/campaigns?limit=200`);
  t.notOk(listed.body.items.some(({ id }) => id === made.campaignId));
  const singles = await plane.call<{ total: number }>('GET', `${P}/campaigns?kind=single`);
  t.equal(singles.body.total, 2);
  await database
    .model(phoneNumberCollection)
    .updateOne({ _id: line.numberId }, { $set: { status: 'released' } });
  await t.rejects(singleCalls.createSingle(scope, { ...call, startAt: null }), { code: 'invalid_state' });
  t.equal(await campaigns.countDocuments({ kind: 'single' }), 2, 'nothing is left behind');
  await database
    .model(phoneNumberCollection)
    .updateOne({ _id: line.numberId }, { $set: { status: 'active' } });
});
