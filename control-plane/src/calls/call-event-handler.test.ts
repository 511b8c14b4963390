import t from 'tap';
import type { CallEvent, CallReport } from '@parley/shared/contracts/call-events';
import { EVENT_INDEXES_PER_LEG } from '@parley/shared/contracts/session-plan';
import { silentLogger } from '@parley/shared/logging/logger';
import type { SessionRecord } from '../sessions/session-record.ts';
import { CallEventHandler } from './call-event-handler.ts';

const ANSWERED = '2026-01-01T10:00:00.000Z';
const ENDED = '2026-01-01T10:01:00.500Z';

/** A session, and what was asked of everything around the handler, in order. */
function scene(change: Partial<SessionRecord> = {}, { found = true, outcome = { ok: true } as object } = {}) {
  const session = {
    ...{ _id: 'ses_1', org_id: 'org_1', project_id: 'prj_1', claim_id: 'clm_1', gateway_id: 'gw_1', leg: 0 },
    ...{ status: 'in_progress', started_at: null, erased_at: null, store_transcript: true, outcome: null },
    ...{ variables: { city: 'Rome' }, trusted_variables: ['city'], legs: {} },
    ...change,
  } as unknown as SessionRecord;
  const did: unknown[][] = [];
  const note =
    (name: string, answer?: unknown) =>
    (...args: unknown[]) => {
      did.push([name, ...args]);
      return Promise.resolve(typeof answer === 'function' ? (answer as () => unknown)() : answer);
    };
  const handler = new CallEventHandler({
    store: {
      find: () => Promise.resolve(found ? session : null),
      change: note('change'),
      transition: note('transition'),
      notify: note('notify'),
      accountLeg: note('account', session),
    } as never,
    callLog: {
      storeGatewayEvent: note('store', true),
      storeTurn: note('turn'),
      countTurns: note('count', 7),
      tell: (...args: unknown[]) => void did.push(['tell', ...args]),
      pass: (...args: unknown[]) => void did.push(['pass', ...args]),
    } as never,
    followers: [{ store: note('follower') as never }],
    recordings: { apply: note('recording'), lost: note('lost') } as never,
    carrierCommands: { run: note('run', outcome) } as never,
    gatewayCommands: { send: note('send') } as never,
    closer: { closeByReport: note('close') } as never,
    logger: silentLogger(),
  });
  const event = (type: string, data: object, more: Partial<CallEvent> = {}): CallEvent => ({
    ...{ v: 1, id: 'evt_1', session_id: 'ses_1', gateway_id: 'gw_1', claim_id: 'clm_1' },
    ...{ index: 3, at: ANSWERED, offset_ms: 0, type, data: data as never },
    ...more,
  });
  const handle = async (type: string, data: object, more?: Partial<CallEvent>) => {
    await handler.handle(event(type, data, more));
    return did.splice(0);
  };
  return { handler, did, event, handle };
}

const TURN = {
  turn_index: 0,
  role: 'caller',
  text: 'Hi',
  start_ms: 0,
  end_ms: 1,
  interrupted: false,
  redacted: false,
};
const human = { class: 'human', by: 'greeting', after_ms: 5, evidence: [] };
const names = (did: unknown[][]) => did.map(([name]) => name);
const of = (did: unknown[][], name: string) => did.filter(([one]) => one === name).map(([, ...args]) => args);

function report(more: Partial<CallReport> = {}): CallReport {
  return {
    ...{ answered_at: ANSWERED, ended_at: ENDED, ended_by: 'caller', hangup_reason: 'caller_hangup' },
    ...{ duration_ms: 60_500, agent_talk_ms: 1000, transfer_ms: 0, turns: [TURN], turns_truncated: false },
    metrics: {
      ...{
        turns: 1,
        turn_e2e_ms: null,
        stt_final_ms: null,
        llm_first_token_ms: null,
        tts_first_audio_ms: null,
      },
      ...{ knowledge_ms: null, tool_ms: null, caller_reply_ms: null, thought_ahead_ms: null },
    },
    usage: {
      stt_seconds: 1,
      llm_input_tokens: 2,
      llm_output_tokens: 3,
      tts_characters: 4,
      carrier_seconds: 5,
    },
    ...{ variables: { city: 'Bonn' }, language: 'en', last_index: 9 },
    ...more,
  } as CallReport;
}

void t.test('what begins, moves and ends a transfer moves the session', async (t) => {
  const { handle } = scene();
  const started = { answered_at: ANSWERED, encoding: 'pcmu', sample_rate: 8000, emulated: [] };
  t.match(of(await handle('call_started', started), 'transition'), [
    [
      'ses_1',
      'in_progress',
      { cause: 'leg0', set: { started_at: new Date(ANSWERED), unheld_since: null, transfer: null } },
    ],
  ]);
  const before = scene({ started_at: new Date(5), leg: 2 });
  t.match(of(await before.handle('call_started', started), 'transition'), [
    ['ses_1', 'in_progress', { cause: 'leg2', set: { started_at: new Date(5) } }],
  ]);
  const transfer = (phase: string) =>
    handle('transfer', { transfer_id: 'trf_1', phase, destination_id: 'sales' });
  t.match(of(await transfer('begun'), 'transition'), [['ses_1', 'transferring', { cause: 'evt_1' }]]);
  t.match(of(await transfer('bridged'), 'transition'), [['ses_1', 'transferred', { cause: 'evt_1' }]]);
  t.match(of(await transfer('failed'), 'transition'), [
    ['ses_1', 'in_progress', { cause: 'evt_1', set: { transfer: null } }],
  ]);
  for (const phase of ['ringing', 'briefing']) t.same(of(await transfer(phase), 'transition'), [], phase);
});

void t.test('a leg that was replaced tells, and moves nothing', async (t) => {
  const { handle } = scene();
  const old = { claim_id: 'clm_0' };
  const started = { answered_at: ANSWERED, encoding: 'pcmu', sample_rate: 8000, emulated: [] };
  t.same(names(await handle('call_started', started, old)), ['store', 'follower', 'tell']);
  t.same(names(await handle('answer_class', human, old)).includes('change'), false);
  t.same(
    names(await handle('transfer', { transfer_id: 'trf_1', phase: 'begun' }, old)).includes('transition'),
    false,
  );
  const turn = await handle('turn', { ...TURN, variables: { city: 'Bonn' } }, old);
  t.same(names(turn), ['store', 'follower', 'turn', 'tell']);
});

void t.test('a turn is told once its text is there, with what it has changed', async (t) => {
  const { handle } = scene();
  const words = [{ text: 'Hi', start_ms: 0, end_ms: 1 }];
  const did = await handle('turn', {
    ...TURN,
    words,
    variables: { name: 'Ada' },
    trusted_variables: ['name', 'other'],
  });
  t.same(names(did), ['store', 'follower', 'change', 'turn', 'tell']);
  const [, stored] = of(did, 'store')[0] as [unknown, CallEvent];
  t.notOk('text' in stored.data, 'the text is kept elsewhere');
  t.notOk('words' in stored.data);
  t.match(of(did, 'change'), [
    ['ses_1', { variables: { city: 'Rome', name: 'Ada' }, trusted_variables: ['city', 'name'] }],
  ]);
  t.match(of(did, 'turn')[0]![2], words);
  const plain = await handle('turn', TURN);
  t.same(names(plain), ['store', 'follower', 'turn', 'tell']);
  t.equal(of(plain, 'turn')[0]![2], null);
  const replaced = await handle('turn', { ...TURN, variables: { city: 'Bonn' } });
  t.same(of(replaced, 'change')[0]![1], { variables: { city: 'Bonn' }, trusted_variables: [] });
});

void t.test('a flow stands where it was last, until the session is over', async (t) => {
  const state = {
    ...{ agent_id: 'agt_1', node_id: 'n1', phase: 'talking', edge_id: null, entries: [1], cooldowns: [0] },
    ...{ returns: [], turns: 0, steps: 1 },
  };
  const node = { node_id: 'n1', by: 'start', state };
  const did = await scene().handle('flow_node', { ...node, variables: { name: 'Ada' } });
  t.match(of(did, 'change'), [['ses_1', { flow_state: { node_id: 'n1' }, variables: { name: 'Ada' } }]]);
  t.notOk('state' in (of(did, 'store')[0]![1] as CallEvent).data, 'it is no event');
  t.same(of(await scene().handle('flow_node', node, { claim_id: 'clm_0' }), 'change'), []);
  for (const change of [{ status: 'ended' }, { erased_at: new Date() }] as Partial<SessionRecord>[]) {
    const over = scene(change);
    t.same(of(await over.handle('turn', { ...TURN, variables: { a: 'b' } }), 'change'), []);
    t.same(of(await over.handle('flow_node', node), 'change'), []);
  }
});

void t.test('who has answered is written down, a voicemail as the outcome', async (t) => {
  const { handle } = scene();
  t.match(of(await handle('answer_class', human), 'change'), [
    ['ses_1', { answered_by: 'human', outcome: null }],
  ]);
  t.match(of(await handle('answer_class', { ...human, class: 'voicemail' }), 'change'), [
    ['ses_1', { answered_by: 'voicemail', outcome: 'voicemail' }],
  ]);
});

void t.test('a command to the carrier is answered, whoever asks', async (t) => {
  const command = { command_id: 'c1', action: 'hangup', args: {} };
  const { handle } = scene({}, { outcome: { ok: false, code: 'blocked' } });
  const did = await handle('carrier_command', command);
  t.equal(of(did, 'run').length, 1);
  t.match(of(did, 'send'), [
    [
      { gatewayId: 'gw_1', sessionId: 'ses_1' },
      'carrier_result',
      { command_id: 'c1', ok: false, code: 'blocked' },
    ],
  ]);
  const old = await handle('carrier_command', command, { claim_id: 'clm_0' });
  t.equal(of(old, 'run').length, 0);
  t.match(of(old, 'send')[0]![2], { command_id: 'c1', ok: false, code: 'not_current' });
});

void t.test('a report closes the session with all that it says', async (t) => {
  const { handle } = scene({ started_at: new Date(ANSWERED) });
  const did = await handle('call_ended', report());
  t.match(of(did, 'lost'), [
    ['ses_1', { of: 0 }],
    ['ses_1', { except: [] }],
  ]);
  t.match(of(did, 'notify')[0]!.slice(1), ['leg0']);
  const [, to, set, turns] = of(did, 'close')[0]!;
  t.equal(to, 'ended');
  t.equal(turns, null, 'they are stored');
  t.match(set, {
    started_at: new Date(ANSWERED),
    ended_at: new Date(ENDED),
    ended_by: 'caller',
    hangup_reason: 'caller_hangup',
    failure_reason: null,
    duration_seconds: 60.5,
    report_id: 'evt_1',
    closed_by: 'report',
    unheld_since: null,
    transfer: null,
    avg_agent_latency_ms: null,
    avg_user_latency_ms: null,
    message_count: 7,
    language: 'en',
    variables: { city: 'Bonn' },
    outcome: null,
  });
  t.match(of(did, 'send'), [
    [{ gatewayId: 'gw_1', sessionId: 'ses_1' }, 'report_stored', { event_id: 'evt_1' }],
  ]);
  t.match(of(did, 'account')[0], ['ses_1', 0, { agent_talk_ms: 1000 }]);
  const account = { usage: report().usage, agent_talk_ms: 1, transfer_ms: 1 };
  const later = scene({
    leg: 1,
    started_at: new Date(Date.parse(ENDED) - 90_000),
    outcome: 'sold',
    legs: { 0: account, 1: account } as never,
  });
  const second = await later.handle('call_ended', report({ variables: { outcome: 'lost' } }), {
    index: EVENT_INDEXES_PER_LEG + 3,
  });
  t.match(of(second, 'account')[0], ['ses_1', 1]);
  t.match(of(second, 'close')[0]![2], { duration_seconds: 90, outcome: 'lost' }, 'from the first answer');
  t.match(of(second, 'lost')[1], ['ses_1', { except: [0, 1] }]);
});

void t.test('a report tells what became of the recording and of the averages', async (t) => {
  const { handle } = scene();
  const stats = (avg: number) => ({ count: 1, avg, p50: avg, p90: avg, p95: avg, max: avg });
  const recording = { recording_id: 'rec_1', status: 'recording' } as const;
  const metrics = { ...report().metrics, turn_e2e_ms: stats(500), caller_reply_ms: stats(900) };
  const did = await handle('call_ended', report({ recording, metrics }));
  t.match(of(did, 'recording'), [['ses_1', recording]]);
  t.equal(of(did, 'lost').length, 1);
  t.match(of(did, 'close')[0]![2], { avg_agent_latency_ms: 500, avg_user_latency_ms: 900 });
});

void t.test('a call that nobody answered failed or was cancelled', async (t) => {
  const { handle } = scene({ status: 'ringing' });
  const unanswered = (more: Partial<CallReport>) =>
    handle('call_ended', report({ answered_at: null, ...more }));
  const cancelled = await unanswered({});
  t.equal(of(cancelled, 'close')[0]![1], 'cancelled');
  t.match(of(cancelled, 'close')[0]![2], { started_at: null });
  t.same([of(cancelled, 'notify'), of(cancelled, 'transition')], [[], []]);
  const { hangup_reason: _, ...rest } = report({ answered_at: null });
  const failed = await handle('call_ended', { ...rest, ended_by: 'system', failure_reason: 'internal' });
  t.equal(of(failed, 'close')[0]![1], 'failed');
  t.match(of(failed, 'close')[0]![2], { failure_reason: 'internal', hangup_reason: null });
});

void t.test('a report makes up for a beginning that was lost', async (t) => {
  const lost = await scene({ status: 'ringing' }).handle('call_ended', report());
  t.match(of(lost, 'transition'), [
    ['ses_1', 'in_progress', { cause: 'leg0', set: { started_at: new Date(ANSWERED) } }],
  ]);
  t.equal(of(lost, 'close')[0]![1], 'ended');
  for (const status of ['transferring', 'ended'] as const) {
    const did = await scene({ status }).handle('call_ended', report());
    t.same([of(did, 'transition'), of(did, 'notify')], [[], []], status);
    t.equal(of(did, 'close').length, 1);
  }
});

void t.test('a late report of an earlier leg only adds to the sums', async (t) => {
  const old = { claim_id: 'clm_0' };
  const live = await scene().handle('call_ended', report(), old);
  t.same([of(live, 'close'), of(live, 'change')], [[], []]);
  const over = await scene({ status: 'ended' }).handle('call_ended', report(), old);
  t.equal(of(over, 'close').length, 0);
  t.match(of(over, 'change')[0]![1], { usage: {}, agent_duration_seconds: 0 });
  t.equal(of(over, 'send').length, 1, 'it is confirmed');
});

void t.test('where no transcript is kept, turns pass to the analysis alone', async (t) => {
  for (const change of [{ store_transcript: false }, { erased_at: new Date() }] as Partial<SessionRecord>[]) {
    const did = await scene(change).handle('call_ended', report());
    t.same(of(did, 'turn'), []);
    t.same(of(did, 'count'), []);
    t.match(of(did, 'close')[0]![3], [TURN]);
    t.match(of(did, 'close')[0]![2], { message_count: 1 });
    t.equal('variables' in (of(did, 'close')[0]![2] as object), change.erased_at === undefined);
  }
  const erased = scene({ erased_at: new Date() });
  t.same(
    names(await erased.handle('dtmf', { direction: 'received', digits: '1' })),
    [],
    'nothing is stored or told',
  );
});

void t.test('what nobody knows stops nothing', async (t) => {
  const unknown = scene({}, { found: false });
  t.same(names(await unknown.handle('dtmf', { direction: 'received', digits: '1' })), []);
  t.match(of(await unknown.handle('call_ended', report()), 'send'), [[{}, 'report_stored', {}]]);
  const { handle } = scene();
  t.same(names(await handle('of_tomorrow', { a: 1 })), ['store', 'tell'], 'of another version');
  const broken = await handle('call_ended', { broken: true });
  t.same(names(broken), ['store', 'tell', 'send']);
});

void t.test('what is never stored is passed on to who follows', async (t) => {
  const words = { role: 'caller', text: 'Hel', final: false };
  const one = scene();
  await one.handler.pass(one.event('words', words));
  t.same(names(one.did), ['pass']);
  for (const none of [scene({ erased_at: new Date() }), scene({}, { found: false })]) {
    await none.handler.pass(none.event('words', words));
    t.same(none.did, []);
  }
  const broken = scene();
  await broken.handler.pass(broken.event('words', { role: 5 }));
  t.same(broken.did, []);
});
