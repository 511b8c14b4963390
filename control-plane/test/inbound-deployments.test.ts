import { randomUUID } from 'node:crypto';
import t from 'tap';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { CARRIERS, type CarrierName } from '@parley/shared/contracts/session-values';
import {
  CallNotConnectedError,
  type CarrierEmulator,
  type EmulatedCallEnd,
  type PlaceCallOptions,
} from '@parley/emulators/callers/emulated-call';
import { carrierEmulators } from '@parley/emulators/carriers/carrier-emulators';
import { systemClock } from '@parley/shared/time/clock';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { AccountSpend } from '../src/telephony/account-spend.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

// Calls at the three emulated carriers, whose documents and commands these are. There is no gateway: nobody is heard.

const PUBLIC_URL = 'https://voice.example.com';
const CALLER = '+14155559001';
const COLLEAGUE = '+14155559002';

let planeUrl = '';
const emulators = {} as Record<CarrierName, CarrierEmulator>;
for (const carrier of CARRIERS) {
  const descriptor = carrierEmulators[carrier];
  emulators[carrier] = await descriptor.open(descriptor.newAccount(), (url) =>
    url.replace(PUBLIC_URL, planeUrl).replace('wss://voice.example.com', 'ws://127.0.0.1:1'),
  );
  t.teardown(() => emulators[carrier][Symbol.asyncDispose]());
}
const plane = await openTestControlPlane({
  env: {
    PUBLIC_URL,
    PLIVO_BASE_URL: emulators.plivo.apiUrl,
    TWILIO_BASE_URL: emulators.twilio.apiUrl,
    TELNYX_BASE_URL: emulators.telnyx.apiUrl,
    SESSION_STARTS_PER_MINUTE: '0',
  },
});
planeUrl = plane.url;
const { app, bus, call, first } = plane;
t.teardown(() => plane[Symbol.asyncDispose]());
const P = `/v1/orgs/${first.org._id}/projects/${first.project._id}`;

const post = async (path: string, body: object) => {
  const headers = { 'idempotency-key': randomUUID() };
  const answer = await call<{ id: string }>('POST', `${P}${path}`, { body, headers });
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.id;
};

const agentId = await post('/agents', { name: 'Desk', config: { language: { primary: 'de-CH' } } });
const otherAgentId = await post('/agents', { name: 'Night desk' });
const scope = new Scope(app.services.database, {
  ...{ orgId: first.org._id, projectId: null, projects: null, role: 'owner' },
});

interface Line {
  accountId: string;
  number: string;
  deploymentId: string;
}

async function makeLine(carrier: CarrierName, index: number): Promise<Line> {
  const credentials: Record<string, string> = { ...emulators[carrier].credentials };
  const account = await app.services.telephonyAccounts.create(scope, 'test', '', {
    ...{ name: carrier, provider: carrier, credentials },
  });
  await app.services.telephonyAccounts.verify(scope, account);
  const number = `+1415555011${index}`;
  const phone_number_id = await post('/phone-numbers', {
    ...{ telephony_account_id: account._id, phone_number: number, mode: 'import' },
  });
  const deploymentId = await post('/inbound-deployments', {
    ...{ name: 'Line', phone_number_id, agent_id: agentId },
  });
  return { accountId: account._id, number, deploymentId };
}

const lines = {} as Record<CarrierName, Line>;
for (const [index, carrier] of CARRIERS.entries()) lines[carrier] = await makeLine(carrier, index);

const change = (carrier: CarrierName, body: object) =>
  call<{ detail: object[] }>('PATCH', `/v1/inbound-deployments/${lines[carrier].deploymentId}`, { body });

/** A call that gets no stream. */
async function ring(
  carrier: CarrierName,
  more: Partial<PlaceCallOptions> = {},
): Promise<EmulatedCallEnd & { spoken: string[] }> {
  const { accountId, number } = lines[carrier];
  const spoken: string[] = [];
  const address = (kind: 'voice' | 'status') => PUBLIC_URL + carrierCallbackPath(carrier, kind, accountId);
  try {
    await emulators[carrier].placeCall({
      ...{ voiceUrl: address('voice'), statusUrl: address('status'), from: CALLER, to: number },
      onSpoken: (text, language) => spoken.push(`${language}: ${text}`),
      ...more,
    });
  } catch (error) {
    if (error instanceof CallNotConnectedError) return { ...error.end, spoken };
    throw error;
  }
  throw new Error('The call got a stream.');
}

const sessionsOf = async (carrier: CarrierName) => {
  const answer = await call<{ items: SessionResponse[] }>('GET', `${P}/sessions?provider=${carrier}`);
  return answer.body.items;
};

/** The newest call of a line, as the API tells of it once it is over. */
async function lastCall(carrier: CarrierName) {
  const path = `/v1/sessions/${(await sessionsOf(carrier))[0]!.session_id}`;
  const [session, events] = await Promise.all([
    call<SessionResponse & { detail: { outcome: string; inbound_deployment_id: string } }>('GET', path),
    call<{ items: { type: string; data: Record<string, unknown> }[] }>('GET', `${path}/events`),
  ]);
  const told = events.body.items.map(({ type, data }) =>
    type === 'state' ? data['status'] : `${type} ${data['result'] as string}`,
  );
  return { ...session.body, outcome: session.body.detail.outcome, told, end: events.body.items.at(-1)!.data };
}

const DAY_MS = 86_400_000;
/** Whatever the timezone, today is one of them. */
const ALWAYS_CLOSED = {
  status: 'active',
  availability: null,
  closed_dates: [-DAY_MS, 0, DAY_MS].map((ms) => new Date(Date.now() + ms).toISOString().slice(0, 10)),
};
const REJECTED: Record<CarrierName, RegExp> = {
  plivo: /^3020 /,
  twilio: /^failed 603/,
  telnyx: /^call_rejected/,
};
const BUSY: Record<CarrierName, RegExp> = { plivo: /^3010 /, twilio: /^busy 486/, telnyx: /^user_busy/ };
/** Longer than a callback takes on a busy machine. */
const TALK_MS = 3000;
/** Longer than the test. */
const HELD_MS = 3_600_000;
const WORDS = 'We are closed. <Tomorrow> from 9 & on.';

for (const carrier of CARRIERS) {
  void t.test(`${carrier}: what is heard outside the hours`, async (t) => {
    await change(carrier, { ...ALWAYS_CLOSED, outside_hours: { type: 'message', message: WORDS } });
    t.match(await ring(carrier, { repeatWebhooks: true }), {
      ...{ answered: true, spoken: [`de-DE: ${WORDS}`], transferredTo: undefined },
    });
    t.equal((await sessionsOf(carrier)).length, 1, 'one call, however often it is told of');
    t.match(await lastCall(carrier), {
      ...{ status: 'ended', direction: 'inbound', agent_id: agentId, outcome: 'message' },
      ...{ ended_by: 'system', hangup_reason: 'outside_hours', failure_reason: null, started_at: null },
      detail: {
        ...{ from_number: CALLER, to_number: lines[carrier].number, post_call: { status: 'skipped' } },
        inbound_deployment_id: lines[carrier].deploymentId,
      },
      told: ['ringing', 'inbound_action begun', 'ended'],
      end: { hangup_reason: 'outside_hours', cause: String },
    });

    await change(carrier, { outside_hours: { type: 'forward', forward_to: COLLEAGUE } });
    const asked: string[] = [];
    const onTransfer = (status: 'answered' | 'no-answer') => (to: string) => {
      asked.push(to);
      // Who answers talks until the platform knows of it: callbacks that follow at once may come in another order.
      return { status, afterMs: status === 'answered' ? TALK_MS : 20 };
    };
    t.match(await ring(carrier, { onTransfer: onTransfer('answered') }), {
      ...{ source: 'target', spoken: [`de-DE: ${WORDS}`], transferredTo: COLLEAGUE },
    });
    const begun = ['ringing', 'inbound_action begun'];
    t.match(await lastCall(carrier), {
      ...{ status: 'ended', ended_by: 'carrier', hangup_reason: 'outside_hours', outcome: 'forwarded' },
      told: [...begun, 'inbound_action answered', 'ended'],
    });
    await change(carrier, { outside_hours: { message: null } });
    const unanswered = await ring(carrier, { onTransfer: onTransfer('no-answer') });
    t.match(unanswered, { answered: true, spoken: [], transferredTo: undefined });
    t.same(asked, [COLLEAGUE, COLLEAGUE]);
    t.match(await lastCall(carrier), {
      ...{ status: 'ended', outcome: 'forward_failed' },
      told: [...begun, 'inbound_action failed', 'ended'],
    });

    await change(carrier, { outside_hours: { type: 'hangup' } });
    t.match(await ring(carrier, { repeatWebhooks: true }), { answered: false, cause: REJECTED[carrier] });
    t.match(await lastCall(carrier), {
      ...{ status: 'ended', hangup_reason: 'outside_hours', outcome: 'refused' },
      told: ['ringing', 'inbound_action refused', 'ended'],
    });
    t.match(await ring(carrier, { from: '+14155559009' }), { cause: REJECTED[carrier] });
    await change(carrier, { closed_dates: [], status: 'paused' });
    t.match(await ring(carrier), { answered: false, cause: REJECTED[carrier] }, 'paused');
    await change(carrier, { outside_hours: { type: 'message', message: 'A pause.' } });
    t.match(await ring(carrier), { spoken: ['de-DE: A pause.'] });
    await change(carrier, { blocked_numbers: [CALLER] });
    t.match(await ring(carrier), { answered: false, spoken: [], cause: BUSY[carrier] }, 'blocked');
    t.match(await lastCall(carrier), { status: 'ended', hangup_reason: 'blocked', outcome: 'refused' });
    await change(carrier, { blocked_numbers: [], status: 'active' });
  });

  void t.test(`${carrier}: another agent, outside the hours and when the line is full`, async (t) => {
    /** Places a call, and waits for the session that it is. It ends with its emulator: there is nobody to answer. */
    const answeredBy = async (expected: string, what: string) => {
      const before = await sessionsOf(carrier);
      void ring(carrier);
      await eventually(async () => (await sessionsOf(carrier)).length > before.length);
      t.equal((await sessionsOf(carrier))[0]!.agent_id, expected, what);
    };
    const other = { type: 'agent', agent_id: otherAgentId };
    await change(carrier, { ...ALWAYS_CLOSED, outside_hours: other });
    await answeredBy(otherAgentId, 'outside the hours');

    await change(carrier, { closed_dates: null, overflow: { max_concurrent: 1, action: other } });
    const bucket = `inbound deployment:${lines[carrier].deploymentId}`;
    await bus.slots.take(randomUUID(), [{ bucket, limit: 1 }], HELD_MS);
    await answeredBy(otherAgentId, 'full');
    await change(carrier, { overflow: { action: { type: 'message', message: 'All are busy.' } } });
    t.match(await ring(carrier), { spoken: ['de-DE: All are busy.'] });
    await change(carrier, { overflow: { action: null } });
    t.match(await ring(carrier), { answered: false, cause: BUSY[carrier] });
    t.match(await lastCall(carrier), { status: 'ended', hangup_reason: 'overflow', outcome: 'refused' });
    await change(carrier, { overflow: { max_concurrent: 2 } });
    await answeredBy(agentId, 'not full any more');
    // A second place beside that call's own, which comes back at any moment: nobody answers it.
    await bus.slots.take(randomUUID(), [{ bucket, limit: 1000 }], HELD_MS);
    t.match(await ring(carrier), { answered: false, cause: BUSY[carrier] }, 'full again');
  });
}

void t.test('an action has what its type needs, and goes where the account may call', async (t) => {
  const refused = async (body: object, loc: (string | number)[]) => {
    const answer = await change('plivo', body);
    t.match(answer, { status: 422, body: { detail: [{ loc: ['body', ...loc] }] } }, JSON.stringify(body));
  };
  const message = (action: object) => ({ overflow: { action } });
  await refused({ outside_hours: { type: 'message' } }, ['outside_hours', 'message']);
  await refused(message({ type: 'forward' }), ['overflow', 'action', 'forward_to']);
  await refused({ outside_hours: { type: 'hangup', message: 'No.' } }, ['outside_hours', 'message']);
  const forward = (to: string) => ({ outside_hours: { type: 'forward', forward_to: to } });
  await refused(forward('+442071230000'), ['outside_hours', 'forward_to']);
  await refused(forward(lines.plivo.number), ['outside_hours', 'forward_to']);
  const nobody = { type: 'agent', agent_id: 'agt_00000000000000000000000000' };
  await refused(message(nobody), ['overflow', 'action', 'agent_id']);
  const archived = { type: 'agent', agent_id: await post('/agents', { name: 'Gone' }) };
  t.equal((await call('DELETE', `/v1/agents/${archived.agent_id}`)).status, 204);
  for (const body of [message(archived), { outside_hours: archived }])
    t.match(await change('plivo', body), { status: 409, body: { code: 'invalid_state', detail: /Gone/ } });
  const windows = [{ days: ['mon'], start: '09:00', end: '18:00' }];
  const availability = { timezone: 'Asia/Kolkata', windows };
  await refused({ availability: { ...availability, use_contact_timezone: true } }, [
    ...['availability', 'use_contact_timezone'],
  ]);
  await refused({ closed_dates: ['2026-02-30'] }, ['closed_dates', 0]);
  await refused({ overflow: { max_concurrent: 1001 } }, ['overflow', 'max_concurrent']);
  t.match(await change('plivo', { availability }), {
    status: 200,
    body: { availability: { ...availability, use_contact_timezone: false } },
  });
  t.match(await change('plivo', { availability: null }), { status: 200, body: { availability: null } });

  // Taken from the account since.
  t.equal((await change('plivo', { ...ALWAYS_CLOSED, ...forward(COLLEAGUE) })).status, 200);
  const account = (await app.services.telephonyAccounts.find(lines.plivo.accountId))!;
  await app.services.telephonyAccounts.change(scope, 'test', '', account, { allowed_countries: ['DE'] });
  t.match(await ring('plivo'), { answered: false, cause: REJECTED.plivo });
  const refusal = { status: 'failed', failure_reason: 'blocked' };
  t.match(await lastCall('plivo'), { ...refusal, told: ['ringing', 'inbound_action refused', 'failed'] });

  // Or it has spent what it may in a day: which changes nothing of what deployments may say.
  const limits = { allowed_countries: ['US'], daily_spend_limit_amount: '1.00' };
  await app.services.telephonyAccounts.change(scope, 'test', '', account, limits);
  const accountSpend = new AccountSpend({ database: app.services.database, clock: systemClock });
  const costly = { _id: randomUUID(), org_id: first.org._id, telephony_account_id: account._id };
  await accountSpend.add(costly, 2_000_000_000n);
  t.match(await ring('plivo'), { answered: false, cause: REJECTED.plivo });
  t.match(await lastCall('plivo'), refusal);
  t.equal((await change('plivo', forward('+14155559003'))).status, 200);
});

void t.test('a region of an account is refused, not ignored', async (t) => {
  const { telephonyAccounts } = app.services;
  const account = (await telephonyAccounts.find(lines.twilio.accountId))!;
  const ask = (region: string | null) => telephonyAccounts.change(scope, 'test', '', account, { region });
  const refused = await ask('ie1').catch((error: unknown) => error);
  t.match(refused, { details: [{ loc: ['body', 'region'], type: 'not_available' }] });
  t.notOk('region' in (await ask(null)));
  const read = await call('GET', `/v1/telephony-accounts/${account._id}`);
  t.match(read.body, { region: null });
});

void t.test(
  'nobody can join a call that no agent takes, and it counts as one that nobody took',
  async (t) => {
    const { sessionCredentials, sessionStore } = app.services;
    const [last] = await sessionsOf('plivo');
    const session = (await sessionStore.find(last!.session_id))!;
    await t.rejects(sessionCredentials.renew({ ...session, status: 'ringing' }), { code: 'invalid_state' });
    const { body } = await call<{ sessions: number; connected_sessions: number; total_amount: string }>(
      'GET',
      `/v1/orgs/${first.org._id}/usage/cost-summary`,
    );
    t.match(body, { connected_sessions: 0, total_amount: '0.000000' });
    t.ok(body.sessions >= CARRIERS.length * 9, `${body.sessions} calls`);
  },
);
