import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { runCaller } from '@parley/emulators/callers/caller-script';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { CARRIERS, type CarrierName } from '@parley/shared/contracts/session-values';
import { Scope } from '@parley/control-plane/tenancy/scope';
import { createLogger } from '@parley/shared/logging/logger';
import { speakAsCaller } from '../src/demonstration/caller-voice.ts';
import { PUT_THROUGH } from '../src/demonstration/conversation.ts';
import {
  openDemonstrationPlatform,
  type DemonstrationPlatform,
} from '../src/demonstration/demonstration-platform.ts';
import { sampleOf } from '../../shared/test/fixtures/long.ts';
import { verifyAccount } from '../src/demonstration/set-up.ts';
import { waitForPostCall } from '../src/demonstration/follow-session.ts';
import { CALLER_LINES, DEMONSTRATION_AGENT, MANAGER_NUMBER } from '../src/demonstration/script.ts';
import { TEST_SETTINGS } from './fixtures/system/test-platform.ts';

const TIMEOUT_MS = 60_000;

let running: DemonstrationPlatform;
let dataDir: string;
/** A public name that does not lead back to this machine: whoever connects to it gets no answer. */
const elsewhere = createServer();
let connections = 0;
const NOWHERE_ELSE = 'set-up, calls and their streams go to this process, and no key leaves it';
elsewhere.on('connection', (socket) => {
  connections += 1;
  socket.destroy();
});

t.before(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'parley-carrier-calls-'));
  elsewhere.listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  const publicUrl = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  running = await openDemonstrationPlatform({
    env: { PORT: '0', LOG_LEVEL: 'error', PUBLIC_URL: publicUrl, ...TEST_SETTINGS },
    dataDir,
    logger: createLogger({ name: 'carrier-calls-test', level: 'error' }),
    fastEmulators: true,
  });
});
t.teardown(async () => {
  await running[Symbol.asyncDispose]();
  elsewhere.close();
  await rm(dataDir, { recursive: true, force: true });
});

// Calls run at the pace of speech: all of them at once.
t.jobs = 2;

void t.test('a caller waits until the manager was told and has pressed 1, at every carrier', async (t) => {
  const { desk, demonstration } = running;
  const { orgId, projectId, rest } = demonstration;
  const { config } = DEMONSTRATION_AGENT;
  const told = { mode: 'warm', brief_to_target: 'text', brief_text: 'Somebody asks for the manager.' };
  const agent = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/projects/${projectId}/agents`, {
    ...DEMONSTRATION_AGENT,
    name: 'Bistro that tells',
    config: { ...config, transfer: { destinations: [{ ...config.transfer.destinations[0], ...told }] } },
  });
  await Promise.all(
    sampleOf(t, 'CARRIER', CARRIERS).map(async (carrier, i) => {
      const to = `+1415555210${i}`;
      // A busy machine takes its time: the stream's end ends the wait.
      const steps = [{ say: CALLER_LINES.manager }, { pause_ms: 60_000 }];
      const order = { carrier, outbound: true, agent_id: agent.id, to, steps };
      const placed = await desk.place(order);
      const session = await waitForPostCall<{ status: string }>(
        rest,
        placed.session_id!,
        2 * TIMEOUT_MS,
        AbortSignal.timeout(2 * TIMEOUT_MS),
      );
      t.match(session, { status: 'ended', ended_by: 'agent', hangup_reason: 'transferred' }, carrier);
      const { items } = await rest.get<{ items: { data: { phase: string; transfer_id: string } }[] }>(
        `/v1/sessions/${placed.session_id}/events?type=transfer`,
      );
      const phases = items.map(({ data }) => data.phase);
      t.same(phases.toSorted(), ['begun', 'bridged', 'briefing', 'ringing'], carrier);
      const target = await rest.get(`/v1/sessions/${items[0]!.data.transfer_id}`);
      t.match(target, {
        hangup_reason: 'transferred',
        detail: { parent_session_id: placed.session_id, to_number: MANAGER_NUMBER },
      });
    }),
  );
  t.equal(connections, 0, NOWHERE_ELSE);
});

void t.test('every carrier’s call is held, though webhooks come twice', async (t) => {
  const { platform, demonstration } = running;
  const { rest, orgId, projectId } = demonstration;
  const question = await speakAsCaller(platform.emulators.speech, CALLER_LINES.hours);
  await Promise.all(
    sampleOf(t, 'CARRIER', CARRIERS, 2).map(async (carrier, i) => {
      const { emulator, telephonyAccountId, number } = demonstration.lines[carrier]!;
      const address = (kind: 'voice' | 'status') =>
        `${platform.publicUrl}${carrierCallbackPath(carrier, kind, telephonyAccountId)}`;
      const from = `+1415555020${i}`;
      const violations: string[] = [];
      const call = await emulator.placeCall({
        voiceUrl: address('voice'),
        statusUrl: address('status'),
        from,
        to: number,
        repeatWebhooks: true,
        events: { onViolation: (what) => void violations.push(what) },
      });
      const steps = [
        { say: question, label: CALLER_LINES.hours },
        { listen: true },
        { hangUp: true },
      ] as const;
      t.equal(await runCaller(call.line, steps), steps.length, `${carrier}: the caller did everything`);
      call.hangUp();
      t.match(await call.ended, { source: 'caller', answered: true });
      t.same(violations, [], `${carrier}: nothing that it would refuse`);
      const sessions = await rest.get<{ items: { session_id: string }[] }>(
        `/v1/orgs/${orgId}/projects/${projectId}/sessions?phone_number=${encodeURIComponent(from)}`,
      );
      t.equal(sessions.items.length, 1, `${carrier}: one session`);
      const sessionId = sessions.items[0]!.session_id;
      const session = await waitForPostCall<{ status: string; hangup_reason: string | null }>(
        rest,
        sessionId,
        TIMEOUT_MS,
        AbortSignal.timeout(TIMEOUT_MS),
      );
      t.match(session, { status: 'ended', hangup_reason: 'caller_hangup', provider: carrier });
      const transcript = await rest.get<{ items: { role: string; text: string }[] }>(
        `/v1/sessions/${sessionId}/transcript`,
      );
      t.match(
        transcript.items.map((turn) => turn.role),
        ['agent', 'caller', 'agent'],
        `${carrier}: ${transcript.items.map((turn) => `${turn.role}: ${turn.text}`).join(' ')}`,
      );
    }),
  );
  t.equal(connections, 0, NOWHERE_ELSE);
});

void t.test('the desk calls a named agent by the ticket of its session, and presses keys', async (t) => {
  const { desk, demonstration } = running;
  const placed = await desk.place({
    carrier: 'telnyx',
    to: '+14155550103',
    agent_id: demonstration.agentId,
    steps: [{ press: '5#' }],
  });
  t.match(await placed.outcome, { ended_by: 'caller', transferred_to: null });
  const session = await waitForPostCall<{ status: string; channel?: string }>(
    demonstration.rest,
    placed.session_id!,
    TIMEOUT_MS,
    AbortSignal.timeout(TIMEOUT_MS),
  );
  t.match(session, { status: 'ended', channel: 'telephony', provider: 'telnyx', direction: 'outbound' });
  const { items } = await demonstration.rest.get<{ items: { type: string; data: object }[] }>(
    `/v1/sessions/${placed.session_id}/events?limit=200`,
  );
  t.same(
    items.filter(({ type }) => type === 'dtmf').map(({ data }) => (data as { digit?: string }).digit),
    ['5', '#', undefined],
    'two keys, and what they came to',
  );
  t.equal(connections, 0, NOWHERE_ELSE);
});

void t.test('machines that answer get a message, an answer, and keys', async (t) => {
  const { desk, demonstration } = running;
  const call = async (carrier: CarrierName, to: string) => {
    const placed = await desk.place({ carrier, outbound: true, to, steps: [{ say: CALLER_LINES.hours }] });
    await placed.outcome;
    const session = await waitForPostCall<{
      status: string;
      hangup_reason: string | null;
      detail: { outcome: string | null; post_call: { status: string } };
    }>(demonstration.rest, placed.session_id!, TIMEOUT_MS, AbortSignal.timeout(TIMEOUT_MS));
    const at = `/v1/sessions/${placed.session_id}`;
    const { items } = await demonstration.rest.get<{ items: { role: string; text: string }[] }>(
      `${at}/transcript`,
    );
    const keys = await demonstration.rest.get<{ items: { data: { direction?: string; digits?: string } }[] }>(
      `${at}/events?type=dtmf`,
    );
    return {
      ...session,
      said: items.filter(({ role }) => role === 'agent').map(({ text }) => text),
      all: items.map(({ role, text }) => `${role}: ${text}`).join('\n'),
      keys: keys.items.filter(({ data }) => data.direction === 'sent').map(({ data }) => data.digits),
    };
  };
  const { voicemail, screening } = DEMONSTRATION_AGENT.config.answer_detection;
  type Held = Awaited<ReturnType<typeof call>>;
  const machines: [CarrierName, to: string, check: (held: Held) => void][] = [
    [
      'plivo',
      '+14155552920',
      (held) => {
        t.match(held, { hangup_reason: 'voicemail', detail: { outcome: 'voicemail' } });
        t.equal(held.said.at(-1), voicemail.message, held.all);
      },
    ],
    [
      'telnyx',
      '+14155552930',
      ({ said, all }) => {
        t.ok(said.includes(screening.message), all);
        t.match(said.at(-1), /^We are open/, 'the person whom the assistant brought has asked');
      },
    ],
    [
      'twilio',
      '+14155552940',
      ({ keys, said, all }) => {
        t.equal(keys[0], '1', all);
        t.match(said.at(-1), /^We are open/, 'the person behind the menu has asked');
      },
    ],
  ];
  await Promise.all(
    sampleOf(t, 'MACHINE', machines).map(async ([carrier, to, check]) => check(await call(carrier, to))),
  );
  t.equal(connections, 0, NOWHERE_ELSE);
});

void t.test('a caller who asks for the manager is transferred, at every carrier', async (t) => {
  const { desk, demonstration } = running;
  await Promise.all(
    sampleOf(t, 'CARRIER', CARRIERS).map(async (carrier) => {
      const { number } = demonstration.lines[carrier]!;
      const placed = await desk.place({ carrier, to: number, steps: PUT_THROUGH });
      const outcome = await placed.outcome;
      t.equal(outcome.transferred_to, '+14155550199', carrier);
      const { orgId, projectId, rest } = demonstration;
      const sessions = await rest.get<{ items: { session_id: string }[] }>(
        `/v1/orgs/${orgId}/projects/${projectId}/sessions?phone_number=${encodeURIComponent(placed.from!)}`,
      );
      const session = await waitForPostCall<{ status: string; hangup_reason: string | null }>(
        rest,
        sessions.items[0]!.session_id,
        TIMEOUT_MS,
        AbortSignal.timeout(TIMEOUT_MS),
      );
      t.match(session, { status: 'ended', ended_by: 'agent', hangup_reason: 'transferred' }, carrier);
    }),
  );
  t.equal(connections, 0, NOWHERE_ELSE);
});

void t.test('a caller who could not be connected is with the agent again, at every carrier', async (t) => {
  const { platform, demonstration } = running;
  const { rest, orgId, projectId } = demonstration;
  const question = await speakAsCaller(platform.emulators.speech, CALLER_LINES.manager);
  const { failure_message: message } = DEMONSTRATION_AGENT.config.transfer.destinations[0];
  await Promise.all(
    sampleOf(t, 'CARRIER', CARRIERS).map(async (carrier, i) => {
      const { emulator, telephonyAccountId, number } = demonstration.lines[carrier]!;
      const address = (kind: 'voice' | 'status') =>
        `${platform.publicUrl}${carrierCallbackPath(carrier, kind, telephonyAccountId)}`;
      const from = `+1415555030${i}`;
      const call = await emulator.placeCall({
        ...{ voiceUrl: address('voice'), statusUrl: address('status'), from, to: number },
        repeatWebhooks: true,
        onTransfer: () => ({ status: 'busy', afterMs: 300 }),
      });
      const first = call.line;
      await runCaller(first, [{ say: question, label: CALLER_LINES.manager }, { pauseMs: TIMEOUT_MS }]);
      const second = await call.lineAfter(first);
      if (!second) return t.fail(`${carrier}: ${JSON.stringify(await call.ended)}`);
      await runCaller(second, [{ listen: true }, { hangUp: true }]);
      call.hangUp();
      const { items } = await rest.get<{ items: { session_id: string }[] }>(
        `/v1/orgs/${orgId}/projects/${projectId}/sessions?phone_number=${encodeURIComponent(from)}`,
      );
      const at = `/v1/sessions/${items[0]!.session_id}`;
      const session = await waitForPostCall<{ status: string; hangup_reason: string | null }>(
        rest,
        items[0]!.session_id,
        TIMEOUT_MS,
        AbortSignal.timeout(TIMEOUT_MS),
      );
      t.match(session, { status: 'ended', hangup_reason: 'caller_hangup' }, carrier);
      const transcript = await rest.get<{ items: { role: string; text: string }[] }>(`${at}/transcript`);
      t.equal(transcript.items.at(-1)?.text, message, JSON.stringify(transcript.items));
      const events = await rest.get<{ items: { data: object }[] }>(`${at}/events?type=transfer`);
      t.match(
        events.items.map(({ data }) => data),
        [{ phase: 'begun' }, { phase: 'failed', code: 'busy' }],
        carrier,
      );
      t.equal(events.items.length, 2, `${carrier}: once, though webhooks come twice`);
    }),
  );
  t.equal(connections, 0, NOWHERE_ELSE);
});

void t.test('an agent of one’s own is followed by the emulated model: its facts, its tool', async (t) => {
  const { desk, demonstration, receivers } = running;
  const { rest, orgId, projectId } = demonstration;
  const agent = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/projects/${projectId}/agents`, {
    name: 'Bakery',
    system_prompt:
      'You answer the telephone of a bakery. The bakery opens at six and closes at two. Take orders with the tool order_bread.',
    greeting: 'Good morning.',
  });
  const tool = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/tools`, {
    name: 'order_bread',
    description: 'Orders bread.',
    parameters: {
      type: 'object',
      properties: {
        quantity: { type: 'integer', description: 'How many' },
        day: { type: 'string', description: 'Day of the week' },
      },
      required: ['quantity', 'day'],
    },
    type: 'webhook',
    webhook: { url: receivers.toolUrl, method: 'POST' },
  });
  await rest.post(`/v1/agents/${agent.id}/tools`, { tool_id: tool.id });
  const placed = await desk.place({
    carrier: 'twilio',
    to: '+14155550102',
    agent_id: agent.id,
    steps: [{ say: 'When do you open?' }, { say: 'I would like to order two loaves of bread for Friday.' }],
  });
  await placed.outcome;
  await waitForPostCall(rest, placed.session_id!, TIMEOUT_MS, AbortSignal.timeout(TIMEOUT_MS));
  const at = `/v1/sessions/${placed.session_id}`;
  const { items } = await rest.get<{ items: { role: string; text: string }[] }>(`${at}/transcript`);
  t.match(
    items.filter(({ role }) => role === 'agent').map(({ text }) => text),
    [/^Good morning/, /^The bakery opens at six and closes at two/, /reference: L 42, day: Friday/],
  );
  const events = await rest.get<{ items: { data: object }[] }>(`${at}/events?type=tool_started`);
  t.match(events.items, [{ data: { name: 'order_bread', arguments: '{"quantity":2,"day":"Friday"}' } }]);
});

// No other call is held meanwhile: for a moment the account cannot dial.
void t.test('an account of an earlier version gets what it dials by', { buffered: false }, async (t) => {
  const { platform, demonstration } = running;
  const { orgId, projectId, lines } = demonstration;
  const { telephonyAccountId: id, emulator } = lines.telnyx!;
  const scope = new Scope(platform.controlPlane.services.database, {
    ...{ orgId, projectId, projects: null, role: 'owner' },
  });
  const { telephonyAccounts } = platform.controlPlane.services;
  const { api_key, public_key } = emulator.credentials;
  const stored = (await telephonyAccounts.find(id))!;
  await telephonyAccounts.change(scope, 'test', '', stored, { credentials: { api_key, public_key } });
  await verifyAccount(platform, scope, id, emulator.credentials);
  const renewed = (await telephonyAccounts.find(id))!;
  const { box } = platform.controlPlane.services;
  t.same(JSON.parse(box.decryptSecret(renewed.credentials)), emulator.credentials);
  t.equal(renewed.status, 'active');
});

// All of them do: no other call is held meanwhile.
void t.test('emulated callers hang up when the platform stops', { buffered: false }, async (t) => {
  const { desk } = running;
  // An order that names no number is for that of the demonstration.
  const placed = await desk.place({ carrier: 'plivo', steps: [{ say: CALLER_LINES.booking }] });
  await desk.hangUp();
  t.match(await placed.outcome, { ended_by: 'caller' }, 'in the middle of the greeting');
});
