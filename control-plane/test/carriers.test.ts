import { createHmac, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import t from 'tap';
import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { carriers } from '../src/carriers/carriers.ts';
import { signatureBase } from '../src/carriers/plivo/plivo-signature.ts';
import { Scope } from '../src/tenancy/scope.ts';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { eventually, openLoopbackServer, type Received } from './fixtures/loopback-server.ts';
import { answerAboutNumbers } from './fixtures/owned-numbers.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import { signInUser } from './fixtures/test-users.ts';

const carrierApi = await openLoopbackServer(
  (request) =>
    answerAboutNumbers(request) ??
    (request.path.includes('unauthorized')
      ? { status: 401, body: { error: 'no' } }
      : request.path.includes('refused')
        ? { status: 403, body: { error: 'no' } }
        : { status: 202, body: {} }),
);
t.teardown(() => carrierApi[Symbol.asyncDispose]());
const PUBLIC_URL = 'https://voice.example.com';
const plane = await openTestControlPlane({
  env: {
    PUBLIC_URL,
    PLIVO_BASE_URL: carrierApi.url,
    TWILIO_BASE_URL: carrierApi.url,
    TELNYX_BASE_URL: carrierApi.url,
    SESSION_STARTS_PER_MINUTE: '0',
  },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const { services } = plane.app;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
const telnyxKeys = generateKeyPairSync('ed25519');

const SECRETS = {
  plivo: { auth_id: 'MAFAKE', auth_token: 'plivo-token' },
  twilio: { account_sid: 'AC01', auth_token: 'twilio-token' },
  telnyx: {
    api_key: 'KEY-telnyx',
    public_key: telnyxKeys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64'),
  },
};

interface Line {
  accountId: string;
  number: string;
  agentId: string;
  deploymentId: string;
}

let lastNumber = 4155550100;

/** An account with a number that an agent answers. */
async function makeLine(carrier: CarrierName, deployment: object = {}, agent: object = {}): Promise<Line> {
  const scope = new Scope(services.database, {
    orgId: plane.first.org._id,
    projectId: null,
    projects: null,
    role: 'owner',
  });
  const account = await services.telephonyAccounts.create(scope, 'test', '', {
    name: carrier,
    provider: carrier,
    credentials: SECRETS[carrier],
  });
  await services.telephonyAccounts.verify(scope, account);
  const phone = `+1${++lastNumber}`;
  const post = async (path: string, body: object) => {
    const answer = await plane.call<{ id: string }>('POST', `${P}${path}`, {
      body,
      headers: { 'idempotency-key': randomUUID() },
    });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.id;
  };
  const agentId = await post('/agents', { name: `Agent ${randomUUID()}`, ...agent });
  const phone_number_id = await post('/phone-numbers', {
    telephony_account_id: account._id,
    phone_number: phone,
    mode: 'import',
  });
  const deploymentId = await post('/inbound-deployments', {
    name: 'Line',
    phone_number_id,
    agent_id: agentId,
    ...deployment,
  });
  return { accountId: account._id, number: phone, agentId, deploymentId };
}

interface Callback {
  carrier: CarrierName;
  accountId: string;
  kind?: 'voice' | 'status' | 'stream' | 'recording' | 'amd';
  query?: string;
  /** Form fields, or for Telnyx the event's payload. */
  fields: Record<string, string>;
  event?: string;
  /** For Telnyx: the address that the body says it was delivered to. */
  deliveredTo?: string;
  /** Spoils the signature. */
  forge?: boolean;
}

/** A callback as the carrier would send it. */
async function callBack(callback: Callback) {
  const { carrier, accountId, kind = 'voice', query = '', fields, event, deliveredTo, forge } = callback;
  const path = `${carrierCallbackPath(carrier, kind, accountId)}${query}`;
  const form = new URLSearchParams(fields);
  let body = form.toString();
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
  if (carrier === 'plivo') {
    headers['x-plivo-signature-v3-nonce'] = '123';
    headers['x-plivo-signature-v3'] = createHmac('sha256', forge ? 'wrong' : SECRETS.plivo.auth_token)
      .update(`${signatureBase(`${PUBLIC_URL}${path}`, form)}.123`)
      .digest('base64');
  } else if (carrier === 'twilio') {
    const sorted = [...form].sort(([a], [b]) => (a < b ? -1 : 1)).flat();
    headers['x-twilio-signature'] = createHmac('sha1', forge ? 'wrong' : SECRETS.twilio.auth_token)
      .update(`${PUBLIC_URL}${path}${sorted.join('')}`)
      .digest('base64');
  } else {
    body = JSON.stringify({
      data: { event_type: event, id: randomUUID(), payload: fields },
      ...(deliveredTo !== undefined && { meta: { attempt: 1, delivered_to: deliveredTo } }),
    });
    headers['content-type'] = 'application/json';
    const at = String(Math.floor(Date.now() / 1000) - (forge ? 1000 : 0));
    headers['telnyx-timestamp'] = at;
    headers['telnyx-signature-ed25519'] = sign(
      null,
      Buffer.from(`${at}|${body}`),
      telnyxKeys.privateKey as KeyObject,
    ).toString('base64');
  }
  const answer = await fetch(`${plane.url}${path}`, { method: 'POST', headers, body });
  return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() };
}

const plivoCall = (line: Line, callId: string, more: Record<string, string> = {}): Callback => ({
  carrier: 'plivo',
  accountId: line.accountId,
  fields: {
    CallUUID: callId,
    From: '919876543210',
    To: line.number.slice(1),
    Direction: 'inbound',
    CallStatus: 'ringing',
    Event: 'StartApp',
    ...more,
  },
});

const ticketOf = (document: string) =>
  /\/media\/v1\/streams\/[a-z]+\/([A-Za-z0-9_-]{43})</.exec(document)?.[1];
const sessionsOf = async (line: Line) =>
  (await plane.call<{ items: SessionResponse[] }>('GET', `${P}/sessions?agent_id=${line.agentId}`)).body
    .items;

void t.test(
  'rule 22: an incoming Plivo call is answered with its stream and a hang-up behind it',
  async (t) => {
    const line = await makeLine('plivo', { variables: { shop: 'North' } });
    const answer = await callBack(plivoCall(line, 'call-p1'));
    t.match(answer, { status: 200, type: 'application/xml; charset=utf-8' });
    t.match(
      answer.body,
      /<Stream bidirectional="true" keepCallAlive="true"[^>]*>wss:\/\/voice\.example\.com\/media\/v1\/streams\/plivo\//,
    );
    t.match(answer.body, /<\/Stream><Hangup\/><\/Response>$/);
    t.match(await sessionsOf(line), [
      {
        status: 'ringing',
        direction: 'inbound',
        channel: 'telephony',
        provider: 'plivo',
        transport: 'media_stream',
      },
    ]);
    const ticket = ticketOf(answer.body)!;
    const plan = await gateway.redeem({ ticket, start: { carrier_call_id: 'call-p1' } });
    t.match(plan, {
      status: 200,
      body: {
        system: { caller_number: '+919876543210', called_number: line.number },
        variables: { shop: 'North' },
      },
    });
  },
);

void t.test(
  'the same call told again is the same session with a new ticket; the old ticket is dead',
  async (t) => {
    const line = await makeLine('plivo');
    const [first, second] = [
      await callBack(plivoCall(line, 'call-p2')),
      await callBack(plivoCall(line, 'call-p2')),
    ];
    t.equal((await sessionsOf(line)).length, 1);
    const start = { carrier_call_id: 'call-p2' };
    t.equal((await gateway.redeem({ ticket: ticketOf(first.body)!, start })).status, 401);
    t.equal(
      (await gateway.redeem({ ticket: ticketOf(second.body)!, start: { carrier_call_id: 'other' } })).status,
      409,
    );
    t.equal((await gateway.redeem({ ticket: ticketOf(second.body)!, start })).status, 200);
    await Promise.all(Array.from({ length: 5 }, () => callBack(plivoCall(line, 'call-p3'))));
    t.equal((await sessionsOf(line)).length, 2, 'five at once make one more');
  },
);

void t.test('the upgrade’s signature is checked where the session has an account', async (t) => {
  const line = await makeLine('plivo');
  const ticket = ticketOf((await callBack(plivoCall(line, 'call-p4'))).body)!;
  const path = `/media/v1/streams/plivo/${ticket}`;
  const signed = (token: string) => ({
    'x-plivo-signature-v3-nonce': '9',
    'x-plivo-signature-v3': createHmac('sha256', token)
      .update(`http://voice.example.com${path}.9`)
      .digest('base64'),
  });
  const check = (signature_headers: object, at = path) =>
    gateway.check(ticket, { carrier: 'plivo', path: at, signature_headers });
  t.equal((await check(signed('plivo-token'))).status, 200);
  for (const answer of [
    await check(signed('wrong')),
    await check({}),
    await check(signed('plivo-token'), `${path}x`),
  ]) {
    t.match(answer, { status: 401, body: { code: 'signature_invalid' } });
  }
});

void t.test('a bad signature is a 403 and leaves nothing behind', async (t) => {
  for (const carrier of ['plivo', 'twilio', 'telnyx'] as const) {
    const line = await makeLine(carrier);
    const fields = {
      ...plivoCall(line, 'forged').fields,
      CallSid: 'forged',
      call_control_id: 'forged',
      direction: 'incoming',
      from: '+919876543210',
      to: line.number,
    };
    const answer = await callBack({
      carrier,
      accountId: line.accountId,
      fields,
      event: 'call.initiated',
      forge: true,
    });
    t.equal(answer.status, 403, carrier);
    t.same(await sessionsOf(line), [], carrier);
  }
  const line = await makeLine('plivo');
  t.equal(
    (await callBack({ ...plivoCall(line, 'x'), accountId: 'tel_00000000000000000000000000' })).status,
    403,
  );
  t.equal(
    (await callBack({ ...plivoCall(line, 'x'), carrier: 'twilio' })).status,
    403,
    'an account of another carrier',
  );
});

void t.test('an account tells when its carrier last called, to the minute', async (t) => {
  const line = await makeLine('plivo');
  const account = async () => {
    const path = `/v1/telephony-accounts/${line.accountId}`;
    const { body } = await plane.call<{ last_callback_at: string | null; updated_at: string }>('GET', path);
    return body;
  };
  const before = await account();
  t.equal(before.last_callback_at, null, 'none has come');
  const call = { ...plivoCall(line, 'seen'), accountId: line.accountId };
  t.equal((await callBack({ ...call, forge: true })).status, 403);
  t.equal((await account()).last_callback_at, null, 'a wrong signature is none');
  const sentAt = Date.now();
  t.equal((await callBack(call)).status, 200);
  await eventually(async () => {
    const { last_callback_at: at, updated_at } = await account();
    if (at === null) return false;
    t.equal(Date.parse(at) % 60_000, 0);
    t.ok(Date.parse(at) > sentAt - 60_000);
    t.equal(updated_at, before.updated_at, 'nobody has changed the account');
    return true;
  });
});

void t.test('a callback signed by this account and of another one is a 403', async (t) => {
  const plivo = await makeLine('plivo');
  const named = (ids: Record<string, string>) => callBack(plivoCall(plivo, 'named', ids));
  t.equal((await named({ AuthID: 'MAOTHER' })).status, 403);
  t.equal((await named({ AuthID: 'SAOTHER', ParentAuthID: 'MAOTHER' })).status, 403);
  t.same(await sessionsOf(plivo), []);
  t.equal((await named({ AuthID: 'MAFAKE' })).status, 200);
  t.equal((await named({ AuthID: 'SAONE', ParentAuthID: 'MAFAKE' })).status, 200, 'of a sub-account');

  const [telnyx, other] = [await makeLine('telnyx'), await makeLine('telnyx')];
  const delivered = (deliveredTo: string) =>
    callBack({
      carrier: 'telnyx',
      accountId: telnyx.accountId,
      event: 'call.initiated',
      fields: {
        call_control_id: 'v3:named',
        direction: 'incoming',
        from: '+919876543210',
        to: telnyx.number,
      },
      deliveredTo,
    });
  const address = (line: Line) => `${PUBLIC_URL}${carrierCallbackPath('telnyx', 'voice', line.accountId)}`;
  t.equal((await delivered(address(other))).status, 403);
  t.same(await sessionsOf(telnyx), []);
  t.equal(
    (await delivered('https://relay.example.com/calls')).status,
    200,
    'sent on by a relay of the customer',
  );
  t.equal((await delivered(address(telnyx))).status, 200);
});

void t.test('calls that nobody answers are refused in the carrier’s words', async (t) => {
  const line = await makeLine('plivo', { blocked_numbers: ['+919876543210'] });
  t.match((await callBack(plivoCall(line, 'b1'))).body, /<Hangup reason="busy"\/>/);
  t.match(
    (await callBack(plivoCall(line, 'b2', { To: '14155559999' }))).body,
    /<Hangup reason="rejected"\/>/,
  );
  const path = `/v1/inbound-deployments/${line.deploymentId}`;
  const patch = (body: object) => plane.call('PATCH', path, { body });
  await Promise.all([patch({ variables: { a: '1', b: '2' } }), patch({ variables: { c: '3' } })]);
  const merged = await patch({ variables: { a: null } });
  t.same(merged.body, { ...merged.body, variables: { b: '2', c: '3' } }, 'variables are merged');
  t.match((await patch({ variables: null, blocked_numbers: null })).body, { blocked_numbers: [] });
  await patch({ status: 'paused' });
  t.match(
    (await callBack(plivoCall(line, 'b3', { From: '14155551234' }))).body,
    /<Hangup reason="rejected"\/>/,
  );
  const full = await makeLine('plivo', {}, { config: { limits: { max_concurrent_sessions: 1 } } });
  t.match((await callBack(plivoCall(full, 'f1'))).body, /<Stream/);
  t.match((await callBack(plivoCall(full, 'f2'))).body, /<Hangup reason="busy"\/>/);
  const refused = await sessionsOf(line);
  t.match(refused.map(({ status, hangup_reason }) => `${status} ${hangup_reason}`).sort(), [
    ...['ended blocked', 'ended outside_hours'],
  ]);
  t.equal(refused.length, 2, 'of a number that nobody has there is none');
});

void t.test('where the wallet is empty the caller hears that the line is busy', async (t) => {
  const line = await makeLine('plivo');
  const { wallets } = plane.app.services;
  const orgId = plane.first.org._id;
  const mode = (mode: 'prepaid' | 'unlimited') => wallets.configure(orgId, { mode }, 'USD');
  t.teardown(() => mode('unlimited'));
  await mode('prepaid');
  t.match((await callBack(plivoCall(line, 'w1'))).body, /<Hangup reason="busy"\/>/);
  t.equal((await sessionsOf(line)).length, 0, 'there was no session');
  t.match(await wallets.find(orgId), { holds: {} }, 'nothing is set aside for it');
  await mode('unlimited');
  t.match((await callBack(plivoCall(line, 'w2'))).body, /<Stream/);
});

void t.test('a number of one account cannot be called through another', async (t) => {
  const [mine, theirs] = [await makeLine('plivo'), await makeLine('plivo')];
  const answer = await callBack({ ...plivoCall(mine, 'cross'), accountId: theirs.accountId });
  t.match(answer.body, /rejected/);
  await callBack(plivoCall(mine, 'own'));
  await callBack({
    ...plivoCall(mine, 'own', { Event: 'Hangup' }),
    accountId: theirs.accountId,
    kind: 'status',
  });
  t.match(await sessionsOf(mine), [{ status: 'ringing' }], 'nor ended');
});

void t.test('a caller who hangs up before media ends the session; later the carrier only adds', async (t) => {
  const line = await makeLine('plivo');
  await callBack(plivoCall(line, 'h1'));
  const hangup = (callId: string) =>
    callBack({
      ...plivoCall(line, callId, {
        Event: 'Hangup',
        CallStatus: 'completed',
        HangupCauseCode: '4000',
        HangupCauseName: 'Normal Hangup',
        TotalCost: '0.0042',
      }),
      kind: 'status',
    });
  t.match(await hangup('h1'), { status: 200 });
  t.match(await sessionsOf(line), [{ status: 'ended', ended_by: 'caller', hangup_reason: 'caller_hangup' }]);
  t.match(
    (await callBack(plivoCall(line, 'h1'))).body,
    /<Response><Hangup\/><\/Response>/,
    'an old call is not taken up',
  );

  const ticket = ticketOf((await callBack(plivoCall(line, 'h2'))).body)!;
  const plan = (await gateway.redeem({ ticket, start: { carrier_call_id: 'h2' } })).body;
  await services.callEvents.handle(gateway.started(plan));
  await hangup('h2');
  const stored = await services.sessionStore.find(plan.session_id);
  t.match(stored, { status: 'in_progress', carrier_cause: '4000 Normal Hangup', carrier_cost: '0.0042' });
  t.ok(stored?.carrier_ended_at);
});

/** A Plivo call with media. */
async function liveCall(line: Line, callId: string) {
  const ticket = ticketOf((await callBack(plivoCall(line, callId))).body)!;
  const plan = (await gateway.redeem({ ticket, start: { carrier_call_id: callId } })).body;
  await services.callEvents.handle(gateway.started(plan));
  return plan;
}

void t.test('who deletes a deployment ends no call, and loses none', async (t) => {
  const line = await makeLine('plivo');
  const past = await liveCall(line, 'del-1');
  await services.callEvents.handle(gateway.ended(past));
  const live = await liveCall(line, 'del-2');
  const path = `/v1/inbound-deployments/${line.deploymentId}`;
  t.equal((await plane.call('DELETE', path)).status, 204);
  t.equal((await plane.call('GET', path)).status, 404);

  const read = async (plan: { session_id: string }) =>
    (await plane.call<SessionResponse>('GET', `/v1/sessions/${plan.session_id}`)).body;
  const detail = { inbound_deployment_id: line.deploymentId };
  t.match(await read(live), { status: 'in_progress', detail });
  t.match(await read(past), { status: 'ended', detail });
  t.match(await plane.call('GET', `/v1/sessions/${past.session_id}/transcript`), {
    body: { items: [{ text: 'Hello, this is Acme.' }, { text: 'I want to buy ten licences.' }] },
  });
  t.same(
    (await sessionsOf(line)).map(({ session_id: id }) => id),
    [live.session_id, past.session_id],
  );
  t.match(
    await callBack(plivoCall(line, 'del-3')),
    { status: 200, body: /Reject|Hangup/ },
    'no further call',
  );
  t.equal((await sessionsOf(line)).length, 2);
  await services.callEvents.handle(gateway.ended(live));
  t.match(await read(live), { status: 'ended', hangup_reason: 'caller_hangup' });
});

const requestsFor = (callId: string): Received[] =>
  carrierApi.received.filter(({ path }) => path.includes(callId));

void t.test('rule 22: what the gateway asks of the carrier is done once, and answered', async (t) => {
  const line = await makeLine('plivo');
  const plan = await liveCall(line, 'cmd-1');
  const inbox = await gateway.commands();
  const ask = async (
    action: CarrierCommandData['action'],
    args: CarrierCommandData['args'],
    command_id = `cmd_${randomUUID()}`,
  ) => {
    const event = gateway.event(plan, 'carrier_command', { command_id, action, args });
    await services.callEvents.handle(event);
    await services.callEvents.handle(event);
    return (await inbox.next('carrier_result', (command) => command.args['command_id'] === command_id)).args;
  };
  t.match(await ask('send_dtmf', { digits: '12#' }), { ok: true });
  t.match(await ask('send_dtmf', { digits: 'x; rm' }), { ok: false, code: 'invalid_digits' });
  t.match(await ask('hangup', {}), { ok: true });
  const made = requestsFor('cmd-1').map(({ method, path, body }) => `${method} ${path} ${body}`);
  t.same(made, [
    'POST /v1/Account/MAFAKE/Call/cmd-1/DTMF/ {"digits":"12#","leg":"aleg"}',
    'DELETE /v1/Account/MAFAKE/Call/cmd-1/ ',
  ]);
  t.equal(
    requestsFor('cmd-1')[0]!.headers.authorization,
    `Basic ${Buffer.from('MAFAKE:plivo-token').toString('base64')}`,
  );
  const refused = await liveCall(line, 'refused-1');
  await services.callEvents.handle(
    gateway.event(refused, 'carrier_command', { command_id: 'cmd_refused', action: 'hangup', args: {} }),
  );
  t.match(
    (await inbox.next('carrier_result', (command) => command.args['command_id'] === 'cmd_refused')).args,
    {
      ok: false,
      code: 'auth',
    },
  );
  await inbox.close();
});

void t.test(
  'a blind transfer dials for the caller, and returns to the agent when nobody answers',
  async (t) => {
    const line = await makeLine('plivo');
    const plan = await liveCall(line, 'xfer-1');
    const transfer = (to: string) =>
      services.callEvents.handle(
        gateway.event(plan, 'carrier_command', {
          command_id: `cmd_${to}`,
          action: 'transfer',
          args: {
            ...{ to, transfer_id: 'tr-1', destination_id: 'sales', extension: 'ww12' },
            ...{ ring_timeout_seconds: 25, caller_id: line.number },
          },
        }),
      );
    await transfer('+919811112222');
    t.same(requestsFor('xfer-1'), [], 'a country the account has no number in');
    await transfer('+14155557777');
    const [request] = requestsFor('xfer-1');
    const { aleg_url, legs } = JSON.parse(request!.body) as { aleg_url: string; legs: string };
    t.equal(legs, 'aleg');
    const at = new URL(aleg_url);
    t.equal(at.origin + at.pathname, `${PUBLIC_URL}${carrierCallbackPath('plivo', 'voice', line.accountId)}`);
    await services.callEvents.handle(
      gateway.event(plan, 'transfer', { transfer_id: 'tr-1', phase: 'begun' }),
    );
    const document = await callBack({
      ...plivoCall(line, 'xfer-1', { CallStatus: 'in-progress' }),
      query: at.search,
    });
    t.match(
      document.body,
      /<Dial callerId="1415555\d{4}" timeout="25" action="[^"]*transfer_result=tr-1"[^>]*><Number sendDigits="ww12">14155557777<\/Number><\/Dial><Hangup\/>/,
    );
    const result = (DialStatus: string) =>
      callBack({
        ...plivoCall(line, 'xfer-1', { DialStatus, DialALegUUID: 'xfer-1' }),
        query: '?transfer_result=tr-1',
      });
    const inbox = await gateway.commands();
    const told = async (of: string) =>
      (await inbox.next('transfer_result', ({ args }) => args['result'] === of)).args;
    await result('no-answer');
    t.match(await told('returns'), { transfer_id: 'tr-1' }, 'who had the caller waits for them no more');
    const back = await result('no-answer');
    const events = await plane.call<{ items: { data: object }[] }>(
      'GET',
      `/v1/sessions/${plan.session_id}/events?type=transfer`,
    );
    t.match(
      events.body.items.map(({ data }) => data),
      [
        { phase: 'begun' },
        { phase: 'failed', code: 'no_answer', transfer_id: 'tr-1', destination_id: 'sales' },
      ],
      'once, though the carrier says it twice',
    );
    const again = await gateway.redeem({
      ticket: ticketOf(back.body)!,
      start: { carrier_call_id: 'xfer-1' },
    });
    t.match(again, { status: 200, body: { leg: 1, returned_from: 'sales' } }, 'and knows from where');
    t.match((await result('completed')).body, /<Response><Hangup\/><\/Response>/);
  },
);

void t.test('Twilio: TwiML, status callbacks and transfer by document', async (t) => {
  const line = await makeLine('twilio');
  const fields = {
    CallSid: 'CA1',
    AccountSid: 'AC01',
    From: '+15551112222',
    To: line.number,
    CallStatus: 'ringing',
    Direction: 'inbound',
  };
  const foreign = { ...fields, AccountSid: 'AC02' };
  const refused = await callBack({ carrier: 'twilio', accountId: line.accountId, fields: foreign });
  t.equal(refused.status, 403, 'signed by this account, and of another one');
  const answer = await callBack({ carrier: 'twilio', accountId: line.accountId, fields });
  t.match(
    answer.body,
    /<Connect><Stream url="wss:\/\/voice\.example\.com\/media\/v1\/streams\/twilio\/[A-Za-z0-9_-]{43}" statusCallback="[^"]+" statusCallbackMethod="POST"\/><\/Connect><Hangup\/>/,
  );
  const ticket = /twilio\/([A-Za-z0-9_-]{43})"/.exec(answer.body)![1]!;
  const plan = await gateway.redeem({ ticket, start: { carrier: 'twilio', carrier_call_id: 'CA1' } });
  t.equal(plan.status, 200);
  await services.callEvents.handle(gateway.started(plan.body));
  const inbox = await gateway.commands();
  for (const [id, action, args] of [
    ['c-dtmf', 'send_dtmf', { digits: '1' }],
    ['c-transfer', 'transfer', { to: '+14155557777', transfer_id: 'x' }],
    ['c-hangup', 'hangup', {}],
  ] as const) {
    await services.callEvents.handle(
      gateway.event(plan.body, 'carrier_command', { command_id: id, action, args }),
    );
  }
  const result = async (id: string) =>
    (await inbox.next('carrier_result', ({ args }) => args['command_id'] === id)).args;
  t.match(await result('c-dtmf'), { ok: false, code: 'unsupported' });
  t.match(await result('c-hangup'), { ok: true });
  const [transfer, hangup] = requestsFor('CA1').map(({ body }) => new URLSearchParams(body));
  t.match(
    transfer!.get('Twiml'),
    /<Dial timeout="30" action="[^"]*transfer_result=x" method="POST"><Number>\+14155557777<\/Number>/,
  );
  t.equal(hangup!.get('Status'), 'completed');
  await callBack({
    carrier: 'twilio',
    accountId: line.accountId,
    kind: 'stream',
    fields: { ...fields, StreamEvent: 'stream-error', StreamError: 'lost' },
  });
  const events = await plane.call<{ items: object[] }>(
    'GET',
    `/v1/sessions/${plan.body.session_id}/events?type=warning`,
  );
  t.match(events.body.items, [{ data: { code: 'carrier_stream_failed', reason: 'lost' } }]);
  await inbox.close();
});

void t.test('Telnyx: answered by command, ended by event', async (t) => {
  const line = await makeLine('telnyx');
  const payload = { call_control_id: 'v3:one', from: '+13125550100', to: line.number, direction: 'incoming' };
  const base = { carrier: 'telnyx', accountId: line.accountId, fields: payload } as const;
  t.match(await callBack({ ...base, event: 'call.initiated' }), { status: 200, body: '{}' });
  const [answer] = requestsFor('v3%3Aone');
  t.equal(answer!.path, '/v2/calls/v3%3Aone/actions/answer');
  t.equal(answer!.headers.authorization, 'Bearer KEY-telnyx');
  const sent = JSON.parse(answer!.body) as Record<string, string>;
  t.match(sent, {
    stream_bidirectional_mode: 'rtp',
    stream_codec: 'PCMU',
    stream_url: /^wss:.*\/telnyx\/[A-Za-z0-9_-]{43}$/,
  });
  const ticket = sent['stream_url']!.split('/').at(-1)!;
  t.equal((await gateway.check(ticket, { carrier: 'telnyx' })).status, 200, 'its upgrades are not signed');
  await callBack({ ...base, event: 'call.hangup', fields: { ...payload, hangup_cause: 'normal_clearing' } });
  t.match(await sessionsOf(line), [{ status: 'ended', hangup_reason: 'caller_hangup' }]);
  const refused = await makeLine('telnyx', { blocked_numbers: ['+13125550100'] });
  await callBack({
    ...base,
    accountId: refused.accountId,
    event: 'call.initiated',
    fields: { ...payload, call_control_id: 'v3:two', to: refused.number },
  });
  t.match(requestsFor('v3%3Atwo'), [{ path: /actions\/reject$/, body: /USER_BUSY/ }]);
});

void t.test(
  'Telnyx: who a caller is transferred to gets the extension, or the agent the caller back',
  async (t) => {
    const line = await makeLine('telnyx');
    const call = { call_control_id: 'v3:A', from: '+13125550100', to: line.number, direction: 'incoming' };
    const base = { carrier: 'telnyx', accountId: line.accountId } as const;
    await callBack({ ...base, event: 'call.initiated', fields: call });
    const [answer] = requestsFor('v3%3AA');
    const streamOf = (body: string) => (JSON.parse(body) as { stream_url: string }).stream_url;
    let plan = (
      await gateway.redeem({
        ticket: streamOf(answer!.body).split('/').at(-1)!,
        start: { carrier: 'telnyx', carrier_call_id: 'v3:A' },
      })
    ).body;
    await services.callEvents.handle(gateway.started(plan));
    const transfer = async (id: string) => {
      await services.callEvents.handle(
        gateway.event(plan, 'carrier_command', {
          command_id: `cmd_${id}`,
          action: 'transfer',
          args: { to: '+14155557777', transfer_id: id, destination_id: 'sales', extension: 'W12' },
        }),
      );
      const asked = requestsFor('v3%3AA').findLast(({ path }) => path.endsWith('/transfer'))!;
      return (JSON.parse(asked.body) as { target_leg_client_state: string }).target_leg_client_state;
    };
    const leg = {
      ...call,
      call_control_id: 'v3:B',
      direction: 'outgoing',
      client_state: await transfer('tr-1'),
    };
    const hungUp = { ...leg, hangup_cause: 'user_busy' };
    const commands = () => requestsFor('v3%3AA').map(({ path }) => path.split('/').at(-1));

    await callBack({ ...base, event: 'call.hangup', fields: hungUp });
    const again = requestsFor('v3%3AA').at(-1)!;
    t.match(again.path, /actions\/streaming_start$/);
    const ticket = streamOf(again.body).split('/').at(-1)!;
    const next = await gateway.redeem({ ticket, start: { carrier: 'telnyx', carrier_call_id: 'v3:A' } });
    t.match(next, { body: { leg: 1, returned_from: 'sales' } });
    plan = next.body;
    await services.callEvents.handle(gateway.started(plan));
    const before = commands().length;
    await callBack({ ...base, event: 'call.answered', fields: leg });
    t.equal(requestsFor('v3%3AB').length, 0, 'too late');

    const taken = { ...leg, client_state: await transfer('tr-2') };
    await callBack({ ...base, event: 'call.answered', fields: taken });
    await callBack({ ...base, event: 'call.answered', fields: taken });
    t.match(requestsFor('v3%3AB'), [{ path: /actions\/send_dtmf$/, body: '{"digits":"W12"}' }]);
    await callBack({
      ...base,
      event: 'call.hangup',
      fields: { ...hungUp, client_state: taken.client_state },
    });
    t.same(commands().slice(before), ['transfer', 'streaming_stop'], 'their talk is over, not begun');
  },
);

void t.test('malformed callbacks with a good signature are the carrier’s fault', async (t) => {
  const line = await makeLine('plivo');
  t.equal(
    (await callBack({ carrier: 'plivo', accountId: line.accountId, fields: { Event: 'StartApp' } })).status,
    400,
  );
  t.equal((await callBack(plivoCall(line, 'odd', { Event: 'SomethingNew' }))).status, 200);
});

void t.test('numbers and deployments: one of each at a time, and no other tenant’s', async (t) => {
  const line = await makeLine('plivo');
  const body = { telephony_account_id: line.accountId, phone_number: line.number, mode: 'import' };
  const once = { 'idempotency-key': randomUUID() };
  t.equal(
    (await plane.call('POST', `${P}/phone-numbers`, { body })).status,
    422,
    'an Idempotency-Key is required',
  );
  t.equal((await plane.call('POST', `${P}/phone-numbers`, { body, headers: once })).status, 409);
  const [number] = (
    await plane.call<{ items: { id: string; inbound_deployment_id: string }[] }>('GET', `${P}/phone-numbers`)
  ).body.items;
  const copy = { body: { ...number, ...body }, headers: { 'idempotency-key': randomUUID() } };
  t.match(await plane.call('POST', `${P}/phone-numbers`, copy), { status: 409 }, 'as it was read');
  const known = await plane.call<object>('GET', `/v1/inbound-deployments/${line.deploymentId}`);
  t.match(await plane.call('POST', `${P}/inbound-deployments`, { body: known.body }), {
    ...{ status: 409, body: { code: 'duplicate' } },
  });
  t.equal(number!.inbound_deployment_id, line.deploymentId);
  const second = { name: 'Second', phone_number_id: number!.id, agent_id: line.agentId };
  t.equal((await plane.call('POST', `${P}/inbound-deployments`, { body: second })).status, 409);
  t.equal((await plane.call('DELETE', `/v1/phone-numbers/${number!.id}`)).status, 409);
  t.equal((await plane.call('DELETE', `/v1/inbound-deployments/${line.deploymentId}`)).status, 204);
  t.equal((await plane.call('DELETE', `/v1/phone-numbers/${number!.id}`)).status, 204);

  const other = await plane.makeTenant();
  const theirs = `/v1/orgs/${other.org._id}/projects/${other.project._id}`;
  const taken = await plane.call<{ detail: object[] }>('POST', `${theirs}/phone-numbers`, {
    token: other.apiKey,
    body: { ...body, phone_number: '+14155558888' },
    headers: { 'idempotency-key': randomUUID() },
  });
  t.match(taken, {
    status: 422,
    body: { detail: [{ type: 'reference_not_found', loc: ['body', 'telephony_account_id'] }] },
  });
  for (const path of [`/v1/telephony-accounts/${line.accountId}`, `/v1/phone-numbers/${number!.id}`]) {
    t.equal((await plane.call('GET', path, { token: other.apiKey })).status, 404);
  }
});

void t.test(
  'an account is active once its carrier has said so, and rings nobody while disabled',
  async (t) => {
    const admin = (await signInUser(plane, 'owner@example.com')).token;
    const accounts = `/v1/orgs/${plane.first.org._id}/telephony-accounts`;
    const call = (method: string, path: string, body?: object, headers = {}) =>
      plane.call<{ id: string; status: string; code: string }>(method, path, { body, token: admin, headers });
    const { body: made } = await call('POST', accounts, {
      name: 'New',
      provider: 'plivo',
      credentials: SECRETS.plivo,
    });
    t.equal(made.status, 'unverified');
    const path = `/v1/telephony-accounts/${made.id}`;
    t.match(await call('PATCH', path, { status: 'active' }), {
      status: 409,
      body: { code: 'invalid_state' },
    });
    const number = { telephony_account_id: made.id, phone_number: '+14155557777', mode: 'import' };
    const importNumber = () =>
      call('POST', `${P}/phone-numbers`, number, { 'idempotency-key': randomUUID() });
    t.match(await importNumber(), { status: 409, body: { code: 'invalid_state' } });
    await call('PATCH', path, { status: 'disabled' });
    t.match((await call('POST', `${path}/verify`)).body, { ok: true });
    t.match((await call('GET', path)).body, { status: 'disabled' }, 'asking does not enable');
    t.match((await call('PATCH', path, { status: 'active' })).body, { status: 'active' });
    t.equal((await importNumber()).status, 201);
    t.match((await call('PATCH', path, { credentials: SECRETS.plivo })).body, { status: 'unverified' });
    t.match((await call('GET', path)).body, { region: null });
    t.equal((await call('PATCH', path, { region: null })).status, 200);
    t.equal((await call('PATCH', path, { region: 'eu' })).status, 422);
    const limits = { max_concurrent_calls: 5, calls_per_second: 0.5 };
    t.match((await call('PATCH', path, limits)).body, limits);
    t.match((await call('GET', path)).body, limits);
    t.equal((await call('PATCH', path, { calls_per_second: 0.05 })).status, 422);

    const line = await makeLine('plivo');
    await call('PATCH', `/v1/telephony-accounts/${line.accountId}`, { status: 'disabled' });
    const refused = await callBack(plivoCall(line, randomUUID()));
    t.equal(ticketOf(refused.body), undefined);
    t.match(refused.body, /<Hangup reason="busy"\/>/);
    t.same(await sessionsOf(line), []);
    const ofLine = `/v1/telephony-accounts/${line.accountId}`;
    await call('PATCH', ofLine, { status: 'active' });
    t.ok(ticketOf((await callBack(plivoCall(line, randomUUID()))).body));

    await call('PATCH', ofLine, { credentials: SECRETS.plivo });
    const unverified = await callBack(plivoCall(line, randomUUID()));
    t.match(unverified.body, /<Hangup reason="busy"\/>/, 'nor while nobody has verified it');
    t.equal((await sessionsOf(line)).length, 1);
    await call('POST', `${ofLine}/verify`);
    t.ok(ticketOf((await callBack(plivoCall(line, randomUUID()))).body));
  },
);

void t.test(
  "a carrier's own recording and its verdict on who answered are told in events, once",
  async (t) => {
    const cases: Record<CarrierName, Pick<Callback, 'fields' | 'event'>> = {
      plivo: {
        fields: { CallUUID: 'rec-plivo', RecordingID: 'R1', RecordUrl: 'https://plivo.example.com/1' },
      },
      twilio: { fields: { CallSid: 'rec-twilio', RecordingSid: 'R1', RecordingStatus: 'completed' } },
      telnyx: {
        event: 'call.recording.saved',
        fields: { call_control_id: 'rec-telnyx', recording_id: 'R1' },
      },
    };
    const verdicts: typeof cases = {
      plivo: { fields: { CallUUID: 'rec-plivo', Event: 'MachineDetection', Machine: 'true' } },
      twilio: { fields: { CallSid: 'rec-twilio', AnsweredBy: 'machine_start' } },
      telnyx: {
        event: 'call.machine.detection.ended',
        fields: { call_control_id: 'rec-telnyx', result: 'machine' },
      },
    };
    for (const [carrier, told] of Object.entries(cases) as [CarrierName, (typeof cases)['plivo']][]) {
      const line = await makeLine(carrier);
      const arrived: Record<CarrierName, Callback> = {
        plivo: plivoCall(line, 'rec-plivo'),
        twilio: {
          ...{ carrier, accountId: line.accountId },
          fields: { CallSid: 'rec-twilio', From: '+919876543210', To: line.number, CallStatus: 'ringing' },
        },
        telnyx: {
          ...{ carrier, accountId: line.accountId, event: 'call.initiated' },
          fields: {
            call_control_id: 'rec-telnyx',
            from: '+919876543210',
            to: line.number,
            direction: 'incoming',
          },
        },
      };
      t.equal((await callBack(arrived[carrier])).status, 200, carrier);
      const [session] = await sessionsOf(line);
      for (const _ of [1, 2])
        t.equal(
          (await callBack({ carrier, accountId: line.accountId, kind: 'recording', ...told })).status,
          200,
        );
      const path = `/v1/sessions/${session!.session_id}/events?type=warning`;
      const { body } = await plane.call<{ items: object[]; total: number }>('GET', path);
      t.match(body.items, [{ data: { code: 'carrier_recording_saved', name: 'R1', reason: null } }], carrier);
      t.equal(body.total, 1);
      const verdict = { carrier, accountId: line.accountId, kind: 'amd', ...verdicts[carrier] } as const;
      for (const _ of [1, 2]) t.match(await callBack(verdict), { status: 200 }, carrier);
      const heard = await plane.call<{ items: object[]; total: number }>(
        'GET',
        `/v1/sessions/${session!.session_id}/events?type=carrier_verdict`,
      );
      t.match(heard.body, { total: 1, items: [{ data: { class: 'machine', beep: false } }] }, carrier);
      // Where it is lies open for minutes, and is nobody's business.
      t.notMatch(JSON.stringify(body), /example\.com/);
    }
  },
);

void t.test('an account is invalid once its carrier refuses the credentials in use', async (t) => {
  const { telephonyAccounts } = services;
  const line = await makeLine('plivo');
  const stateOf = async () => (await telephonyAccounts.find(line.accountId))!;
  t.equal((await stateOf()).status, 'active');
  const carrier = (await telephonyAccounts.open(line.accountId))!;
  await t.rejects(carrier.hangup('refused-1'), { code: 'auth', status: 403 });
  t.equal((await stateOf()).status, 'active', 'what is forbidden says nothing of the credentials');
  await t.rejects(carrier.hangup('unauthorized-1'), { code: 'auth', status: 401 });
  await eventually(async () => (await stateOf()).status === 'invalid');
  t.equal((await stateOf()).last_error, 'auth');
  t.ok(ticketOf((await callBack(plivoCall(line, randomUUID()))).body), 'whoever signs knows the credentials');
  t.same(await telephonyAccounts.limitsOf(line.accountId).then((limits) => limits!.status), 'invalid');
});

void t.test('an account that names no limit has that of its carrier', async (t) => {
  const descriptor = carriers.twilio as { maxConcurrentCalls: number };
  const { maxConcurrentCalls } = descriptor;
  t.teardown(() => Object.assign(descriptor, { maxConcurrentCalls }));
  descriptor.maxConcurrentCalls = 7;
  const limit = async (line: Line) => (await services.telephonyAccounts.limitsOf(line.accountId))!;
  t.match(await limit(await makeLine('twilio')), { max_concurrent_calls: 7, calls_per_second: 1 });
  t.match(await limit(await makeLine('plivo')), { max_concurrent_calls: 10 });
});

void t.test('an account’s credentials are never read back', async (t) => {
  const line = await makeLine('twilio');
  const read = await plane.call('GET', `/v1/telephony-accounts/${line.accountId}`);
  t.match(read, {
    status: 200,
    body: {
      credentials: { set: true },
      callback_urls: { voice: `${PUBLIC_URL}${carrierCallbackPath('twilio', 'voice', line.accountId)}` },
    },
  });
  t.notMatch(JSON.stringify(read.body), /twilio-token|AC01/);
  t.equal(
    (await plane.call('POST', `/v1/orgs/${plane.first.org._id}/telephony-accounts`, { body: {} })).status,
    403,
  );
});
