import t from 'tap';
import { createHash, randomUUID } from 'node:crypto';
import { openPlivoCarrierEmulator } from '@parley/emulators/carriers/plivo-carrier-emulator';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { Scope } from '@parley/control-plane/tenancy/scope';
import { RestError } from '../src/demonstration/rest-client.ts';
import { BOOK_TABLE_TOOL, CALLER_LINES } from '../src/demonstration/script.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { StreamSocket } from './fixtures/system/stream-socket.ts';
import { openTestPlatform } from './fixtures/system/test-platform.ts';

// Whole calls with everything in them are logged as loudly as can be; then the log is searched.

const CARRIER = { auth_id: 'MASECRETID', auth_token: 'carrier-auth-token-7731' };
const NUMBER = '+14155550101';
const CALLER = '+14155557391';
const DIGITS = '80917';
const test = await openTestPlatform({
  logLevel: 'trace',
  openCarriers: async () => ({
    plivo: await openPlivoCarrierEmulator({ authId: CARRIER.auth_id, authToken: CARRIER.auth_token }),
  }),
});
t.teardown(() => test[Symbol.asyncDispose]());
const { installation, platform, receiver } = test;
const { services } = platform.controlPlane;

void t.test('nothing that is secret or was said leaves the places it belongs to', async (t) => {
  receiver.answer = ({ path }) => ({
    status: 200,
    body: path === '/tool' ? { reference: 'TOOLANSWER55', day: 'Friday', time: 'seven' } : {},
  });
  const agentId = await installation.agent({ greeting: 'Grasshopper speaking.' });
  const webhookSecret = await installation.webhook(agentId, `${receiver.origin}/ended?key=webhook-query-1`);
  const tool = await installation.rest.post<{ id: string }>(`/v1/orgs/${installation.orgId}/tools`, {
    ...BOOK_TABLE_TOOL,
    type: 'webhook',
    webhook: {
      url: `${receiver.origin}/tool`,
      method: 'POST',
      headers: { 'x-api-key': 'tool-header-secret-22' },
    },
  });
  await installation.rest.post(`/v1/agents/${agentId}/tools`, { tool_id: tool.id });

  // An inbound call the carrier's way, with a tool, digits and everything after the call.
  const scope = new Scope(services.database, {
    orgId: installation.orgId,
    projectId: null,
    projects: null,
    role: 'owner',
  });
  const account = await services.telephonyAccounts.create(
    scope,
    { auth: 'jwt', user_id: 'usr_test', sign_in_id: 'test' },
    '',
    { name: 'Plivo', provider: 'plivo', credentials: CARRIER },
  );
  await services.telephonyAccounts.verify(scope, account);
  const imported = await fetch(`${platform.publicUrl}${installation.projectPath}/phone-numbers`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ telephony_account_id: account._id, phone_number: NUMBER, mode: 'import' }),
  });
  const phone = (await imported.json()) as { id: string };
  await installation.rest.post(`${installation.projectPath}/inbound-deployments`, {
    name: 'Line',
    phone_number_id: phone.id,
    agent_id: agentId,
  });
  const callback = (kind: 'voice' | 'status') =>
    `${platform.publicUrl}${carrierCallbackPath('plivo', kind, account._id)}`;
  const call = await platform.carriers.plivo!.placeCall({
    voiceUrl: callback('voice'),
    statusUrl: callback('status'),
    from: CALLER,
    to: NUMBER,
  });
  await installation.converse(call.line);
  const { lastVoicedAt } = await call.line.say(await installation.voice(CALLER_LINES.day));
  const found = await eventually('the session', async () => {
    const { items } = await installation.rest.get<{ items: { session_id: string }[] }>(
      `${installation.projectPath}/sessions?phone_number=${encodeURIComponent(CALLER)}`,
    );
    return items[0];
  });
  const told = (wanted: string) =>
    eventually(wanted, async () =>
      (await installation.events(found.session_id)).some(({ type }) => type === wanted),
    );
  await told('tool_finished');
  await eventually('an answer', () => call.line.playback.lastVoiceAt > lastVoicedAt);
  // Keys cut the answer off: some words of it are to be heard first, however slow the machine is.
  const answered = call.line.playback.playedBytes;
  await eventually('words of it', () => call.line.playback.playedBytes > answered + 8 * 1500);
  call.line.press(DIGITS);
  await told('dtmf');
  call.hangUp();
  await call.ended;
  await installation.ended(found.session_id);
  await receiver.one('/ended?key=webhook-query-1', found.session_id);

  // What goes wrong is told to somebody, too.
  const session = await installation.newSession(agentId);
  const url = `${session.media_ws_url}/${session.ws_ticket}`;
  const socket = await StreamSocket.open(url);
  t.type(socket, StreamSocket);
  if (typeof socket === 'number') return;
  const greeted = socket.start().answered();
  await greeted;
  t.equal(await StreamSocket.open(url), 401);
  socket.send(`{"event":"media","secret":"${session.ws_ticket}","media":{"payload":5}}`);
  await socket.closed;
  await installation.ended(session.session_id);
  const errors: string[] = [];
  for (const path of [
    `/v1/sessions/${session.ws_ticket}`,
    `/v1/agents/${agentId}?key=${installation.apiKey}`,
    `/v1/nothing/${session.ws_ticket}`,
  ]) {
    const answer = await fetch(`${platform.publicUrl}${path}`, {
      headers: { authorization: `Bearer ${installation.apiKey}x` },
    });
    errors.push(await answer.text());
    errors.push(
      await installation.rest.get(path).then(
        () => '',
        (error: unknown) => (error instanceof RestError ? error.message.replace(path, '') : String(error)),
      ),
    );
  }
  t.ok(errors.some((text) => text.includes('unauthenticated') || text.includes('credential')));

  const transcript = await installation.transcript(found.session_id);
  t.ok(transcript.length >= 3);
  const events = JSON.stringify([
    ...(await installation.events(found.session_id)),
    ...(await installation.events(session.session_id)),
  ]);
  const secrets = {
    ticket: session.ws_ticket,
    'digest of the ticket': createHash('sha256').update(session.ws_ticket).digest('hex'),
    'API key': installation.apiKey,
    'token of the services': platform.secrets.internal_token,
    'key of encryption': platform.secrets.encryption_keys.split(':')[1]!,
    'key of the providers': 'emulated-no-account-needed',
    'carrier token': CARRIER.auth_token,
    'secret of the webhook': webhookSecret,
    'header of the tool': 'tool-header-secret-22',
    'query of the webhook': 'webhook-query-1',
  };
  const log = test.log.join('\n');
  t.match(log, /call started[^]*carrier stream was refused[^]*call ended/, 'the log tells of the calls');
  for (const [what, secret] of Object.entries(secrets)) {
    t.notOk(log.includes(secret), `log: ${what}`);
    t.notOk(events.includes(secret), `events: ${what}`);
    t.notOk(errors.join('\n').includes(secret), `errors: ${what}`);
  }

  const words = [
    'grasshopper',
    'seven in the evening',
    'TOOLANSWER55',
    CALLER.slice(1),
    NUMBER.slice(1),
    DIGITS,
  ];
  for (const word of words) {
    const told = test.log.filter((line) => line.toLowerCase().includes(word.toLowerCase()));
    t.strictSame(told, [], `log: ${word}`);
  }
  // A digit alone would hide in any number: no field may hold one.
  t.notMatch(log, /"digits?":"[0-9*#A-D]/);
});
