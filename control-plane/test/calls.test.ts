import { newId, uuidV7 } from '@parley/shared/ids/new-id';
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { EventStreamClient } from './fixtures/event-stream.ts';
import { chatAnswer, eventually, openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';

t.setTimeout(240_000);

const llm = await openLoopbackServer(() => chatAnswer({ ai_summary: 'They want ten licences.' }));
t.teardown(() => llm[Symbol.asyncDispose]());
const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({ clock, env: { OPENAI_BASE_URL: `${llm.url}/v1` } });
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const { callEvents, postCall, reaper, recordings, sessionStore, usageSums } = plane.app.services;

type Session = SessionResponse & {
  detail: { variables: Record<string, string>; post_call: { status: string } };
};
interface Events {
  items: { id: string; index: number; type: string; data: Record<string, unknown> }[];
}

async function begin(body: object = { channel: 'telephony', provider: 'plivo' }): Promise<TestPlan> {
  const { body: session } = await plane.call<SessionResponse>('POST', '/v1/sessions', { body });
  const start = { carrier_call_id: randomUUID() };
  return (
    await gateway.redeem(session.ws_ticket ? { ticket: session.ws_ticket, start } : { token: session.token! })
  ).body;
}

const read = async (plan: TestPlan) =>
  (await plane.call<Session>('GET', `/v1/sessions/${plan.session_id}`)).body;
const eventsOf = async (plan: TestPlan) =>
  (await plane.call<Events>('GET', `/v1/sessions/${plan.session_id}/events?limit=200`)).body.items;
const statesOf = async (plan: TestPlan) =>
  (await eventsOf(plan)).filter((event) => event.type === 'state').map((event) => event.data['status']);

const key = plane.first.apiKey;
const follow = (path: string, more: { token?: string; lastEventId?: string } = {}) =>
  EventStreamClient.open(`${plane.url}${path}`, { token: key, ...more });
const typesOf = (client: EventStreamClient) => client.events.map(({ data }) => data['type']);

async function handle(...events: CallEvent[]): Promise<void> {
  for (const event of events) await callEvents.handle(event);
}

void t.test('a call goes from its start to its report, and can be read on the way', async (t) => {
  const plan = await begin();
  const inbox = await gateway.commands();
  const started = gateway.started(plan);
  await handle(started, gateway.turn(plan, 0, 'agent', 'Hello, this is Acme.'));
  t.match(await read(plan), { status: 'in_progress', started_at: started.data['answered_at'] });
  const live = await plane.call<{ items: { text: string }[] }>(
    'GET',
    `/v1/sessions/${plan.session_id}/transcript`,
  );
  t.match(live.body.items, [{ index: 0, role: 'agent', text: 'Hello, this is Acme.' }]);

  const ended = gateway.ended(plan);
  await handle(gateway.event(plan, 'turn_decision', { action: 'answer', rule: 'stt_final' }), ended);
  t.match(await read(plan), {
    status: 'ended',
    ended_at: '2026-01-01T10:01:05.250Z',
    ended_by: 'caller',
    hangup_reason: 'caller_hangup',
    failure_reason: null,
    duration_seconds: 65.25,
    agent_duration_seconds: 20,
    message_count: 2,
    avg_agent_latency_ms: 512.5,
    avg_user_latency_ms: 900,
    language: 'en-US',
    detail: { variables: { customer: 'Asha' } },
  });
  t.match((await inbox.next('report_stored')).args, { event_id: ended.id });
  t.same(await statesOf(plan), ['created', 'in_progress', 'ended']);
  const events = await eventsOf(plan);
  t.same(
    events.map((event) => event.index),
    events.map((event) => event.index).sort((a, b) => a - b),
  );
  const [, second, ...later] = events;
  const after = await plane.call<Events>(
    'GET',
    `/v1/sessions/${plan.session_id}/events?after_index=${second!.index}&type=turn_decision&type=state`,
  );
  const wanted = later.filter((event) => ['turn_decision', 'state'].includes(event.type));
  t.same(
    after.body.items.map((event) => event.id),
    wanted.map((event) => event.id),
  );
  const metrics = await plane.call('GET', `/v1/sessions/${plan.session_id}/metrics`);
  t.match(metrics.body, {
    turns: 2,
    turn_e2e_ms: { p95: 610 },
    tool_ms: null,
    usage: { tts_characters: 300 },
  });
  const text = await plane.call<string>('GET', `/v1/sessions/${plan.session_id}/transcript?format=text`);
  t.match(text.body, /\[00:00:01\] caller: I want to buy ten licences\.\n/);
  t.match(text.headers.get('content-type'), /text\/plain/);
  await inbox.close();
});

void t.test("what a call's replies took is in the figures of its day", async (t) => {
  const plan = await begin();
  const said = { role: 'agent', text: 'Yes.', start_ms: 0, end_ms: 900 } as const;
  const parts = { stt_final: 300, llm_first_token: 280, tts_first_audio: 140, thought_ahead: null };
  const turns = [400, 800, 3000].map((e2e, turn_index) => ({
    ...{ ...said, turn_index, interrupted: false, redacted: false },
    latency: { e2e, ...parts },
  }));
  await handle(gateway.started(plan), gateway.ended(plan, { turns }));
  await usageSums.work(new AbortController().signal);
  const { org, project } = plane.first;
  const path = `/v1/orgs/${org._id}/projects/${project._id}/statistics/daily?from=2026-01-01&to=2026-01-01`;
  const { body } = await plane.call<{ period: { reply_latency: Record<string, number> } }>('GET', path);
  const { replies, median_ms, turn_end_median_ms, llm_median_ms, voice_median_ms } =
    body.period.reply_latency;
  t.equal(replies, 3);
  for (const [found, ms] of [
    [median_ms, 800],
    [turn_end_median_ms, 300],
    [llm_median_ms, 280],
    [voice_median_ms, 140],
  ])
    t.ok(Math.abs(found! - ms!) <= 0.05 * ms! + 1, `${found} is near ${ms}`);
});

void t.test('times of words are kept beside their turn, and read where they are asked for', async (t) => {
  const plan = await begin();
  const inbox = await gateway.commands();
  const spoken = (text: string) =>
    text.split(' ').map((word, i) => ({ text: word, start_ms: i * 100, end_ms: i * 100 + 90 }));
  const said = (index: number, role: 'agent' | 'caller', text: string, words?: object[]) => {
    const event = gateway.turn(plan, index, role, text);
    return { ...event, data: { ...event.data, ...(words && { words }) } };
  };
  const hello = spoken('Hello, this is Acme.');
  await handle(
    gateway.started(plan),
    said(0, 'agent', 'Hello, this is Acme.', hello),
    said(1, 'caller', 'My card is 4111', spoken('My card is 4111')),
    said(2, 'agent', 'So it is.', [{ text: 'x'.repeat(1000), start_ms: 0, end_ms: 1 }]),
  );
  interface Transcript {
    items: { text: string; words?: object[] | null }[];
  }
  const at = `/v1/sessions/${plan.session_id}/transcript`;
  const transcript = async (query = '?words=true') =>
    (await plane.call<Transcript>('GET', at + query)).body.items;
  const wordsOf = async () => (await transcript()).map(({ words }) => words);
  t.same(await wordsOf(), [hello, spoken('My card is 4111'), null]);
  await handle(said(1, 'caller', 'My card is [card_number]'));
  t.same(await wordsOf(), [hello, null, null], 'what was masked has none any more');
  const turns = [
    { text: 'Hello, this is Acme.', role: 'agent' as const },
    { text: 'My card is [card_number] for two', role: 'caller' as const },
  ].map((turn, i) => ({
    ...turn,
    turn_index: i,
    start_ms: i,
    end_ms: i + 1,
    interrupted: false,
    redacted: false,
  }));
  await handle(gateway.ended(plan, { turns }));
  t.same(await wordsOf(), [hello, null, null], 'the report, which has none, takes none away');
  t.ok((await transcript('')).every((turn) => !('words' in turn)));
  t.ok((await transcript('?words=false')).every((turn) => !('words' in turn)));
  t.match(await plane.call('GET', `${at}?words=true&format=vtt`), {
    status: 422,
    body: { detail: [{ loc: ['query', 'words'] }] },
  });
  const events = await eventsOf(plan);
  t.ok(events.some(({ type }) => type === 'turn'));
  t.notMatch(JSON.stringify(events), /"words":\[/);
  await handle(said(0, 'agent', 'Hello, this is', undefined));
  t.same((await wordsOf())[0], null, 'another text has other words');
  t.equal((await plane.call('DELETE', `/v1/sessions/${plan.session_id}`)).status, 204);
  await handle(said(0, 'agent', 'Hello, this is Acme.', hello));
  t.same(await transcript(), []);
  await inbox.close();
});

void t.test('who follows a session is told what is stored, then what happens', async (t) => {
  const plan = await begin();
  const path = `/v1/sessions/${plan.session_id}/events`;
  await handle(gateway.started(plan), gateway.turn(plan, 0, 'agent', 'Hello, this is Acme.'));
  const client = await follow(path);
  t.equal(client.status, 200);
  t.match(client.headers, { 'content-type': /^text\/event-stream/, 'x-accel-buffering': 'no' });
  await client.until(({ events }) => events.length === 4);
  await handle(gateway.turn(plan, 1, 'caller', 'Ten licences.'));
  await client.until(({ events }) => events.length === 5);
  const other = await begin();
  await handle(gateway.started(other), gateway.ended(other), gateway.ended(plan));
  await client.until((client) => typesOf(client).includes('call_ended'));
  const stored = await eventsOf(plan);
  t.same(
    client.events.map(({ id }) => id),
    stored.filter(({ id }) => client.events.some((event) => event.id === id)).map(({ id }) => id),
    'in order, each once, and none of another session',
  );
  t.same(
    client.events.flatMap(({ data }) => (data['type'] === 'turn' ? [data['data']] : [])),
    [
      { ...stored.find(({ type }) => type === 'turn')!.data, text: 'Hello, this is Acme.' },
      { ...stored.findLast(({ type }) => type === 'turn')!.data, text: 'Ten licences.' },
    ],
    'turns have their text',
  );
  const { text: _, ...turn } = client.events.find(({ data }) => data['type'] === 'turn')!.data['data'] as {
    text: string;
  };
  t.same(turn, stored.find(({ type }) => type === 'turn')!.data);
  client.close();

  const again = await follow(`${path}?type=state&type=turn`, { lastEventId: client.events[2]!.id! });
  const rest = stored.filter(
    ({ type, index }) => ['state', 'turn'].includes(type) && index > stored[2]!.index,
  );
  await again.until(({ events }) => events.length >= rest.length);
  t.same(
    again.events.map(({ id }) => id),
    rest.map(({ id }) => id),
    'who was cut off goes on behind the last event',
  );
  again.close();
});

void t.test('who follows a project is told of its sessions alone', async (t) => {
  const { org, project } = plane.first;
  const path = `/v1/orgs/${org._id}/projects/${project._id}/sessions/live`;
  const stranger = await plane.makeTenant();
  const client = await follow(path);
  t.equal((await follow(path, { token: stranger.apiKey })).status, 404);
  const plan = await begin();
  await handle(gateway.started(plan));
  const live = await plane.call<{ items: { session_id: string }[] }>('GET', path);
  t.ok(live.body.items.some(({ session_id }) => session_id === plan.session_id));
  await plane.call('POST', '/v1/sessions', { token: stranger.apiKey, body: {} });
  await handle(gateway.ended(plan));
  const sessions = ({ events }: EventStreamClient) => events.map(({ data }) => data['session'] as Session);
  await client.until((client) => sessions(client).at(-1)?.status === 'ended');
  t.ok(sessions(client).every(({ session_id }) => session_id === plan.session_id));
  t.match(await read(plan), sessions(client).at(-1)!);
  client.close();
  const again = await follow(path, { lastEventId: client.events[0]!.id! });
  await again.until((client) =>
    sessions(client).some(({ session_id, status }) => session_id === plan.session_id && status === 'ended'),
  );
  again.close();
});

void t.test('words are asked for while somebody follows, passed on and stored nowhere', async (t) => {
  const plan = await begin();
  const inbox = await gateway.commands();
  const ofPlan = (command: { session_id: string }) => command.session_id === plan.session_id;
  const client = await follow(`/v1/sessions/${plan.session_id}/events`);
  await client.until(({ events }) => events.length > 0);
  t.notOk(inbox.all.some(ofPlan), 'no gateway has the call yet');
  await handle(gateway.started(plan));
  const command = await inbox.next('watch', ofPlan);
  t.equal(Date.parse(command.args['until'] as string) - clock.now(), 45_000);
  await handle(gateway.event(plan, 'words', { role: 'caller', text: 'I want', final: false }));
  await client.until((client) => typesOf(client).includes('words'));
  const [words] = client.events.filter(({ data }) => data['type'] === 'words');
  t.match(words, { id: undefined, data: { data: { role: 'caller', text: 'I want', final: false } } });
  const stored = await eventsOf(plan);
  t.notOk(stored.some(({ type }) => type === 'words'));
  await plane.atRest();
  clock.advance(30_000);
  await inbox.next('watch', (other) => ofPlan(other) && other !== command);
  client.close();
  await handle(gateway.ended(plan));
  await inbox.close();
});

void t.test('events of the bus are handled and acknowledged, in order', async (t) => {
  const real = await openTestControlPlane({ env: { OPENAI_BASE_URL: `${llm.url}/v1` } });
  t.teardown(() => real[Symbol.asyncDispose]());
  const own = new TestGateway(real);
  const { body } = await real.call<SessionResponse>('POST', '/v1/sessions', { body: {} });
  const plan = (await own.redeem({ token: body.token! })).body;
  const inbox = await own.commands();
  const ended = own.ended(plan);
  await real.bus.events.append([own.started(plan), own.turn(plan, 0, 'agent', 'Hello'), ended]);
  await inbox.next('report_stored', (command) => command.args['event_id'] === ended.id);
  const done = await real.call<Session>('GET', `/v1/sessions/${plan.session_id}`);
  t.match(done.body, { status: 'ended', message_count: 2 });
  await inbox.close();
});

void t.test('rule 22: every event may come again, after a crash at any point', async (t) => {
  const plan = await begin();
  const events = [
    gateway.started(plan),
    gateway.turn(plan, 0, 'agent', 'Hello, this is Acme.'),
    gateway.turn(plan, 1, 'caller', 'I want to buy ten licences.'),
    gateway.event(plan, 'command_result', { command_id: 'cmd_1', ok: true }),
    gateway.ended(plan),
  ];
  for (let upTo = 1; upTo <= events.length; upTo++) await handle(...events.slice(0, upTo));
  await handle(...events, ...events);
  t.same(await statesOf(plan), ['created', 'in_progress', 'ended']);
  const kinds = (await eventsOf(plan)).map((event) => event.type);
  t.same(kinds.filter((kind) => kind === 'command_result').length, 1);
  t.equal((await read(plan)).message_count, 2);
});

void t.test('the report alone is enough: everything before it may be lost', async (t) => {
  const plan = await begin();
  await handle(gateway.ended(plan));
  t.match(await read(plan), { status: 'ended', started_at: '2026-01-01T10:00:00.000Z', message_count: 2 });
  t.same(await statesOf(plan), ['created', 'in_progress', 'ended']);
});

void t.test('a call that was claimed but never answered does not become one that ended', async (t) => {
  const plan = await begin();
  await handle(
    gateway.ended(plan, {
      answered_at: null,
      ended_by: 'system',
      hangup_reason: undefined,
      failure_reason: 'stt_error',
      turns: [],
    } as never),
  );
  t.match(await read(plan), { status: 'failed', failure_reason: 'stt_error', started_at: null });
});

void t.test('a leg that was taken over tells, but moves nothing', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan));
  const renewed = await plane.call<{ ws_ticket: string }>('POST', `/v1/sessions/${plan.session_id}/token`);
  const call = (await sessionStore.find(plan.session_id))!.carrier_call_id!;
  const second = (await gateway.redeem({ ticket: renewed.body.ws_ticket, start: { carrier_call_id: call } }))
    .body;
  t.equal(second.leg, 1);
  const inbox = await gateway.commands();
  const used = (tokens: number) => ({
    stt_seconds: 10,
    llm_input_tokens: tokens,
    llm_output_tokens: 1,
    tts_characters: 100,
    carrier_seconds: 5.5,
  });
  const old = gateway.ended(plan, { usage: used(1000), agent_talk_ms: 1500 });
  await handle(old);
  t.equal((await read(plan)).status, 'in_progress');
  await inbox.next('report_stored', (command) => command.args['event_id'] === old.id);
  await handle(
    gateway.started(second),
    gateway.event(second, 'transfer', { transfer_id: 't-1', phase: 'begun' }),
  );
  await handle(
    gateway.started(plan),
    gateway.event(plan, 'transfer', { transfer_id: 't-1', phase: 'bridged' }),
  );
  t.equal((await read(plan)).status, 'transferring', 'the leg before has no say');
  const startedAt = Date.parse((await read(plan)).started_at!);
  const last = gateway.ended(second, {
    usage: used(234),
    agent_talk_ms: 2500,
    answered_at: new Date(startedAt + 60_000).toISOString(),
    ended_at: new Date(startedAt + 100_000).toISOString(),
    duration_ms: 40_000,
  });
  await handle(last, last);
  t.match(await read(plan), { status: 'ended', agent_duration_seconds: 4, duration_seconds: 100 });
  const metrics = async () =>
    (await plane.call<{ usage: object }>('GET', `/v1/sessions/${plan.session_id}/metrics`)).body.usage;
  const both = {
    stt_seconds: 20,
    llm_input_tokens: 1234,
    llm_output_tokens: 2,
    tts_characters: 200,
    carrier_seconds: 11,
  };
  t.match(await metrics(), both, 'what both legs used');
  await handle({ ...old, id: newId('evt') });
  t.match(await metrics(), both, 'however often and late they tell it');
  await inbox.close();
});

void t.test('of a leg that was taken over and never reports, nothing is left undecided', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan));
  const call = (await sessionStore.find(plan.session_id))!.carrier_call_id!;
  const takeOver = async () => {
    const { body } = await plane.call<{ ws_ticket: string }>('POST', `/v1/sessions/${plan.session_id}/token`);
    return (await gateway.redeem({ ticket: body.ws_ticket, start: { carrier_call_id: call } })).body;
  };
  // The gateway of the second leg dies before its first event, that of the first one reports late.
  const second = await takeOver();
  const third = await takeOver();
  t.equal(third.leg, 2);
  const stored = { recording_id: plan.record.recording_id, status: 'stored' as const };
  await handle(gateway.ended(plan, { recording: { ...stored, status: 'recording' } }));
  await handle(
    gateway.started(third),
    gateway.ended(third, {
      recording: { ...stored, status: 'recording', recording_id: third.record.recording_id },
    }),
  );
  const statuses = async () =>
    Promise.all(
      [plan, second, third].map(async ({ record }) => (await recordings.find(record.recording_id))?.status),
    );
  t.same(await statuses(), ['recording', 'failed', 'recording'], 'others are still being stored');
  await handle(gateway.event(plan, 'recording', stored));
  await handle(gateway.event(second, 'recording', { ...stored, recording_id: second.record.recording_id }));
  t.same(await statuses(), ['ready', 'ready', 'recording'], 'and it may be stored all the same');
  t.match(await read(plan), { status: 'ended' });
});

void t.test('a late report of a leg that was taken over tells what became of its recording', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan));
  const call = (await sessionStore.find(plan.session_id))!.carrier_call_id!;
  const { body } = await plane.call<{ ws_ticket: string }>('POST', `/v1/sessions/${plan.session_id}/token`);
  await gateway.redeem({ ticket: body.ws_ticket, start: { carrier_call_id: call } });
  await handle(
    gateway.ended(plan, {
      recording: { recording_id: plan.record.recording_id, status: 'failed', error: 'disk' },
    }),
  );
  t.match(await recordings.find(plan.record.recording_id), { status: 'failed', error: 'disk' });
});

void t.test('transfers move the status', async (t) => {
  const plan = await begin();
  const transfer = (phase: 'begun' | 'bridged' | 'failed') =>
    gateway.event(plan, 'transfer', { transfer_id: 't-1', phase });
  await handle(gateway.started(plan), transfer('begun'));
  t.equal((await read(plan)).status, 'transferring');
  await handle(transfer('failed'));
  t.equal((await read(plan)).status, 'in_progress');
  await handle(transfer('begun'), transfer('bridged'));
  t.equal((await read(plan)).status, 'transferred');
  await handle(gateway.ended(plan, { hangup_reason: 'transferred' }));
  t.same(await statesOf(plan), [
    'created',
    'in_progress',
    'transferring',
    'in_progress',
    'transferring',
    'transferred',
    'ended',
  ]);
});

void t.test('who has answered is asked of calls that go out, and written down as it is known', async (t) => {
  const made = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`,
    { body: { name: 'Caller', config: { answer_detection: { decide_within_seconds: 4 } } } },
  );
  const agent_id = made.body.id;
  t.notOk((await begin({ agent_id })).answer_detection, 'in a browser nobody answers');
  t.notOk((await begin()).answer_detection, 'without an agent nobody asks');
  const plan = await begin({ agent_id, channel: 'telephony', provider: 'plivo' });
  t.same(plan.answer_detection, { deadline_ms: 4000, carrier: 'none' });
  const answer = { by: 'greeting' as const, after_ms: 1800, evidence: ['voice 600 ms'] };
  await handle(gateway.started(plan), gateway.event(plan, 'answer_class', { class: 'human', ...answer }));
  t.match(await read(plan), { detail: { answered_by: 'human', outcome: null } });
  await handle(gateway.event(plan, 'answer_class', { ...answer, class: 'voicemail', by: 'phrase' }));
  const ended = { ended_by: 'agent', hangup_reason: 'voicemail' } as const;
  await handle(gateway.ended(plan, ended));
  t.match(await read(plan), {
    status: 'ended',
    hangup_reason: 'voicemail',
    detail: { answered_by: 'voicemail', outcome: 'voicemail' },
  });
  const said = (await eventsOf(plan)).filter(({ type }) => type === 'answer_class');
  t.match(said, [{ data: { class: 'human', evidence: ['voice 600 ms'] } }, { data: { class: 'voicemail' } }]);
});

void t.test('events of sessions nobody knows, and data nobody understands, stop nothing', async (t) => {
  const plan = await begin();
  const inbox = await gateway.commands();
  const unknown = { ...gateway.ended(plan), session_id: randomUUID() };
  await handle(unknown);
  await inbox.next('report_stored', (command) => command.args['event_id'] === unknown.id);
  const other = (type: string, data: CallEvent['data']) =>
    gateway.event(plan, 'error', { code: 'none' }, { type, data });
  await handle(other('turn', { nonsense: true }), other('call_started', {}));
  const broken = other('call_ended', { nonsense: true });
  await handle(broken);
  await inbox.next('report_stored', (command) => command.args['event_id'] === broken.id);
  t.equal((await read(plan)).status, 'created');
  await handle(other('brand_new_type', { a: 1 }));
  t.match((await eventsOf(plan)).at(-1), { type: 'brand_new_type', data: { a: 1 } });
  await inbox.close();
});

void t.test('an agent that keeps no transcript has none, and is analysed all the same', async (t) => {
  const agent = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`,
    { body: { name: 'Discreet', config: { privacy: { store_transcript: false } } } },
  );
  const plan = await begin({ agent_id: agent.body.id });
  await handle(gateway.started(plan), gateway.turn(plan, 0, 'agent', 'secret words'), gateway.ended(plan));
  await eventually(async () => (await read(plan)).detail.post_call.status === 'done');
  const transcript = await plane.call<{ total: number }>('GET', `/v1/sessions/${plan.session_id}/transcript`);
  t.equal(transcript.body.total, 0);
  t.notMatch(JSON.stringify(await eventsOf(plan)), /secret words|ten licences/);
  const rows = await plane.call<{ items: object[] }>('GET', `/v1/sessions/${plan.session_id}/analyses`);
  t.match(rows.body.items, [
    {
      rule_name: 'lead',
      source: 'system',
      status: 'done',
      structured_json: { ai_summary: 'They want ten licences.' },
    },
  ]);
  t.match(llm.received.at(-1)!.body, /ten licences/);
});

void t.test('erasing removes what was said, and what comes later is not kept', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan), gateway.turn(plan, 0, 'agent', 'Hello'));
  const erase = () => plane.call('DELETE', `/v1/sessions/${plan.session_id}`);
  t.equal((await erase()).status, 409, 'not while it is live');
  const ended = gateway.ended(plan);
  await handle(ended);
  t.equal((await erase()).status, 204);
  await handle(gateway.turn(plan, 1, 'caller', 'Too late'), ended);
  const transcript = await plane.call<{ total: number }>('GET', `/v1/sessions/${plan.session_id}/transcript`);
  t.equal(transcript.body.total, 0);
  t.match(await read(plan), { duration_seconds: 65.25, detail: { variables: {}, from_number: null } });
  t.same([...new Set((await eventsOf(plan)).map((event) => event.type))], ['state']);
});

async function sweep(): Promise<void> {
  await reaper.sweep(new AbortController().signal);
}

/** Moves the clock; the reaper's own rounds are over before anything else is asked of it. */
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await plane.atRest();
}

/** Lets the reaper trust the bus. */
async function settle(): Promise<void> {
  await sweep();
  await pass(61_000);
}

void t.test('a call that no agent takes is over in time, whatever its carrier tells', async (t) => {
  const plan = await begin();
  await handle(gateway.ended(plan));
  const other = (await sessionStore.find(plan.session_id))!;
  const now = clock.now();
  const treated = await sessionStore.insert({
    ...other,
    ...{ _id: uuidV7(now), direction: 'inbound', status: 'ringing', leg: -1, join_by: new Date(now) },
    ...{ telephony_account_id: null, carrier_call_id: null, closed_by: null, report_id: null },
    treatment: {
      ...{ reason: 'overflow', action: 'forward', message: '', language: 'en-US' },
      ...{ forward_to: '+14155550100', caller_id: '+14155550101', forward_result: 'answered' },
    },
  });
  await pass(66_000);
  await sweep();
  t.match(await sessionStore.find(treated._id), {
    ...{ status: 'ended', hangup_reason: 'overflow', outcome: 'forwarded', failure_reason: null },
    post_call_status: 'skipped',
  });
});

void t.test('a session nobody joined expires with its last credential', async (t) => {
  const { body } = await plane.call<SessionResponse>('POST', '/v1/sessions', {
    body: { channel: 'telephony', provider: 'plivo' },
  });
  const status = async () =>
    (await plane.call<Session>('GET', `/v1/sessions/${body.session_id}`)).body.status;
  await pass(40_000);
  await plane.call('POST', `/v1/sessions/${body.session_id}/token`);
  await pass(40_000);
  await sweep();
  t.equal(await status(), 'created', 'the new credential still lives');
  await pass(40_000);
  await sweep();
  t.equal(await status(), 'expired');
});

void t.test(
  'rule 20: a call whose gateway died is closed by the reaper; a late report has the last word',
  async (t) => {
    const plan = await begin();
    await handle(gateway.started(plan));
    const beat = {
      gateway_id: gateway.id,
      url: '',
      capacity: 1,
      calls: 1,
      loop_delay_p99_ms: 0,
      draining: false,
      version: '1',
    };
    await plane.bus.presence.beat(beat);
    await plane.bus.presence.holdCalls(gateway.id, [plan.session_id]);
    await settle();
    await plane.bus.presence.beat(beat);
    await plane.bus.presence.holdCalls(gateway.id, [plan.session_id]);
    await sweep();
    t.equal((await read(plan)).status, 'in_progress', 'held');
    await pass(20_000);
    await plane.bus.presence.beat(beat);
    await pass(11_000);
    await plane.bus.presence.beat(beat);
    await sweep();
    await pass(14_000);
    await sweep();
    t.equal((await read(plan)).status, 'in_progress', 'not held, but its gateway lives');
    await pass(16_000);
    await sweep();
    t.equal((await read(plan)).status, 'in_progress', 'first seen without anybody');
    await pass(61_000);
    await sweep();
    t.match(await read(plan), {
      status: 'ended',
      ended_by: 'system',
      failure_reason: 'media_timeout',
      detail: { post_call: { status: 'pending' } },
    });
    await handle(gateway.ended(plan));
    t.match(await read(plan), {
      status: 'ended',
      ended_by: 'caller',
      failure_reason: null,
      duration_seconds: 65.25,
    });
    await eventually(async () => (await read(plan)).detail.post_call.status === 'done');
    t.pass('the analysis did not wait any longer');
  },
);

void t.test('a claim that never became a call is closed, though its gateway lives', async (t) => {
  await settle();
  const plan = await begin();
  const { status } = await read(plan);
  const beat = () =>
    plane.bus.presence.beat({
      gateway_id: gateway.id,
      url: '',
      capacity: 1,
      calls: 0,
      loop_delay_p99_ms: 0,
      draining: false,
      version: '1',
    });
  await beat();
  await sweep();
  t.equal((await read(plan)).status, status, 'its call may be about to begin');
  await pass(50_000);
  await beat();
  await pass(11_000);
  await sweep();
  t.match(await read(plan), {
    status: /expired|failed/,
    ended_by: 'system',
    failure_reason: 'media_timeout',
    detail: { post_call: { status: 'skipped' } },
  });
  const recording = () => recordings.find(plan.record.recording_id);
  t.match(await recording(), { status: 'failed', error: 'gateway_lost' }, 'nothing is left undecided');
  await handle(
    gateway.event(plan, 'recording', { recording_id: plan.record.recording_id, status: 'stored' }),
  );
  t.match(await recording(), { status: 'ready', error: null }, 'unless it was stored all the same');
});

void t.test('a report that says nothing of the recording leaves none under way', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan));
  await handle(gateway.ended(plan, { failure_reason: 'internal', ended_by: 'system' }));
  t.match(await recordings.find(plan.record.recording_id), { status: 'failed', error: 'gateway_lost' });
});

void t.test('a report after the job corrects the record and starts nothing', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan));
  await settle();
  await sweep();
  await pass(61_000);
  await sweep();
  t.equal((await read(plan)).failure_reason, 'media_timeout');
  await pass(11 * 60_000);
  await eventually(async () => {
    await postCall.work(new AbortController().signal);
    return (await read(plan)).detail.post_call.status === 'done';
  });
  const asked = llm.received.length;
  await handle(gateway.ended(plan));
  t.match(await read(plan), {
    failure_reason: null,
    message_count: 2,
    detail: { post_call: { status: 'done' } },
  });
  await postCall.work(new AbortController().signal);
  t.equal(llm.received.length, asked);
});

void t.test('the reaper closes nothing while the bus is silent, nor right after', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan));
  await sweep();
  const ping = plane.bus.ping.bind(plane.bus);
  const bus: { ping(): Promise<void> } = plane.bus;
  bus.ping = () => Promise.reject(new Error('gone'));
  t.teardown(() => (bus.ping = ping));
  await pass(120_000);
  await sweep();
  bus.ping = ping;
  await sweep();
  t.equal((await read(plan)).status, 'in_progress');
  await pass(61_000);
  await sweep();
  t.equal((await read(plan)).status, 'ended');
});

void t.test('rule 22: slots of a running call are renewed, and released at its end', async (t) => {
  const agent = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`,
    { body: { name: 'Single', config: { limits: { max_concurrent_sessions: 1 } } } },
  );
  const plan = await begin({ agent_id: agent.body.id });
  await handle(gateway.started(plan));
  const scope = `agent:${agent.body.id}`;
  for (let minute = 0; minute < 5; minute++) {
    await plane.bus.presence.holdCalls(gateway.id, [plan.session_id]);
    await sweep();
    await pass(60_000);
  }
  t.equal(await plane.bus.slots.count(scope), 1);
  await handle(gateway.ended(plan));
  t.equal(await plane.bus.slots.count(scope), 0);
});

void t.test('ending a live call asks its gateway', async (t) => {
  const plan = await begin();
  await handle(gateway.started(plan));
  const inbox = await gateway.commands();
  const mine = (command: { session_id: string }) => command.session_id === plan.session_id;
  t.equal((await plane.call('POST', `/v1/sessions/${plan.session_id}/end`)).status, 202);
  t.match((await inbox.next('end', mine)).args, { ended_by: 'api', hangup_reason: 'api_hangup' });
  const say = { name: 'paid', variables: { amount: '10' }, say: 'Thank you.' };
  t.equal((await plane.call('POST', `/v1/sessions/${plan.session_id}/events`, { body: say })).status, 202);
  t.same((await inbox.next('event', mine)).args, say);
  for (let i = 0; i < 19; i++)
    await plane.call('POST', `/v1/sessions/${plan.session_id}/events`, { body: say });
  t.equal((await plane.call('POST', `/v1/sessions/${plan.session_id}/events`, { body: say })).status, 429);
  await inbox.close();
});

void t.test('whoever may write brings the caller of a live call to somebody', async (t) => {
  const agents = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`;
  const make = async (body: object) => {
    const made = await plane.call<{ id: string }>('POST', agents, { body: { name: randomUUID(), ...body } });
    t.equal(made.status, 201);
    return made.body.id;
  };
  const destinations = [
    { id: 'sales', target: { type: 'phone', phone_number: '+14155550123' } },
    { id: 'colleague', target: { type: 'agent', agent_id: await make({}) } },
  ];
  const agent_id = await make({ config: { transfer: { destinations } } });
  const plan = await begin({ channel: 'telephony', provider: 'plivo', agent_id });
  const ask = (body: object, token?: string) =>
    plane.call<{ command_id: string }>('POST', `/v1/sessions/${plan.session_id}/transfer`, {
      body,
      ...(token !== undefined && { token }),
    });
  const inbox = await gateway.commands();
  const sent = async ({ command_id }: { command_id: string }) =>
    (await inbox.next('transfer', (command) => command.command_id === command_id)).args;
  t.equal((await ask({ destination_id: 'colleague' })).status, 409, 'nobody has answered yet');
  await handle(gateway.started(plan));

  const toAgent = await ask({ destination_id: 'colleague' });
  t.equal(toAgent.status, 202);
  t.same(await sent(toAgent.body), { destination_id: 'colleague' });
  for (const body of [{ destination_id: 'sales' }, { phone_number: '+14155550123' }])
    t.equal((await ask(body)).status, 409, 'no account of the project carries the call');
  const ours = { telephony_account_id: newId('tel', clock.now()), carrier_call_id: 'call' };
  await sessionStore.change(plan.session_id, ours);
  t.same(await sent((await ask({ destination_id: 'sales' })).body), { destination_id: 'sales' });
  t.match(await sent((await ask({ phone_number: '+14155550177' })).body), {
    destination: {
      target: { type: 'phone', phone_number: '+14155550177' },
      ...{ mode: 'warm', brief_to_target: 'summary', on_failure: 'return' },
    },
  });
  const both = { destination_id: 'sales', phone_number: '+14155550177' };
  for (const body of [{ destination_id: 'nobody' }, {}, both, { phone_number: '112' }])
    t.equal((await ask(body)).status, 422);
  const viewer = await plane.call<{ key: string }>(
    'POST',
    `/v1/projects/${plane.first.project._id}/api-keys`,
    {
      body: { name: 'viewer', role: 'viewer' },
    },
  );
  t.equal((await ask({ destination_id: 'sales' }, viewer.body.key)).status, 403);
  t.equal((await ask({ destination_id: 'sales' }, (await plane.makeTenant()).apiKey)).status, 404);
  await inbox.close();
});

void t.test('streams end with the right to read, have a limit, and are closed first', async (t) => {
  const plan = await begin();
  const path = `/v1/sessions/${plan.session_id}/events`;
  const made = await plane.call<{ id: string; key: string }>(
    'POST',
    `/v1/projects/${plane.first.project._id}/api-keys`,
    { body: { name: 'short', role: 'viewer' } },
  );
  const clients = [];
  for (let n = 0; n < 10; n++) clients.push(await follow(path, { token: made.body.key }));
  const refused = await follow(path, { token: made.body.key });
  t.equal(refused.status, 429);
  t.match(refused.headers, { 'retry-after': '10' });
  const other = await follow(path);
  await Promise.all(clients.map((client) => client.until(({ events }) => events.length > 0)));
  await plane.call('DELETE', `/v1/projects/${plane.first.project._id}/api-keys/${made.body.id}`);
  await plane.atRest();
  clock.advance(5000);
  await Promise.all(clients.map(({ ended }) => ended));
  t.equal((await follow(path, { token: made.body.key })).status, 401);
  plane.app.services.liveStreams.close();
  await other.ended;
  t.equal((await follow(path)).status, 503);
});
