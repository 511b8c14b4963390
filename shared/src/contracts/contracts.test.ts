import t from 'tap';
import { newId, uuidV7 } from '../ids/new-id.ts';
import { credentialDigest, redeemRequest, REALTIME_TOKEN_PATTERN, TICKET_PATTERN } from './admission.ts';
import {
  CALL_EVENTS,
  callEventSchema,
  callReportSchema,
  DROPPED_FIRST,
  NEVER_DROPPED,
  parseCallEvent,
  type CallEvent,
} from './call-events.ts';
import { COMMAND_ARGS, commandTypeSchema, gatewayCommandSchema } from './commands.ts';
import { recordingKey } from './recordings.ts';
import { sessionPlanSchema, type SessionPlanWire } from './session-plan.ts';
import { LIVE_STATUSES, SESSION_STATUSES, TERMINAL_STATUSES, timestampSchema } from './session-values.ts';
import { MAX_TIMED_WORD_LENGTH, MAX_TIMED_WORDS, turnSchema } from './turn.ts';

const sessionId = uuidV7();

void t.test('credentials are known by their digest', async (t) => {
  // FIPS 180-2, appendix B.1.
  t.equal(credentialDigest('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  t.match('A'.repeat(43), TICKET_PATTERN);
  t.match(`ek_${'A'.repeat(43)}`, REALTIME_TOKEN_PATTERN);
  for (const bad of ['A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}=`, ''])
    t.notMatch(bad, TICKET_PATTERN);
});

void t.test('a redemption names its credential in the form of its kind', async (t) => {
  const body = {
    claim_id: 'claim-00000001',
    gateway_id: 'gw_1',
    start: { encoding: 'pcmu', sample_rate: 8000 },
  };
  const digest = credentialDigest('x');
  const accepts = (more: object) => redeemRequest.safeParse({ ...body, ...more }).success;
  t.ok(accepts({ kind: 'ticket', digest }));
  t.ok(accepts({ kind: 'participant', token: 'a.b.c' }));
  t.notOk(accepts({ kind: 'ticket' }));
  t.notOk(accepts({ kind: 'participant', digest }));
  t.notOk(accepts({ kind: 'ticket', digest: digest.toUpperCase() }));
  t.notOk(accepts({ kind: 'ticket', digest, start: { encoding: 'opus', sample_rate: 8000 } }));
});

void t.test('an event is told from what is none; unknown types and fields pass', async (t) => {
  const event: CallEvent = {
    v: 1,
    id: newId('evt'),
    session_id: sessionId,
    gateway_id: 'gw_1',
    claim_id: 'c1',
    index: 0,
    at: '2026-01-01T00:00:00.123Z',
    offset_ms: -5,
    type: 'something_new',
    data: { any: ['thing'] },
  };
  t.same(callEventSchema.parse({ ...event, more: 1 }), event);
  for (const bad of [
    { v: 2 },
    { id: 'evt_1' },
    { session_id: 'x' },
    { index: -1 },
    { at: 'now' },
    { data: [] },
  ]) {
    t.notOk(callEventSchema.safeParse({ ...event, ...bad }).success, JSON.stringify(bad));
  }
  for (const type of ['call_started', 'turn', 'recording', 'call_ended']) {
    t.ok(NEVER_DROPPED.has(type) && type in CALL_EVENTS, `${type} moves something, so it is never dropped`);
  }
  t.same([...DROPPED_FIRST].sort(), ['cost', 'turn_decision', 'words']);
  t.equal(parseCallEvent(event), undefined, 'nobody knows this type');
  const command = { ...event, type: 'command_result', data: { command_id: 'c', ok: true, more: 1 } };
  t.same(parseCallEvent(command), { ...command, data: { command_id: 'c', ok: true } });
  t.equal(
    parseCallEvent({ ...command, data: { ok: 1 } }),
    undefined,
    'its data is not what the type promises',
  );
  t.equal(parseCallEvent({ ...event, type: 'toString' }), undefined);
});

void t.test('a carrier is asked with all that it needs, within bounds', async (t) => {
  const args = {
    digits: '12#',
    to: '+14155550199',
    caller_id: '+14155550101',
    ring_timeout_seconds: 30,
    transfer_id: 'transfer-1',
    destination_id: 'sales',
    extension: 'ww7',
  };
  const asked = { command_id: 'c', action: 'transfer', args, brief: 'Ada wants to pay.' };
  const { data } = CALL_EVENTS.carrier_command;
  t.same(data.parse(asked), asked);
  for (const [name, most] of Object.entries({
    digits: 64,
    to: 64,
    caller_id: 64,
    destination_id: 64,
    extension: 32,
  })) {
    const ofLength = (length: number) => ({ ...asked, args: { ...args, [name]: '1'.repeat(length) } });
    t.ok(data.safeParse(ofLength(most)).success, name);
    t.notOk(data.safeParse(ofLength(most + 1)).success, name);
  }
});

void t.test('words beyond their bounds cost a turn nothing but its words', async (t) => {
  const words = (count: number, text = 'so') =>
    Array.from({ length: count }, () => ({ text, start_ms: 0, end_ms: 5 }));
  const told = (given: unknown) => {
    const data = { turn_index: 0, role: 'agent', text: 'So.', start_ms: 0, end_ms: 5, words: given };
    const result = CALL_EVENTS.turn.data.parse(data);
    t.equal(result.text, 'So.');
    return result.words?.length;
  };
  t.equal(told(words(MAX_TIMED_WORDS)), MAX_TIMED_WORDS);
  t.equal(told(words(1, 'x'.repeat(MAX_TIMED_WORD_LENGTH))), 1);
  t.equal(told(words(MAX_TIMED_WORDS + 1)), undefined);
  t.equal(told(words(1, 'x'.repeat(MAX_TIMED_WORD_LENGTH + 1))), undefined);
  t.equal(told('so'), undefined);
  t.notOk('words' in turnSchema.shape, 'reports, plans and what is made of them have none');
});

void t.test('a report is complete and says so when it is cut', async (t) => {
  const report = callReportSchema.parse({
    answered_at: null,
    ended_at: '2026-01-01T00:01:00.000Z',
    ended_by: 'caller',
    hangup_reason: 'caller_hangup',
    duration_ms: 60_000,
    agent_talk_ms: 20_000,
    transfer_ms: 0,
    turns: [{ turn_index: 0, role: 'agent', text: 'Hello.', start_ms: 0, end_ms: 900 }],
    metrics: {
      turns: 1,
      turn_e2e_ms: null,
      stt_final_ms: null,
      llm_first_token_ms: null,
      tts_first_audio_ms: null,
      knowledge_ms: null,
      tool_ms: null,
      caller_reply_ms: null,
    },
    usage: {
      stt_seconds: 1.5,
      llm_input_tokens: 1,
      llm_output_tokens: 1,
      tts_characters: 6,
      carrier_seconds: 60,
    },
    variables: {},
    language: null,
    last_index: 9,
  });
  t.match(report, { turns_truncated: false, turns: [{ interrupted: false, redacted: false }] });
  t.notOk(turnSchema.safeParse({ turn_index: 0, role: 'machine', text: '', start_ms: 0, end_ms: 0 }).success);
});

void t.test('every command has arguments of its own', async (t) => {
  t.same(Object.keys(COMMAND_ARGS).sort(), [...commandTypeSchema.options].sort());
  const command = {
    v: 1,
    command_id: 'cmd-1',
    session_id: sessionId,
    type: 'say',
    args: { text: 'Hello.' },
    expires_at: '2026-01-01T00:00:00.000Z',
  };
  t.same(gatewayCommandSchema.parse(command), command);
  t.notOk(gatewayCommandSchema.safeParse({ ...command, type: 'sing' }).success);
  t.notOk(COMMAND_ARGS.say.safeParse({ text: '' }).success);
});

void t.test('the secrets of a plan are wrapped wherever they stand', async (t) => {
  const provider = {
    id: 'stt_1',
    provider: 'deepgram' as const,
    emulated: false,
    base_url: 'https://api.example',
    credential: 'hunter2',
    model: 'm',
    language: 'en-US',
  };
  const tool = (auth: object) => ({
    tool_id: 'tol_1',
    name: 'look_up',
    description: '',
    parameters: {},
    type: 'webhook' as const,
    webhook: { url: 'https://crm.example', method: 'POST' as const, headers: { 'x-key': 'hunter2' }, auth },
  });
  const wire = {
    v: 1,
    session_id: sessionId,
    org_id: 'org_1',
    project_id: 'prj_1',
    channel: 'telephony',
    direction: 'inbound',
    provider: 'plivo',
    room_name: null,
    claim_id: 'c1',
    leg: 0,
    first_event_index: 0,
    history: [],
    agent: {
      agent_id: null,
      version: null,
      name: '',
      system_prompt: '',
      greeting: '',
      config: {},
    },
    variables: {},
    system: {
      caller_number: null,
      called_number: null,
      timezone: 'UTC',
      attempt_number: 1,
      user_identifier: null,
    },
    stt: [provider],
    llm: [{ ...provider, provider: 'openai_compatible' }],
    tts: [{ ...provider, provider: 'flite', credential: null }],
    tools: [
      tool({ type: 'bearer', token: 'hunter2' }),
      tool({ type: 'basic', username: 'u', password: 'hunter2' }),
      tool({ type: 'header', name: 'x', value: 'hunter2' }),
      tool({ type: 'hmac', secret: 'hunter2' }),
    ],
    record: {
      enabled: true,
      recording_id: 'rec_1',
      channels: 'dual',
      format: 'wav',
      store: 'file',
      key: 'recordings/x.wav',
    },
    limits: { max_duration_seconds: 60, max_cost_amount: null, client_overrides: [] },
    outbound_allow: [],
  } as unknown as SessionPlanWire;
  const plan = sessionPlanSchema.parse(wire);
  t.notMatch(JSON.stringify(plan), /hunter2/);
  t.equal(plan.stt[0]!.credential!.reveal(), 'hunter2');
  t.equal(plan.tts[0]!.credential, null);
  t.equal(plan.tools[0]!.webhook!.headers['x-key']!.reveal(), 'hunter2');
  t.match(plan.tools[0]!.execution, { mode: 'sync', timeout_ms: 8000, retries: 0 });
  t.equal(plan.agent.config.limits.max_duration_seconds, 1800, 'the config has no holes');
  t.equal(plan.answered_at, null);
  for (const missing of ['stt', 'llm', 'tts']) {
    t.notOk(sessionPlanSchema.safeParse({ ...wire, [missing]: [] }).success, `no ${missing}, no call`);
  }
});

void t.test('recordings are filed by their day in UTC', async (t) => {
  const ids = { orgId: 'org_1', projectId: 'prj_1', sessionId: 's1', recordingId: 'rec_1' };
  const at = new Date('2026-01-31T23:30:00-02:00');
  t.equal(recordingKey(ids, at), 'recordings/org_1/prj_1/2026/02/01/s1/rec_1.wav');
  t.match(recordingKey(ids, at, 'mp3'), /rec_1\.mp3$/);
});

void t.test('times are RFC 3339 with a zone', async (t) => {
  for (const text of ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123+05:30']) {
    t.ok(timestampSchema.safeParse(text).success, text);
  }
  for (const text of ['2026-01-01', '2026-01-01T00:00:00', '2026-13-01T00:00:00Z', '']) {
    t.notOk(timestampSchema.safeParse(text).success, text);
  }
});

void t.test('no status is both over and live', async (t) => {
  for (const status of [...TERMINAL_STATUSES, ...LIVE_STATUSES]) t.ok(SESSION_STATUSES.includes(status));
  t.notOk(TERMINAL_STATUSES.some((status) => LIVE_STATUSES.includes(status)));
});
