import { randomInt, randomUUID } from 'node:crypto';
import t from 'tap';
import { signWebhook } from '@parley/shared/http/webhook-signature';
import { contactCollection } from '../src/campaigns/contact-model.ts';
import type { DialGate } from '../src/dialling/outbound-calls.ts';
import { AccountSpend } from '../src/telephony/account-spend.ts';
import { telephonyAccountCollection } from '../src/telephony/telephony-account-model.ts';
import type { CallingWindows } from '../src/calling-hours/calling-windows.ts';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { newId } from '@parley/shared/ids/new-id';
import type { OutboundOrder } from '../src/dialling/outbound-calls.ts';
import type { SessionRecord } from '../src/sessions/session-record.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openDiallingWorld } from './fixtures/dialling-world.ts';
import { openMortalProcess } from './fixtures/mortal-process.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';

/** Tried by `npm run test:long`. */
const LONG_ONLY = LONG ? {} : { skip: 'npm run test:long' };

const world = await openDiallingWorld(t, {
  env: { MAX_CONCURRENT_API_OUTBOUND_DIALS: '3', OUTBOUND_QUEUE_SIZE: '4' },
});
const { carriers, clock, media, plane, passUntil, becomes, news, session } = world;
const gateway = new TestGateway(plane);
const { bus } = plane;
const inbox = await gateway.commands();
t.teardown(() => inbox.close());
const { services } = plane.app;
const plivo = carriers.plivo;

const end = (session: SessionRecord) => plane.call('POST', `/v1/sessions/${session._id}/end`);
const goneOf = (made: SessionRecord) =>
  passUntil('the end of the dial', async () => {
    const now = await session(made._id);
    return now.dial!.state === 'gone' && now;
  });

for (const carrier of ['plivo', 'twilio', 'telnyx'] as const)
  void t.test(
    `${carrier}: a call is dialled, answered, and its media flow`,
    carrier === 'twilio' ? LONG_ONLY : {},
    async (t) => {
      const line = await world.line({ carrier });
      const machine = { verdict: 'machine', afterMs: 20_000 } as const;
      carriers[carrier].setTelephones(() => ({ does: 'answer', afterMs: 2000, machine }));
      const before = media.sockets.length;
      const queued = await world.order(line);
      t.match(queued, {
        ...{ status: 'queued', direction: 'outbound', channel: 'telephony', provider: carrier },
        ...{ from_number: line.number, slot_scopes: [] },
      });
      const call = await world.callOf(queued);
      t.equal(await bus.slots.count('api_dials'), 1, 'it is being dialled');
      const stream = await passUntil('the stream', () => Promise.resolve(media.sockets[before]));
      await passUntil('the answer', async () => (await session(queued._id)).dial!.answered_at);
      t.match(await session(queued._id), { carrier_call_id: call.callId, dial: { state: 'known' } });
      t.equal(await bus.slots.count('api_dials'), 0, 'nobody waits for an answer any more');
      t.equal(await bus.slots.count(`account:${line.accountId}`), 1, 'the call goes on');

      const ticket = stream.path.split('/').at(-1)!;
      const plan = await gateway.redeem({ ticket, start: { carrier, carrier_call_id: call.callId } });
      t.equal(plan.status, 200);
      await plane.app.services.callEvents.handle(gateway.started(plan.body));
      t.match(await session(queued._id), { status: 'in_progress' });
      t.same(plan.body.answer_detection, { deadline_ms: 6000, carrier: 'async' });
      const verdict = await passUntil('the verdict of machine detection', () =>
        Promise.resolve(
          inbox.all.find(({ type, session_id: id }) => type === 'answer_verdict' && id === queued._id),
        ),
      );
      t.same(verdict.args, { source: 'carrier', class: 'machine' });
      await plane.app.services.callEvents.handle(gateway.ended(plan.body));
      t.match(await session(queued._id), { status: 'ended', dial: { state: 'gone' } });
      t.equal(await bus.slots.count(`account:${line.accountId}`), 0);
      t.match(await news(queued), ['placed:null', 'answered:null']);
      call.hangUp();
      await call.ended;
    },
  );

void t.test('why nobody answered is told', async (t) => {
  const line = await world.line();
  for (const [does, reason] of [
    ['busy', 'busy'],
    ['refuse', 'rejected'],
    ['ring', 'no_answer'],
    ['invalid', 'invalid_number'],
  ] as const) {
    carriers.plivo.setTelephones(() => ({ does, afterMs: 1000 }));
    const failed = await becomes(await world.order(line), 'failed');
    t.match(failed, { failure_reason: reason, ended_by: 'carrier' }, does);
    const states = await services.callLog.events(failed._id, { types: ['state'], limit: 10, offset: 0 });
    t.type(failed.carrier_cause, 'string');
    t.same(states.items.at(-1)!.data['cause'], failed.carrier_cause, "the state's event has the cause");
    await passUntil('the end of the dial', async () => (await session(failed._id)).dial!.state === 'gone');
    t.equal(await bus.slots.count(`account:${line.accountId}`), 0);
  }
});

void t.test('who answers, and hangs up before the media come, has not failed to answer', async (t) => {
  const line = await world.line();
  carriers.plivo.setTelephones(() => ({ does: 'answer', afterMs: 1000 }));
  const made = await world.order(line);
  const call = await world.callOf(made);
  await passUntil('the answer', async () => (await session(made._id)).dial!.answered_at);
  call.hangUp();
  t.match(await becomes(made, 'failed'), { failure_reason: 'media_timeout', ended_by: 'carrier' });
});

void t.test('a call that waits is cancelled, and nobody is called', async (t) => {
  const line = await world.line();
  const waits = await world.order(line, { notBefore: new Date(clock.now() + 3_600_000) });
  t.equal((await end(waits)).status, 202);
  t.match(await goneOf(waits), { status: 'cancelled', ended_by: 'api' });
  t.equal((await end(waits)).status, 409);
  t.same(await news(waits), []);
});

void t.test('a call that rings is cancelled at its carrier', async (t) => {
  for (const carrier of ['plivo', 'twilio', 'telnyx'] as const) {
    const line = await world.line({ carrier });
    carriers[carrier].setTelephones(() => ({ does: 'ring', afterMs: 0 }));
    const made = await world.order(line);
    const call = await world.callOf(made);
    await passUntil('the call to be known', async () => (await session(made._id)).dial!.state === 'known');
    t.equal((await end(made)).status, 202);
    t.match(await call.ended, { source: 'api', answered: false }, carrier);
    t.match(await goneOf(made), { status: 'cancelled' });
    t.equal(await bus.slots.count('api_dials'), 0);
  }
});

void t.test('a call whose request has no answer yet is cancelled once it is known', async (t) => {
  const line = await world.line();
  plivo.setTelephones(() => ({ does: 'ring', afterMs: 0, requestUnanswered: true }));
  plivo.setFaults([{ kind: 'callback_late', delayMs: 3000 }]);
  const made = await world.order(line);
  const call = await world.callOf(made);
  t.equal((await end(made)).status, 202);
  t.match(await session(made._id), { status: 'cancelled', dial: { state: 'sent' } });
  let ended = false;
  void call.ended.then(() => (ended = true));
  await passUntil('its first callback', () => Promise.resolve(ended));
  t.match(await call.ended, { source: 'api', answered: false });
  plivo.setFaults([]);
  await passUntil('the end of the dial', async () => (await session(made._id)).dial!.state === 'gone', 5000);
});

void t.test('what the carrier placed without an answer is known by its callbacks', LONG_ONLY, async (t) => {
  const line = await world.line();
  plivo.setTelephones(() => ({ does: 'answer', afterMs: 1000, requestUnanswered: true }));
  const made = await world.order(line);
  const call = await world.callOf(made);
  await passUntil('the answer', async () => (await session(made._id)).dial!.answered_at);
  t.match(await session(made._id), { carrier_call_id: call.callId, dial: { state: 'known', tries: 1 } });
  call.hangUp();
  t.match(await becomes(made, 'failed'), { ended_by: 'carrier' });
});

void t.test('only what was certainly not placed is dialled again, as the same attempt', async (t) => {
  const line = await world.line();
  plivo.setTelephones(() => ({ does: 'answer', afterMs: 1000 }));
  plivo.setFaults([{ kind: 'dial_lost', count: 1 }]);
  const made = await world.order(line);
  const call = await world.callOf(made);
  await passUntil('the answer', async () => (await session(made._id)).dial!.answered_at);
  t.match(await session(made._id), { attempt_number: 1, carrier_call_id: call.callId, dial: { tries: 2 } });
  const told = await passUntil('the news', async () => {
    const all = await news(made);
    return all.length === 4 && all;
  });
  t.same(told.sort(), ['answered:null', 'not_placed:null', 'placed:null', 'unknown:null']);
  call.hangUp();
  await becomes(made, 'failed');

  plivo.setFaults([{ kind: 'rate_limit', count: 1 }]);
  const again = await world.order(line);
  (await world.callOf(again)).hangUp();
  t.match((await news(again))[0], /^refused/);
  await passUntil('its end', async () => (await session(again._id)).dial!.state === 'gone');
  plivo.setFaults([]);
});

void t.test('a call of which nothing is heard is given up', LONG_ONLY, async (t) => {
  const line = await world.line();
  plivo.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  plivo.setFaults([{ kind: 'callback_lost' }]);
  const made = await world.order(line);
  t.match(await becomes(made, 'failed', 2000), { failure_reason: 'carrier_error', ended_by: 'system' });
  t.match(await news(made), ['placed:null', 'given_up:carrier_error']);
  await goneOf(made);
  plivo.setFaults([]);
});

void t.test('nobody is called outside the hours, nor after a week of them', LONG_ONLY, async (t) => {
  const line = await world.line();
  plivo.setTelephones(() => ({ does: 'busy', afterMs: 1000 }));
  const opensIn = (ms: number): CallingWindows => {
    const opening = new Date(clock.now() + ms);
    const day = (['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[opening.getUTCDay()]!;
    const start = opening.toISOString().slice(11, 16);
    return { timezone: 'UTC', use_contact_timezone: false, windows: [{ days: [day], start, end: '24:00' }] };
  };
  const callingHours = opensIn(30 * 60_000);
  const made = await world.order(line, { callingHours });
  const waits = await passUntil('the wait', async () => {
    const now = await session(made._id);
    return now.dial!.not_before > now.dial!.queued_at && now;
  });
  t.equal(waits.dial!.not_before.toISOString().slice(11, 16), callingHours.windows[0]!.start);
  const waited = waits.dial!.not_before.getTime() - waits.dial!.queued_at.getTime();
  const room = waits.dial!.give_up_at!.getTime() - waits.dial!.queued_at.getTime();
  t.ok(room > waited + 14 * 60_000, 'the wait is no time in the queue');
  const ended = await becomes(made, 'failed', 60_000);
  t.equal(ended.failure_reason, 'busy', 'it was called then');

  const never = { ...callingHours, windows: [{ ...callingHours.windows[0]!, start: '00:00', end: '00:01' }] };
  const late = await world.order(line, { callingHours: never });
  const dial = { ...late.dial!, queued_at: new Date(clock.now() - 8 * 86_400_000) };
  await services.sessionStore.change(late._id, { dial: { ...dial, not_before: new Date(clock.now()) } });
  t.match(await becomes(late, 'failed', 1000), { failure_reason: 'outside_hours' });
});

void t.test('an agent calls from its number, for as long and at the hours that it says', async (t) => {
  const other = await world.line();
  const windows = [{ days: ['mon'], start: '09:00', end: '10:00' }];
  const telephony = {
    ...{ phone_number_id: other.numberId, ring_timeout_seconds: 44 },
    calling_hours: { timezone: 'UTC', windows },
  };
  const line = await world.line({ config: { telephony } });
  const made = await world.order(line, { numberIds: [], notBefore: new Date(clock.now() + 3_600_000) });
  t.match(made, { from_number: other.number, dial: { ring_timeout_seconds: 44 } });
  t.match(JSON.parse(made.dial!.calling_hours!), { timezone: 'UTC', windows });
  await end(made);
});

void t.test('calls that nobody took are told of where the agent wants it', async (t) => {
  plivo.setTelephones(() => ({ does: 'busy', afterMs: 100 }));
  const told = async (include_unanswered: boolean) => {
    const call_ended = { enabled: true, url: 'https://example.com/crm', include_unanswered };
    const line = await world.line({ config: { webhooks: { call_ended } } });
    const made = await becomes(await world.order(line), 'failed');
    await goneOf(made);
    const { body } = await plane.call<{ items: object[] }>(
      'GET',
      `/v1/agents/${line.agentId}/webhook-deliveries?session_id=${made._id}`,
    );
    return body.items.length;
  };
  t.same([await told(true), await told(false)], [1, 0]);
});

void t.test('whom an org or an account must not call is not called', async (t) => {
  const line = await world.line({ account: { allowed_countries: ['US'] } });
  t.match(await becomes(await world.order(line), 'failed'), {
    failure_reason: 'blocked',
    ended_by: 'system',
  });
  const open = await world.line();
  const to = '+442071239942';
  const earlier = {
    ...(await world.order(open, { notBefore: new Date(clock.now() + 60_000) })),
    to_number: to,
  };
  await services.suppressions.addFromCall(earlier, { id: newId('evt'), reason: 'asked' });
  await end(earlier);
  t.match(await becomes(await world.order(open, { to }), 'failed'), { failure_reason: 'blocked' });
});

void t.test('a number that has called enough today leaves the calls to others', LONG_ONLY, async (t) => {
  const line = await world.line({ number: { daily_call_limit: 1 } });
  const other = await world.line({ number: { daily_call_limit: 1 } });
  plivo.setTelephones(() => ({ does: 'busy', afterMs: 100 }));
  const numberIds = [line.numberId, other.numberId];
  const shown: (string | null)[] = [];
  for (let i = 0; i < 2; i++)
    shown.push((await becomes(await world.order(line, { numberIds }), 'failed')).from_number);
  t.same(shown.sort(), [line.number, other.number].sort());
  const third = await world.order(line, { numberIds });
  const tomorrow = new Date(Math.ceil((clock.now() + 1) / 86_400_000) * 86_400_000);
  await passUntil('the wait', async () => (await session(third._id)).dial!.not_before >= tomorrow);
  await end(third);
});

void t.test(
  'a number that may not call, an account that is off, an empty wallet, a full queue',
  async (t) => {
    const silent = await world.line({ number: { outbound_enabled: false } });
    await t.rejects(world.order(silent), { code: 'invalid_state' });
    const line = await world.line();
    const orgId = plane.first.org._id;
    await services.wallets.configure(orgId, { mode: 'prepaid' }, 'USD');
    await t.rejects(world.order(line), { code: 'insufficient_balance' });
    await services.wallets.configure(orgId, { mode: 'unlimited' }, 'USD');
    const notBefore = new Date(clock.now() + 3_600_000);
    const waiting = [];
    for (let i = 0; i < 4; i++) waiting.push(await world.order(line, { notBefore }));
    await t.rejects(world.order(line), { code: 'queue_full', status: 429 });
    const wish = { agent_id: line.agentId, to_number: '+442071239999' };
    const full = { status: 429, body: { code: 'queue_full' } };
    const asked = await plane.call('POST', '/v1/campaigns/start-call', { body: wish });
    t.match(asked, full);
    t.equal(asked.headers.get('retry-after'), '10');
    const webhook = `/api/v1/webhooks/agents/${line.agentId}`;
    const { body } = await plane.call<{ secret: string }>('POST', `${webhook}/rotate-secret`);
    const text = JSON.stringify({ to_number: wish.to_number });
    const told = await plane.call('POST', `${webhook}/incoming`, {
      ...{ body: Buffer.from(text), token: null },
      headers: { 'x-webhook-signature': signWebhook(body.secret, text, clock.now()) },
    });
    t.match(told, full);
    t.equal(
      await services.database.model(contactCollection).countDocuments({ phone_number: wish.to_number }),
      0,
      'nothing is left of them',
    );
    const ofCampaign = { kind: 'campaign', campaignId: newId('cmp'), source: 'campaign', notBefore } as const;
    const campaign = await world.order(line, ofCampaign);
    t.equal(await services.outboundCalls.withdraw({ campaignId: ofCampaign.campaignId }), 1);
    t.match(await session(campaign._id), { status: 'cancelled' });
    await Promise.all(waiting.map(end));
  },
);

void t.test('clients have few dials at a time, and outbound calls leave room for inbound ones', async (t) => {
  const line = await world.line({ account: { max_concurrent_calls: 6 } });
  plivo.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  const states = async (made: SessionRecord[]) =>
    (await Promise.all(made.map(({ _id }) => session(_id)))).filter(({ status }) => status !== 'queued')
      .length;
  const first = await Promise.all([1, 2, 3, 4].map(() => world.order(line)));
  await passUntil('three dials', async () => (await states(first)) === 3);
  await services.outboundCalls.withdraw({ campaignId: 'none' });
  const account = `account:${line.accountId}`;
  t.equal(await bus.slots.count('api_dials'), 3);
  const campaign = { kind: 'campaign', source: 'campaign', campaignId: newId('cmp') } as const;
  const more = await Promise.all([1, 2, 3].map(() => world.order(line, campaign)));
  await passUntil('one more call', async () => (await states(more)) === 1);
  t.equal(await bus.slots.count(account), 4, 'a fifth of six is left free');
  await end(first.find(({ _id }) => _id !== first.at(-1)!._id)!);
  await passUntil('the next', async () => (await states(first)) >= 4);
  for (const one of [...first, ...more]) await end(one);
  await Promise.all([...first, ...more].map(goneOf));
  t.equal(await bus.slots.count(account), 0);
});

void t.test('a call that may be dialled waits a quarter of an hour at most', LONG_ONLY, async (t) => {
  const line = await world.line({ account: { max_concurrent_calls: 1 } });
  const account = [{ bucket: `account:${line.accountId}`, limit: 1 }];
  await bus.slots.take('somebody else', account, 3_600_000);
  const campaign = { kind: 'campaign', source: 'campaign', campaignId: newId('cmp') } as const;
  const waiting = [await world.order(line), await world.order(line, campaign)];
  for (const made of waiting) {
    const failed = await becomes(made, 'failed', 20_000);
    t.match(failed, { failure_reason: 'queue_timeout', ended_by: 'system' });
    const waited = failed.ended_at!.getTime() - failed.created_at.getTime();
    t.ok(waited >= 15 * 60_000 && waited < 16 * 60_000);
    t.same(await news(made), []);
  }
});

void t.test('time in which a call of a campaign may not be dialled is no time in the queue', async (t) => {
  const line = await world.line();
  const until = clock.now() + 3_600_000;
  const gate: DialGate = {
    name: 'closed',
    check: (_, nowMs) => Promise.resolve(nowMs < until ? { pass: false, until } : { pass: true }),
  };
  const { dialGates } = services;
  dialGates.push(gate);
  const campaign = { kind: 'campaign', source: 'campaign', campaignId: newId('cmp') } as const;
  const made = await world.order(line, campaign);
  t.equal(made.dial!.give_up_at!.getTime() - made.dial!.queued_at.getTime(), 15 * 60_000);
  const waits = await passUntil('the wait', async () => {
    const { dial } = await session(made._id);
    return dial!.not_before.getTime() === until && dial;
  });
  t.ok(waits.give_up_at!.getTime() >= until + 14 * 60_000);
  dialGates.splice(dialGates.indexOf(gate), 1);
  t.equal(await services.outboundCalls.withdraw({ campaignId: campaign.campaignId }), 1);
});

void t.test('a carrier that has no room is asked less and less often', async (t) => {
  const line = await world.line();
  plivo.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  plivo.setFaults([{ kind: 'refuse', status: 429, count: 3 }]);
  t.teardown(() => plivo.setFaults([]));
  const made = await world.order(line);
  const waits = await passUntil('the third refusal', async () => {
    const { dial } = await session(made._id);
    return dial!.tries === 3 && dial!.state === 'waiting' && dial;
  });
  t.ok(waits.not_before.getTime() - clock.now() > 4000);
  await becomes(made, 'ringing');
  await end(made);
});

void t.test('time in which the account of a single call is off is time in the queue', async (t) => {
  const line = await world.line();
  const notBefore = new Date(clock.now() + 1000);
  const campaign = { kind: 'campaign', source: 'campaign', campaignId: newId('cmp'), notBefore } as const;
  const [single, ofCampaign] = [await world.order(line, { notBefore }), await world.order(line, campaign)];
  await services.database
    .model(telephonyAccountCollection)
    .updateOne({ _id: line.accountId }, { $set: { status: 'disabled' } });
  const extendedBy = async ({ _id, dial }: SessionRecord) => {
    const waits = await passUntil('the wait', async () => {
      const now = (await session(_id)).dial!;
      return now.not_before > notBefore && now;
    });
    return waits.give_up_at!.getTime() - dial!.give_up_at!.getTime();
  };
  t.equal(await extendedBy(single), 0);
  t.ok((await extendedBy(ofCampaign)) >= 30_000);
  await end(single);
  t.equal(await services.outboundCalls.withdraw({ campaignId: campaign.campaignId }), 1);
});

void t.test("an org's own limits let its calls wait, or refuse them", async (t) => {
  const tenant = await plane.makeTenant();
  const token = tenant.apiKey;
  const line = await world.line({ tenant });
  const limit = (body: object) =>
    plane.call<{ id: string }>('POST', `/v1/orgs/${tenant.org._id}/rate-limit-configs`, { body, token });
  const lift = (id: string) => plane.call('DELETE', `/v1/rate-limit-configs/${id}`, { token });
  const hangUp = (made: SessionRecord) => plane.call('POST', `/v1/sessions/${made._id}/end`, { token });
  const isDialled = async ({ _id }: SessionRecord) => (await session(_id)).status !== 'queued';
  plivo.setTelephones(() => ({ does: 'ring', afterMs: 0 }));

  const one = await limit({
    ...{ resource: 'concurrent_outbound', limit: 1, action: 'queue', agent_id: line.agentId },
  });
  t.match(one, { status: 201, body: { action: 'queue' } });
  const waiting = [await world.order(line), await world.order(line)];
  await passUntil('a call', async () => (await Promise.all(waiting.map(isDialled))).includes(true));
  await plane.atRest();
  const dialled = await Promise.all(waiting.map(isDialled));
  t.equal(dialled.filter(Boolean).length, 1, 'the other one waits');
  const next = waiting[dialled.indexOf(false)]!;
  const patch = (action: string) =>
    plane.call('PATCH', `/v1/rate-limit-configs/${one.body.id}`, { body: { action }, token });
  t.match(await patch('reject'), { status: 200, body: { action: 'reject' } });
  await t.rejects(world.order(line), { status: 429, code: 'concurrency_limit' });
  t.match(await patch('queue'), { status: 200, body: { action: 'queue' } });
  await hangUp(waiting[dialled.indexOf(true)]!);
  await passUntil('the other one', () => isDialled(next));
  await lift(one.body.id);
  const busy = await limit({
    resource: 'concurrent_outbound',
    limit: 1,
    telephony_account_id: line.accountId,
  });
  await services.outboundCalls.withdraw({ campaignId: 'none' });
  await hangUp(next);
  await goneOf(next);
  const only = await world.order(line);
  await passUntil('the only one', () => isDialled(only));
  await t.rejects(world.order(line), { code: 'concurrency_limit', status: 429 });
  await hangUp(only);
  await goneOf(only);
  await lift(busy.body.id);

  const pace = { resource: 'outbound_dials', limit: 60, window_seconds: 3600 };
  const minute = await limit({ ...pace, action: 'queue' });
  const paced = [await world.order(line), await world.order(line)];
  const sent = await passUntil('both', async () => {
    const now = await Promise.all(paced.map(({ _id }) => session(_id)));
    return now.every(({ dial }) => dial!.sent_at) && now.map(({ dial }) => dial!.sent_at!.getTime());
  });
  const apart = Math.abs(sent[0]! - sent[1]!);
  t.ok(apart >= 59_000 && apart <= 65_000, `a minute apart (${apart} ms)`);
  for (const made of paced) await hangUp(made);
  await lift(minute.body.id);
  await limit({ ...pace, limit: 1, window_seconds: 86_400, agent_id: line.agentId });
  await hangUp(await world.order(line));
  await t.rejects(world.order(line), { code: 'rate_limited', status: 429 });

  for (const wrong of [
    { resource: 'session_starts', limit: 1, window_seconds: 60, action: 'queue' },
    { resource: 'concurrent_outbound', limit: 1, window_seconds: 60 },
    { resource: 'outbound_dials', limit: 1 },
    { resource: 'outbound_dials', limit: 1_000_000, window_seconds: 1 },
  ])
    t.equal((await limit(wrong)).status, 422, JSON.stringify(wrong));
  const starts = await limit({ resource: 'session_starts', limit: 1, window_seconds: 60 });
  const path = `/v1/rate-limit-configs/${starts.body.id}`;
  t.match(await plane.call('PATCH', path, { body: { action: 'queue' }, token }), { status: 422 });
  await lift(starts.body.id);
});

void t.test('an account that has spent enough today calls tomorrow', async (t) => {
  const line = await world.line({ account: { daily_spend_limit_amount: '0.50' } });
  plivo.setTelephones(() => ({ does: 'busy', afterMs: 100 }));
  const spent = { _id: newId('req'), org_id: plane.first.org._id, telephony_account_id: line.accountId };
  const spend = new AccountSpend({ database: services.database, clock });
  await spend.add(spent, 499_999_999n);
  await becomes(await world.order(line), 'failed');
  t.equal(await services.telephonyAccounts.mayCall(line.accountId, '+442071230000'), true);
  await spend.add({ ...spent, _id: newId('req') }, 1n);
  await spend.add(spent, 499_999_999n);
  const made = await world.order(line);
  const tomorrow = new Date(Math.ceil((clock.now() + 1) / 86_400_000) * 86_400_000);
  await passUntil('the wait', async () => (await session(made._id)).dial!.not_before >= tomorrow);
  t.equal(
    await services.telephonyAccounts.mayCall(line.accountId, '+442071230000'),
    false,
    'no transfer either',
  );
  await end(made);
});

/** A caller whom an agent speaks with, and a gateway's hands on both calls of a warm transfer. */
async function talk(line: Line, order: Partial<OutboundOrder> = {}) {
  const made = await world.order(line, order);
  return { made, ...(await taken(made, line.carrier)) };
}

/** Takes a call up whose stream comes next. */
async function taken(made: SessionRecord, carrier: CarrierName) {
  const before = media.sockets.length;
  const call = await world.callOf(made);
  const socket = await passUntil('the stream', () => Promise.resolve(media.sockets[before]));
  await passUntil('the answer', async () => (await session(made._id)).dial!.answered_at);
  const ticket = socket.path.split('/').at(-1)!;
  const { body: plan } = await gateway.redeem({
    ticket,
    start: { carrier, carrier_call_id: call.callId },
  });
  await services.callEvents.handle(gateway.started(plan));
  return { call, socket, plan };
}

type Line = Awaited<ReturnType<typeof world.line>> & { carrier: CarrierName };

/** The agent asks for somebody to be called, and the caller waits. */
async function consult(plan: TestPlan, args: object = {}) {
  const transferId = randomUUID();
  const to = `+4420712399${String(++lastTarget)}`;
  const about = { transfer_id: transferId, destination_id: 'sales' };
  await services.callEvents.handle(gateway.event(plan, 'transfer', { ...about, phase: 'begun' }));
  const command = gateway.event(plan, 'carrier_command', {
    command_id: `c-${transferId}`,
    action: 'consult',
    brief: 'Ada wants to buy.',
    args: { ...about, to, ring_timeout_seconds: 20, ...args },
  });
  await services.callEvents.handle(command);
  return { transferId, to, outcome: await outcomeOf(`c-${transferId}`) };
}
let lastTarget = 10;

const outcomeOf = async (id: string) =>
  (await inbox.next('carrier_result', ({ args }) => args['command_id'] === id)).args;
const ask = async (plan: TestPlan, action: 'bridge' | 'consult_cancel', transfer_id: string) => {
  const command_id = `c-${randomUUID()}`;
  const data = { command_id, action, args: { transfer_id } };
  await services.callEvents.handle(gateway.event(plan, 'carrier_command', data));
  return outcomeOf(command_id);
};
const resultOf = async (transferId: string) =>
  (await inbox.next('consult_result', ({ args }) => args['transfer_id'] === transferId)).args;
const phasesOf = async ({ _id }: SessionRecord) =>
  (await services.callLog.events(_id, { types: ['transfer'], limit: 50, offset: 0 })).items.map(
    ({ data }) => data['phase'],
  );

for (const carrier of ['plivo', 'twilio', 'telnyx'] as const)
  void t.test(`${carrier}: a caller waits until somebody takes them, and is connected`, async (t) => {
    const line = { ...(await world.line({ carrier })), carrier };
    carriers[carrier].setTelephones(() => ({ does: 'answer', afterMs: 2000 }));
    const caller = await talk(line);
    const { transferId, to, outcome } = await consult(caller.plan);
    t.match(outcome, { ok: true });
    const child = await session(transferId);
    t.match(child, {
      ...{ parent_session_id: caller.made._id, to_number: to, from_number: line.number, variables: {} },
      ...{ record: false, store_transcript: false, dial: { kind: 'transfer', priority: 0 } },
    });
    const target = await taken(child, carrier);
    t.match(target.plan, {
      consult: { transfer_id: transferId, extension: null, brief: 'Ada wants to buy.' },
      ...{ tools: [], memories: [], record: { enabled: false } },
      answer_detection: { carrier: 'async' },
    });
    t.match(await session(caller.made._id), { status: 'transferring' });
    t.match(await ask(target.plan, 'bridge', transferId), { ok: true });
    t.match(await resultOf(transferId), { result: 'accepted' });
    t.match(await ask(caller.plan, 'consult_cancel', transferId), { ok: false, code: 'bridged' });
    // Both gateways leave; on Twilio the carrier has taken the streams already.
    for (const { socket } of [target, caller]) socket.socket.close();
    const left = { ended_by: 'agent', hangup_reason: 'transferred' };
    await services.callEvents.handle(gateway.ended(target.plan, left));
    await services.callEvents.handle(
      gateway.event(caller.plan, 'transfer', { transfer_id: transferId, phase: 'bridged' }),
    );
    await services.callEvents.handle(gateway.ended(caller.plan, left));
    t.match(await session(caller.made._id), { status: 'ended', hangup_reason: 'transferred' });
    t.same((await phasesOf(caller.made)).toSorted(), ['begun', 'bridged', 'briefing', 'ringing']);
    target.call.hangUp();
    let ended = 0;
    for (const { call } of [caller, target]) void call.ended.then(() => ended++);
    await passUntil('the end of both calls', () => Promise.resolve(ended === 2));
    t.match(await session(transferId), {
      consult: { state: 'over', brief: '' },
      post_call_status: 'skipped',
    });

    const listed = await plane.call<{ items: { session_id: string }[] }>(
      'GET',
      `/v1/orgs/${child.org_id}/projects/${child.project_id}/sessions?agent_id=${line.agentId}`,
    );
    t.same(
      listed.body.items.map(({ session_id: id }) => id),
      [caller.made._id],
      'the call to who took the caller is in no list',
    );
  });

// A step is a process's last, each time one of its own: all of them by `npm run test:long`.
void t.test('who connects two calls may die at any step, and they are connected', async (t) => {
  const line = { ...(await world.line()), carrier: 'plivo' as const };
  const stride = LONG ? 1 : 14;
  let lived = false;
  for (let steps = 1 + randomInt(stride); !lived; steps += stride) {
    carriers.plivo.setTelephones(() => ({ does: 'answer', afterMs: 2000 }));
    const caller = await talk(line);
    const { transferId } = await consult(caller.plan);
    const target = await taken(await session(transferId), 'plivo');
    const command_id = `bridge-${transferId}`;
    const data = { command_id, action: 'bridge' as const, args: { transfer_id: transferId } };
    const event = gateway.event(target.plan, 'carrier_command', data);
    const mortal = await openMortalProcess(plane);
    lived = await mortal.live(steps, ({ callEvents }) => callEvents.handle(event));
    await mortal[Symbol.asyncDispose]();
    // Nobody has confirmed the event: another process gets it.
    if (!lived) await services.callEvents.handle(event);
    t.match(await outcomeOf(command_id), { ok: true }, `${steps} steps: who was called is told`);
    t.match(await resultOf(transferId), { result: 'accepted' }, `${steps} steps: so is the caller's gateway`);
    t.match(await session(transferId), { consult: { state: 'bridged' } });
    for (const { socket } of [target, caller]) socket.socket.close();
    for (const { plan } of [target, caller])
      await services.callEvents.handle(
        gateway.ended(plan, { ended_by: 'agent', hangup_reason: 'transferred' }),
      );
    target.call.hangUp();
    await passUntil('the end', async () => (await session(transferId)).consult!.state === 'over');
  }
});

void t.test('nobody takes the caller, who is told why by their agent', async (t) => {
  const line = { ...(await world.line()), carrier: 'plivo' as const };
  plivo.setTelephones(() => ({ does: 'answer', afterMs: 1000 }));
  const caller = await talk(line);
  plivo.setTelephones(() => ({ does: 'busy', afterMs: 1000 }));
  const busy = await consult(caller.plan);
  await passUntil('the word of it', () =>
    Promise.resolve(inbox.all.some(({ args }) => args['transfer_id'] === busy.transferId)),
  );
  t.match(await resultOf(busy.transferId), { result: 'no_answer', code: 'busy' });

  t.match((await consult(caller.plan, { to: '+33140205050' })).outcome, { ok: false, code: 'blocked' });
  t.match((await consult(caller.plan, { to: '12' })).outcome, { ok: false, code: 'invalid_number' });

  const to = '+442071239990';
  await services.suppressions.addComplainant(caller.made.org_id, to);
  const told = (id: string) =>
    passUntil('the word of it', () =>
      Promise.resolve(inbox.all.find(({ args }) => args['transfer_id'] === id)?.args),
    );
  const suppressed = await consult(caller.plan, { to });
  t.match(await told(suppressed.transferId), { code: 'blocked' }, 'nobody calls who is not to be called');
  const blind = { to, transfer_id: randomUUID(), destination_id: 'sales' };
  const command = { command_id: 'c-blind', action: 'transfer' as const, args: blind };
  await services.callEvents.handle(gateway.event(caller.plan, 'carrier_command', command));
  t.match(await outcomeOf('c-blind'), { ok: false, code: 'blocked' }, 'nor does the carrier for them');

  plivo.setTelephones(() => ({ does: 'answer', afterMs: 1000 }));
  const declined = await consult(caller.plan);
  const target = await taken(await session(declined.transferId), 'plivo');
  const no = { ended_by: 'caller', hangup_reason: 'caller_hangup' };
  await services.callEvents.handle(gateway.ended(target.plan, no));
  t.match(await resultOf(declined.transferId), { result: 'declined' });
  t.match(await ask(target.plan, 'bridge', declined.transferId), { ok: false, code: 'not_wanted' });
  target.call.hangUp();
  caller.call.hangUp();

  const one = { resource: 'concurrent_sessions', limit: 1, agent_id: line.agentId };
  const token = plane.first.apiKey;
  const limits = `/v1/orgs/${caller.made.org_id}/rate-limit-configs`;
  const { body } = await plane.call<{ id: string }>('POST', limits, { body: one, token });
  const only = await talk(line);
  const full = await consult(only.plan);
  t.match(await told(full.transferId), { code: 'queue_timeout' }, 'the caller has the only place');
  await plane.call('DELETE', `/v1/rate-limit-configs/${body.id}`, { token });
  only.call.hangUp();
});

void t.test('a caller who is gone is waited for by nobody', async (t) => {
  const line = { ...(await world.line()), carrier: 'plivo' as const };
  plivo.setTelephones(() => ({ does: 'answer', afterMs: 1000 }));
  const caller = await talk(line);
  plivo.setTelephones(() => ({ does: 'ring', afterMs: 0 }));
  const rings = await consult(caller.plan);
  const child = await session(rings.transferId);
  const call = await world.callOf(child);
  await passUntil('the call to be known', async () => (await session(child._id)).dial!.state === 'known');
  const again = gateway.event(caller.plan, 'carrier_command', {
    ...{ command_id: `again-${rings.transferId}`, action: 'consult' },
    args: { transfer_id: rings.transferId, to: rings.to },
  });
  await services.callEvents.handle(again);
  t.match(await outcomeOf(`again-${rings.transferId}`), { ok: true }, 'the same transfer, and no other call');
  t.match(await ask(caller.plan, 'consult_cancel', rings.transferId), { ok: true });
  t.match(await call.ended, { source: 'api', answered: false });
  t.match(await session(child._id), { status: 'cancelled', consult: { state: 'over', brief: '' } });

  // A process died before its gateway could say anything: the end of the session does.
  const lost = await consult(caller.plan);
  const other = await world.callOf(await session(lost.transferId));
  await passUntil(
    'the call to be known',
    async () => (await session(lost.transferId)).dial!.state === 'known',
  );
  await services.callEvents.handle(gateway.ended(caller.plan));
  t.match(await other.ended, { source: 'api', answered: false });
  t.match(await session(lost.transferId), { status: 'cancelled' });
  caller.call.hangUp();
});
