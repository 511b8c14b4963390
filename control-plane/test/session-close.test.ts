import { randomInt, randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { LONG } from '../../shared/test/fixtures/long.ts';
import type { CallReport } from '@parley/shared/contracts/call-events';
import { costEntryCollection } from '../src/billing/cost-entry-model.ts';
import { rateTableSchema } from '../src/billing/rate-table.ts';
import { walletEntryCollection } from '../src/billing/wallet-model.ts';
import { usageEntryCollection } from '../src/usage/usage-model.ts';
import { postCallJobCollection } from '../src/post-call/post-call-job-model.ts';
import type { Services } from '../src/features.ts';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { wsTicketCollection } from '../src/ws-tickets/ws-ticket-model.ts';
import { openMortalProcess } from './fixtures/mortal-process.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';

// Each end is tried once for every step it has (`npm run test:long`) or for one step in so many, each time by a process
// of its own.
t.setTimeout(600_000);
const STRIDE = LONG ? 1 : 12;
const FIRST_STEP = Number(process.env['SESSION_CLOSE_FIRST_STEP'] ?? randomInt(STRIDE));
t.comment(`1 in ${STRIDE} steps is a process's last: SESSION_CLOSE_FIRST_STEP=${FIRST_STEP}`);

const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({
  clock,
  env: { CONCURRENT_SESSIONS_PER_ORG: '10000', SESSION_STARTS_PER_MINUTE: '0' },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const { callEvents, database, rates, recordings, sessionCloser, sessionStore, wallets } = plane.app.services;
// Every call costs something, and is paid in advance.
const ORG = plane.first.org._id;
await rates.set(rateTableSchema.parse({ currency: 'EUR', calls: [{ per_minute: '6' }] }));
await wallets.topUp(ORG, { reference: 'first', amount: 10n ** 17n, currency: 'EUR' });
await wallets.configure(ORG, { mode: 'prepaid' }, 'EUR');
const gateway = new TestGateway(plane);
const inbox = await gateway.commands();
t.teardown(() => inbox.close());

/** A phone call that a gateway has taken up, with a ticket that nobody used. */
async function begin({ started }: { started: boolean }): Promise<TestPlan> {
  const { body: session } = await plane.call<SessionResponse>('POST', '/v1/sessions', {
    body: { channel: 'telephony', provider: 'plivo' },
  });
  const start = { carrier_call_id: randomUUID() };
  const plan = (await gateway.redeem({ ticket: session.ws_ticket!, start })).body;
  await plane.call('POST', `/v1/sessions/${plan.session_id}/token`);
  if (started) await callEvents.handle(gateway.started(plan));
  return plan;
}

/** What was taken off the balance, by session. */
async function ledger(): Promise<Map<string, bigint[]>> {
  const entries = await database
    .model(walletEntryCollection)
    .collection.find({ org_id: ORG }, { useBigInt64: true })
    .toArray();
  const taken = new Map<string, bigint[]>();
  for (const { reference, amount_nano } of entries as unknown as {
    reference: string;
    amount_nano: bigint;
  }[])
    taken.set(reference, [...(taken.get(reference) ?? []), -amount_nano]);
  return taken;
}

/** How the call was booked: amounts differ by the time that it took. */
async function bookingOf(sessionId: string) {
  const entry = await database.read(costEntryCollection, sessionId);
  const amount = BigInt(entry?.amount_nano ?? -1);
  const taken = (await ledger()).get(sessionId) ?? [];
  return {
    state: entry?.state,
    isPaidOnce: taken.length === (amount > 0n ? 1 : 0) && taken.every((one) => one === amount),
    isHeld: (await wallets.find(ORG))?.holds[sessionId] !== undefined,
    summedUp: await database
      .model(usageEntryCollection)
      .countDocuments({ _id: sessionId, amount_nano: amount }),
  };
}

/** All that the end of a call leaves behind. */
async function whatIsLeft(plan: TestPlan, eventId: string) {
  const session = (await sessionStore.find(plan.session_id))!;
  const of = async (what: string) =>
    (
      await plane.call<{ items: { type: string; data: object; text: string }[] }>(
        'GET',
        `/v1/sessions/${plan.session_id}/${what}`,
      )
    ).body.items;
  const events = await of('events?limit=200');
  const recording = await recordings.find(plan.record.recording_id);
  return {
    status: session.status,
    booking: await bookingOf(plan.session_id),
    ended_by: session.ended_by,
    failure_reason: session.failure_reason,
    erased: session.erased_at !== null,
    unfinished: [session.follow_up, session.erase_at_end],
    states: events.filter(({ type }) => type === 'state').map(({ data }) => data),
    transcript: (await of('transcript')).map(({ text }) => text),
    unusedTickets: await database
      .model(wsTicketCollection)
      .countDocuments({ session_id: plan.session_id, claimed_by: null }),
    slots: await plane.bus.slots.count(`org:${plane.first.org._id}`),
    jobs: await database.model(postCallJobCollection).countDocuments({ _id: plan.session_id }),
    recording: recording?.status,
    confirmed: inbox.all.some(({ type, args }) => type === 'report_stored' && args['event_id'] === eventId),
  };
}

/**
 * Lets a process die after steps of an end, and another one find what it left.
 * @param act the end, as a process does it, by itself or with an event
 * @param again what comes after the death
 */
async function killAfterSteps(
  t: Test,
  end: {
    started?: boolean;
    prepare?: (plan: TestPlan) => Promise<void>;
    act: (services: Services, plan: TestPlan, event: ReturnType<TestGateway['ended']>) => Promise<unknown>;
    again: (plan: TestPlan, event: ReturnType<TestGateway['ended']>) => Promise<unknown>;
    report?: Partial<CallReport>;
  },
) {
  const attempt = async (steps: number) => {
    const plan = await begin({ started: end.started ?? true });
    await end.prepare?.(plan);
    const event = gateway.ended(plan, {
      recording: { recording_id: plan.record.recording_id, status: 'stored', duration_ms: 5, size_bytes: 9 },
      ...end.report,
    } as Partial<CallReport>);
    const process = await openMortalProcess(plane);
    const survived = await process.live(steps, (services) => end.act(services, plan, event));
    await process[Symbol.asyncDispose]();
    if (!survived) await end.again(plan, event);
    return { survived, left: await whatIsLeft(plan, event.id) };
  };
  const whole = await attempt(Infinity);
  t.ok(whole.survived);
  for (let steps = FIRST_STEP; ; steps += STRIDE) {
    const { survived, left } = await attempt(steps);
    t.same(left, whole.left, `killed after ${steps} steps`);
    if (!survived) continue;
    t.ok(steps >= 7, `it has ${steps} steps`);
    return whole.left;
  }
}

const byEvent = {
  act: (services: Services, _plan: TestPlan, event: ReturnType<TestGateway['ended']>) =>
    services.callEvents.handle(event),
  again: (_plan: TestPlan, event: ReturnType<TestGateway['ended']>) => callEvents.handle(event),
};

/** No event comes again: the reaper finds what is left. */
async function reap(): Promise<void> {
  clock.advance(31_000);
  await plane.atRest();
  await sessionCloser.repair(new AbortController().signal);
}

void t.test('a report whose process dies closes the call all the same', async (t) => {
  t.match(await killAfterSteps(t, byEvent), {
    status: 'ended',
    ended_by: 'caller',
    unfinished: [false, false],
    states: [{ status: 'created' }, { status: 'in_progress' }, { status: 'ended', ended_by: 'caller' }],
    transcript: ['Hello, this is Acme.', 'I want to buy ten licences.'],
    unusedTickets: 0,
    slots: 0,
    jobs: 1,
    recording: 'ready',
    confirmed: true,
  });
});

void t.test('one of which no earlier event arrived, too', async (t) => {
  t.match(await killAfterSteps(t, { ...byEvent, started: false }), {
    states: [{ status: 'created' }, { status: 'in_progress' }, { status: 'ended' }],
    jobs: 1,
    confirmed: true,
  });
});

void t.test('one of a call that nobody answered', async (t) => {
  const report = { answered_at: null, turns: [], failure_reason: 'stt_error' } as Partial<CallReport>;
  t.match(await killAfterSteps(t, { ...byEvent, started: false, report }), {
    status: 'failed',
    states: [{ status: 'created' }, { status: 'failed', failure_reason: 'stt_error' }],
    slots: 0,
    confirmed: true,
  });
});

void t.test('one that erases the session', async (t) => {
  const prepare = async (plan: TestPlan) =>
    void (await sessionStore.change(plan.session_id, { erase_at_end: true }));
  t.match(await killAfterSteps(t, { ...byEvent, prepare }), {
    status: 'ended',
    erased: true,
    unfinished: [false, false],
    states: [{ status: 'created' }, { status: 'in_progress' }, { status: 'ended' }],
    transcript: [],
    recording: 'deleted',
    confirmed: true,
  });
});

const verdict = {
  closed_by: 'reaper' as const,
  ended_by: 'system',
  failure_reason: 'media_timeout',
};
const closeAsReaper = (services: Pick<Services, 'sessionCloser'>, plan: TestPlan) =>
  services.sessionCloser.close(plan.session_id, 'ended', {
    set: { ...verdict, ended_at: new Date(clock.now()) },
  });

void t.test('one that comes after the reaper’s verdict', async (t) => {
  const prepare = async (plan: TestPlan) => void (await closeAsReaper(plane.app.services, plan));
  t.match(await killAfterSteps(t, { ...byEvent, prepare }), {
    status: 'ended',
    ended_by: 'caller',
    failure_reason: null,
    states: [{ status: 'created' }, { status: 'in_progress' }, { status: 'ended', ended_by: 'system' }],
    jobs: 1,
    confirmed: true,
  });
});

void t.test('the reaper that ends a lost call', async (t) => {
  t.match(
    await killAfterSteps(t, {
      act: closeAsReaper,
      again: async (plan) => {
        await closeAsReaper(plane.app.services, plan);
        await reap();
      },
    }),
    { status: 'ended', unfinished: [false, false], unusedTickets: 0, slots: 0, jobs: 1, confirmed: false },
  );
});

void t.test('an erasure', async (t) => {
  t.match(
    await killAfterSteps(t, {
      prepare: async (plan) => {
        await callEvents.handle(gateway.turn(plan, 0, 'agent', 'Hello'));
        await closeAsReaper(plane.app.services, plan);
      },
      act: async (services, plan) =>
        services.sessionErasure.erase((await services.sessionStore.find(plan.session_id))!),
      again: async (plan) => {
        const session = (await sessionStore.find(plan.session_id))!;
        // Killed before the mark: whoever asked has no answer, and asks again.
        if (session.erased_at === null) await plane.app.services.sessionErasure.erase(session);
        await reap();
      },
    }),
    { erased: true, unfinished: [false, false], transcript: [], recording: 'deleted' },
  );
});

void t.test('the ledger comes to the balance', async (t) => {
  const taken = [...(await ledger()).values()].flat();
  t.ok(taken.length > 5);
  t.equal((await wallets.find(ORG))!.balance_nano, -taken.reduce((sum, amount) => sum + amount, 0n));
});
