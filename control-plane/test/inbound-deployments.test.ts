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
import type { SessionResponse } from '../src/sessions/session-schema.ts';
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
const WORDS = 'We are closed. <Tomorrow> from 9 & on.';

for (const carrier of CARRIERS) {
  void t.test(`${carrier}: what is heard outside the hours`, async (t) => {
    await change(carrier, { ...ALWAYS_CLOSED, outside_hours: { type: 'message', message: WORDS } });
    t.match(await ring(carrier, { repeatWebhooks: true }), {
      ...{ answered: true, spoken: [`de-DE: ${WORDS}`], transferredTo: undefined },
    });

    await change(carrier, { outside_hours: { type: 'forward', forward_to: COLLEAGUE } });
    const asked: string[] = [];
    const onTransfer = (status: 'answered' | 'no-answer') => (to: string) => {
      asked.push(to);
      return { status, afterMs: 20 };
    };
    t.match(await ring(carrier, { onTransfer: onTransfer('answered') }), {
      ...{ source: 'target', spoken: [`de-DE: ${WORDS}`], transferredTo: COLLEAGUE },
    });
    await change(carrier, { outside_hours: { message: null } });
    const unanswered = await ring(carrier, { onTransfer: onTransfer('no-answer') });
    t.match(unanswered, { answered: true, spoken: [], transferredTo: undefined });
    t.same(asked, [COLLEAGUE, COLLEAGUE]);

    await change(carrier, { outside_hours: { type: 'hangup' } });
    t.match(await ring(carrier), { answered: false, cause: REJECTED[carrier] });
    t.match(await ring(carrier, { from: '+14155559009' }), { cause: REJECTED[carrier] });
    await change(carrier, { closed_dates: [], status: 'paused' });
    t.match(await ring(carrier), { answered: false, cause: REJECTED[carrier] }, 'paused');
    await change(carrier, { outside_hours: { type: 'message', message: 'A pause.' } });
    t.match(await ring(carrier), { spoken: ['de-DE: A pause.'] });
    await change(carrier, { blocked_numbers: [CALLER] });
    t.match(await ring(carrier), { answered: false, spoken: [], cause: BUSY[carrier] }, 'blocked');
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
    await bus.slots.take(randomUUID(), [{ bucket, limit: 1 }], 60_000);
    await answeredBy(otherAgentId, 'full');
    await change(carrier, { overflow: { action: { type: 'message', message: 'All are busy.' } } });
    t.match(await ring(carrier), { spoken: ['de-DE: All are busy.'] });
    await change(carrier, { overflow: { action: null } });
    t.match(await ring(carrier), { answered: false, cause: BUSY[carrier] });
    await change(carrier, { overflow: { max_concurrent: 2 } });
    await answeredBy(agentId, 'not full any more');
    // Nobody answers that call: it may be over.
    await bus.slots.take(randomUUID(), [{ bucket, limit: 2 }], 60_000);
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
});
