import { randomUUID } from 'node:crypto';
import t from 'tap';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { Scope } from '@parley/control-plane/tenancy/scope';
import { agentCollection } from '@parley/control-plane/agents/agent-model';
import { toolCollection } from '@parley/control-plane/tools/tool-model';
import { wsTicketCollection } from '@parley/control-plane/ws-tickets/ws-ticket-model';
import { sessionCollection } from '@parley/control-plane/sessions/session-model';
import { credentialDigest } from '@parley/shared/contracts/admission';
import { RestError } from '../src/demonstration/rest-client.ts';
import { BOOK_TABLE_TOOL, CALLER_LINES } from '../src/demonstration/script.ts';
import { fillableDisk } from './fixtures/system/fillable-disk.ts';
import { eventually } from './fixtures/system/eventually.ts';
import type { NewSession } from './fixtures/system/installation.ts';
import { Receiver } from './fixtures/system/receiver.ts';
import { spooled } from './fixtures/system/spooled.ts';
import { StreamSocket } from './fixtures/system/stream-socket.ts';
import { openTestPlatform } from './fixtures/system/test-platform.ts';

// One installation, told all that is wrong; after each of it a call must still be possible.

t.jobs = 4;
const forbidden = await Receiver.open();
t.teardown(() => forbidden[Symbol.asyncDispose]());
/** Nobody listens there: no server is given a port so low. */
const unreachable = 'http://127.0.0.1:1';
const disk = { full: false };
const test = await openTestPlatform({ allowOrigins: [unreachable], recordingFs: fillableDisk(disk) });
t.teardown(() => test[Symbol.asyncDispose]());
const { installation, platform, receiver } = test;
const agent = await installation.agent();
const { database } = platform.controlPlane.services;
const scope = new Scope(database, {
  orgId: installation.orgId,
  projectId: null,
  projects: null,
  role: 'owner',
});

const streamUrl = ({ media_ws_url, ws_ticket }: NewSession) => `${media_ws_url}/${ws_ticket}`;

/** A connection that was let in. */
async function connect(session: NewSession, callId?: string): Promise<StreamSocket> {
  const socket = await StreamSocket.open(streamUrl(session), callId ?? randomUUID());
  if (typeof socket === 'number') throw new Error(`The upgrade was refused with ${socket}.`);
  return socket;
}

async function refusal(promise: Promise<unknown>): Promise<{ status: number; message: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof RestError) return { status: error.status, message: error.message };
    throw error;
  }
  throw new Error('It was not refused.');
}

/** The ends that were reported; more than one, or none, would be a call counted twice or lost. */
async function reportedEnds(sessionId: string) {
  const { events } = await eventually('everything after the call', async () => {
    const { detail } = await installation.session(sessionId);
    return detail.post_call?.status === 'done' && { events: await installation.events(sessionId) };
  });
  return events.filter(({ type }) => type === 'call_ended').map(({ data }) => data);
}

void t.test(
  'tickets that are unknown, malformed, expired or meant for others open nothing',
  { buffered: true },
  async (t) => {
    const session = await installation.newSession(agent);
    const unknown = { ...session, ws_ticket: 'A'.repeat(43) };
    t.equal(await StreamSocket.open(streamUrl(unknown)), 401);
    t.equal(await StreamSocket.open(streamUrl({ ...session, ws_ticket: 'short' })), 401);
    t.equal(await StreamSocket.open(streamUrl(session).replace('/plivo/', '/twilio/')), 401);
    t.equal(await StreamSocket.open(streamUrl(session).replace('/plivo/', '/carrier-pigeon/')), 404);
    await database
      .model(wsTicketCollection)
      .updateOne(
        { _id: credentialDigest(session.ws_ticket) },
        { $set: { expires_at: new Date(Date.now() - 1000) } },
      );
    t.equal(await StreamSocket.open(streamUrl(session)), 401);
    const { status } = await installation.session(session.session_id);
    t.equal(status, 'created');
  },
);

void t.test(
  'of many connections with one ticket exactly one gets the call, and the call goes on',
  { buffered: true },
  async (t) => {
    const session = await installation.newSession(agent);
    const sockets = await Promise.all(Array.from({ length: 8 }, () => connect(session)));
    for (const socket of sockets) socket.start();
    const answered = Promise.any(sockets.map((socket) => socket.answered().then(() => socket)));
    const winner = await answered;
    const losers = await Promise.all(
      sockets.filter((socket) => socket !== winner).map((socket) => socket.closed),
    );
    t.strictSame(
      losers,
      losers.map(() => ({ code: 4409, reason: 'in_use' })),
    );
    t.equal(losers.length, 7);
    t.equal(await StreamSocket.open(streamUrl(session)), 401, 'spent');
    t.equal((await installation.session(session.session_id)).status, 'in_progress');
    winner.end();
    const end = await installation.ended(session.session_id);
    t.match(end, {
      status: 'ended',
      ended_by: 'caller',
      hangup_reason: 'caller_hangup',
      failure_reason: null,
    });
    const started = (await installation.events(session.session_id)).filter(
      ({ type }) => type === 'call_started',
    );
    t.equal(started.length, 1);
  },
);

void t.test(
  'what is no carrier message closes the stream with a word why, and spends no ticket',
  { buffered: true },
  async (t) => {
    const cases: [string, (socket: StreamSocket) => unknown, number, RegExp][] = [
      ['media arrived before the start message', (socket) => socket.media(), 4400, /./],
      ['malformed JSON', (socket) => socket.send('{"event":'), 4400, /./],
      ['no object', (socket) => socket.send('[1,2,3]'), 4400, /./],
      ['a number where text belongs', (socket) => socket.send('{"event":7}'), 4400, /./],
      ['start without ids', (socket) => socket.send('{"event":"start","start":{}}'), 4400, /./],
      ['a binary frame', (socket) => socket.send(Buffer.from([1, 2, 3])), 4400, /binary_frame/],
      ['an oversized frame', (socket) => socket.send('x'.repeat(70_000)), 1009, /frame_too_large/],
      [
        'another codec than agreed',
        (socket) => socket.start({ encoding: 'audio/x-l16', sampleRate: 44_100 }),
        4415,
        /codec_not_agreed/,
      ],
      ['nothing at all', () => undefined, 4408, /no_start/],
    ];
    const session = await installation.newSession(agent);
    await Promise.all(
      cases.map(async ([what, act, code, reason]) => {
        const socket = await connect(session);
        act(socket);
        const closed = await socket.closed;
        t.equal(closed.code, code, what);
        t.match(closed.reason, reason, what);
      }),
    );
    // The same ticket is still good.
    const socket = await connect(session);
    await Promise.all([socket.start().answered()]);
    socket.end();
    t.match(await installation.ended(session.session_id), { hangup_reason: 'caller_hangup' });
  },
);

void t.test(
  'a message that breaks the protocol in the middle of a call ends it as a failure of the carrier',
  { buffered: true },
  async (t) => {
    for (const [act, code] of [
      [(socket: StreamSocket) => socket.media(12), 4400],
      [(socket: StreamSocket) => socket.send(Buffer.alloc(4)), 4400],
      [(socket: StreamSocket) => socket.send('y'.repeat(70_000)), 1009],
    ] as const) {
      const session = await installation.newSession(agent);
      const socket = await connect(session);
      await Promise.all([socket.start().answered()]);
      act(socket);
      t.equal((await socket.closed).code, code);
      t.match(await installation.ended(session.session_id), {
        status: 'ended',
        ended_by: 'carrier',
        hangup_reason: null,
        failure_reason: 'carrier_error',
      });
      t.match(await reportedEnds(session.session_id), [{ failure_reason: 'carrier_error' }]);
    }
  },
);

void t.test(
  'a carrier that vanishes ends the call at once; one that falls silent, when nothing came for long',
  { buffered: true },
  async (t) => {
    const [reset, frozen] = await Promise.all([installation.call(agent), installation.call(agent)]);
    await installation.converse(reset.line);
    reset.line.vanish();
    frozen.line.freeze();
    t.match(await installation.ended(reset.session.session_id), {
      status: 'ended',
      ended_by: 'carrier',
      hangup_reason: 'carrier_hangup',
      failure_reason: null,
    });
    t.match(await installation.ended(frozen.session.session_id), {
      status: 'ended',
      ended_by: 'system',
      failure_reason: 'media_timeout',
    });
    // What the agent had said until then is kept.
    for (const { session } of [reset, frozen]) {
      t.match(await installation.transcript(session.session_id), [{ role: 'agent', text: /^Hello/ }]);
      t.equal((await reportedEnds(session.session_id)).length, 1);
    }
    frozen.line.vanish();
  },
);

void t.test(
  'origins that were not allowed are refused when written, and again when called',
  { buffered: true },
  async (t) => {
    const tool = {
      name: 'look_up',
      description: 'Looks up.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
      type: 'webhook',
    };
    const refused = await Promise.all([
      refusal(installation.webhook(agent, `${forbidden.origin}/hook`)),
      refusal(installation.webhook(agent, 'http://169.254.169.254/latest/meta-data')),
      refusal(
        installation.rest.post(`/v1/orgs/${installation.orgId}/tools`, {
          ...tool,
          webhook: { url: `${forbidden.origin}/tool`, method: 'POST' },
        }),
      ),
    ]);
    for (const { status, message } of refused) {
      t.equal(status, 422);
      t.match(message, /url/);
    }
    t.equal(forbidden.received.length, 0);
  },
);

void t.test(
  'a webhook that fails is tried again, and its delivery says so',
  { buffered: true },
  async (t) => {
    const [failing, deaf] = await Promise.all([installation.agent(), installation.agent()]);
    receiver.answer = ({ path }) => ({ status: path === '/failing' ? 503 : 200 });
    await installation.webhook(failing, `${receiver.origin}/failing`);
    await installation.webhook(deaf, `${unreachable}/nobody`);
    const sessions = await Promise.all(
      [failing, deaf].map(async (id) => {
        const { session, line } = await installation.call(id);
        line.hangUp();
        await installation.ended(session.session_id);
        return session;
      }),
    );
    for (const id of [failing, deaf]) {
      const { items } = await eventually('a failed delivery', async () => {
        const page = await installation.deliveries(id);
        return page.items[0]?.status === 'retrying' && page;
      });
      const why = id === deaf ? { last_status: null, last_error: 'connect_failed' } : { last_status: 503 };
      t.match(items, [{ status: 'retrying', attempts: 1, ...why }]);
      t.equal(items.length, 1);
    }
    // The second attempt finds a receiver that has recovered.
    receiver.answer = () => ({ status: 200 });
    await eventually('the delivery', async () => {
      const { items } = await installation.deliveries(failing);
      return items[0]?.status === 'succeeded' && items[0].attempts === 2;
    });
    t.equal(receiver.of('/failing', sessions[0]!.session_id).length, 2);
  },
);

void t.test(
  'an address that is no longer allowed is not called: neither as a tool nor as a webhook',
  { buffered: true },
  async (t) => {
    const id = await installation.agent();
    const tool = await installation.rest.post<{ id: string }>(`/v1/orgs/${installation.orgId}/tools`, {
      ...BOOK_TABLE_TOOL,
      type: 'webhook',
      webhook: { url: `${receiver.origin}/tool`, method: 'POST' },
    });
    await installation.rest.post(`/v1/agents/${id}/tools`, { tool_id: tool.id });
    await installation.webhook(id, `${receiver.origin}/hook`);
    await database
      .model(toolCollection)
      .updateOne({ _id: tool.id }, { $set: { 'webhook.url': `${forbidden.origin}/tool` } });
    await database
      .model(agentCollection)
      .updateOne({ _id: id }, { $set: { 'webhooks.call_ended.url': `${forbidden.origin}/hook` } });

    const { session, line } = await installation.call(id);
    await installation.converse(line, CALLER_LINES.day);
    const finished = await eventually('the tool', async () =>
      (await installation.events(session.session_id)).find(({ type }) => type === 'tool_finished'),
    );
    t.match(finished.data, { name: 'book_table', ok: false });
    t.notMatch(JSON.stringify(finished), forbidden.origin);
    line.hangUp();
    t.match(await installation.ended(session.session_id), { hangup_reason: 'caller_hangup' });
    const delivery = await eventually('the refused delivery', async () => {
      const { items } = await installation.deliveries(id);
      return items[0]?.status === 'retrying' && items[0];
    });
    t.match(delivery, {
      status: 'retrying',
      last_status: null,
      last_error: 'https_required',
    });
    t.equal(forbidden.received.length, 0);
  },
);

void t.test('a full disk ends the recording and not the call', { buffered: true }, async (t) => {
  const id = await installation.agent({ config: { recording: { enabled: true } } });
  disk.full = true;
  const { session, line } = await installation.call(id);
  await installation.converse(line, CALLER_LINES.booking);
  disk.full = false;
  line.hangUp();
  t.match(await installation.ended(session.session_id), {
    status: 'ended',
    hangup_reason: 'caller_hangup',
    failure_reason: null,
  });
  const recording = await eventually('the word on the recording', async () =>
    (await installation.events(session.session_id)).find(
      ({ type, data }) => type === 'recording' && data['status'] === 'failed',
    ),
  );
  t.match(recording.data, { status: 'failed' });
  t.match(await installation.recording(session.session_id), { status: 'failed' });
  const turns = await installation.transcript(session.session_id);
  t.match(
    turns.map(({ role }) => role),
    ['agent', 'caller', 'agent'],
  );
});

void t.test(
  'callbacks that Plivo did not sign are forbidden and leave nothing but a line in the log',
  { buffered: true },
  async (t) => {
    const account = await platform.controlPlane.services.telephonyAccounts.create(
      scope,
      { auth: 'jwt', user_id: 'usr_test', sign_in_id: 'test' },
      '',
      { name: 'Plivo', provider: 'plivo', credentials: { auth_id: 'MATEST', auth_token: 'plivo-token-1' } },
    );
    const sessions = scope.collection(sessionCollection);
    const before = await sessions.count({});
    for (const kind of ['voice', 'status', 'stream'] as const) {
      for (const headers of [
        {},
        { 'x-plivo-signature-v3': 'AAAA', 'x-plivo-signature-v3-nonce': '12345' },
        { 'x-plivo-signature-v3': Buffer.alloc(32).toString('base64') },
      ]) {
        const lines = test.log.length;
        const answer = await fetch(
          `${platform.publicUrl}${carrierCallbackPath('plivo', kind, account._id)}`,
          {
            method: 'POST',
            headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
            body: 'CallUUID=forged-call&From=14155550199&To=14155550101&CallStatus=ringing&Direction=inbound',
          },
        );
        t.equal(answer.status, 403, kind);
        t.match(await answer.json(), { code: 'bad_signature' }, kind);
        const told = test.log.slice(lines).filter((line) => line.includes('invalid signature'));
        t.equal(told.length, 1, kind);
        t.notMatch(told[0], /4155550199|plivo-token-1/);
      }
    }
    t.equal(await sessions.count({}), before);
  },
);

void t.test('after all that nothing is left open, and no one was alarmed', async (t) => {
  await eventually('the last call to end', () => platform.gateway.calls === 0);
  const errors = test.log.filter((line) => /"level":"(error|fatal)"/.test(line) && !line.includes('ENOSPC'));
  t.strictSame(errors, []);
  await eventually('an empty spool', async () => (await spooled(test.dataDir)).length === 0);
});
