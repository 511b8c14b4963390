import t from 'tap';
import type { Turn, TurnLatency } from '@parley/shared/contracts/turn';
import type { CallReporter } from '../reporting/call-reporter.ts';
import { TrustedVariables } from './trusted-variables.ts';
import { TurnLog } from './turn-log.ts';
import { VariableChanges } from './variable-changes.ts';

const turn = (turn_index: number, more: Partial<Turn> = {}): Turn => ({
  turn_index,
  role: 'caller',
  text: `turn ${turn_index}`,
  start_ms: 0,
  end_ms: 10 * turn_index,
  interrupted: false,
  redacted: false,
  ...more,
});
const latency = (ms: number | null): TurnLatency => ({
  e2e: ms,
  stt_final: ms,
  llm_first_token: ms,
  tts_first_audio: ms,
  thought_ahead: ms,
});

function logOf({
  history = [] as Turn[],
  variables = {} as Record<string, string>,
  trusted = [] as string[],
} = {}) {
  const told: unknown[][] = [];
  const reporter = {
    emit: (...event: unknown[]) => void told.push(event),
    lastIndex: 7,
  } as unknown as CallReporter;
  const sources = new TrustedVariables(variables, trusted);
  const log = new TurnLog(reporter, history, new VariableChanges(variables, sources));
  const report = () =>
    log.report({
      answeredAt: 1000,
      endedAt: 3500.4,
      reason: { ended_by: 'caller', hangup_reason: 'caller_hangup' },
      agentTalkMs: 5,
      transferMs: 6,
      variables,
      language: 'en-US',
      recording: undefined,
    });
  return { log, told, sources, report };
}

void t.test('turns are numbered behind those of earlier legs, in the order in which they begin', (t) => {
  t.equal(logOf().log.newTurnIndex(), 0);
  const { log, report } = logOf({ history: [turn(4), turn(2)] });
  t.equal(log.nextTurnIndex, 5);
  t.equal(log.newTurnIndex(), 5);
  t.equal(log.newTurnIndex(), 6);
  log.commit(turn(6));
  log.commit(turn(5));
  t.same(
    report().turns.map(({ turn_index }) => turn_index),
    [2, 4, 5, 6],
  );
  t.equal(report().metrics.turns, 4);
  t.end();
});

void t.test('a turn that is told again takes the place of the first, and counts once', (t) => {
  const { log, told, report } = logOf();
  log.commit(turn(0));
  log.commit(turn(1, { role: 'agent', latency: latency(100) }));
  log.commit(turn(1, { role: 'agent', text: 'less', latency: latency(300) }), [
    { text: 'less', start_ms: 1, end_ms: 2 },
  ]);
  t.same(
    log.turns.map(({ text }) => text),
    ['turn 0', 'less'],
  );
  t.match(told[2], ['turn', { text: 'less', words: [{ text: 'less' }] }, 10]);
  t.notOk('words' in (told[1]![1] as object));
  t.notOk('words' in report().turns[1]!);
  t.match(report().metrics.turn_e2e_ms, { count: 1, max: 100 });
  t.end();
});

void t.test('only turns that the caller took count as such', (t) => {
  const { log } = logOf({ history: [turn(0)] });
  log.commit(turn(1, { role: 'agent' }));
  log.commit(turn(2, { backchannel: true }));
  log.commit(turn(3));
  t.equal(log.callerTurns, 2);
  t.end();
});

void t.test('a call is summed up by how many, the mean, the median, and the slowest', (t) => {
  const { log, report } = logOf();
  for (let at = 10; at >= 1; at--) log.commit(turn(at, { latency: latency(at * 10) }));
  log.commit(turn(11, { latency: latency(null) }));
  const { metrics } = report();
  const stats = { count: 10, avg: 55, p50: 50, p90: 90, p95: 100, max: 100 };
  for (const name of [
    'turn_e2e_ms',
    'stt_final_ms',
    'llm_first_token_ms',
    'tts_first_audio_ms',
    'thought_ahead_ms',
  ])
    t.same(metrics[name as keyof typeof metrics], stats, name);
  t.equal(metrics.tool_ms, null, 'nothing is known of it');
  log.addSample('tool_ms', 1.6);
  log.addSample('tool_ms', -5);
  log.addSample('tool_ms', 1);
  t.same(report().metrics.tool_ms, { count: 3, avg: 1, p50: 1, p90: 2, p95: 2, max: 2 });
  log.addSample('knowledge_ms', 10);
  log.addSample('knowledge_ms', 11);
  log.addSample('knowledge_ms', 11);
  t.equal(report().metrics.knowledge_ms?.avg, 10.7, 'a tenth is told');
  t.end();
});

void t.test('a report has the times of the call and what was used in it', (t) => {
  const { log, report } = logOf();
  log.usage.llm_input_tokens = 5;
  const first = report();
  t.match(first, {
    answered_at: '1970-01-01T00:00:01.000Z',
    ended_at: '1970-01-01T00:00:03.500Z',
    ended_by: 'caller',
    hangup_reason: 'caller_hangup',
    duration_ms: 2500,
    agent_talk_ms: 5,
    transfer_ms: 6,
    turns_truncated: false,
    usage: { llm_input_tokens: 5, carrier_seconds: 2.5 },
    last_index: 7,
  });
  t.notOk('hand_overs' in first);
  t.notOk('recording' in first);
  log.agentChanged('hov_1');
  log.usage.llm_input_tokens = 9;
  t.match(report().hand_overs, [{ handover_id: 'hov_1', usage: { llm_input_tokens: 5 } }]);
  t.equal(report().usage.llm_input_tokens, 9);
  t.end();
});

void t.test('audio that was heard is counted for the model that hears it, and never lost', (t) => {
  const { log, report } = logOf();
  const first = { model_id: 'mod_1' };
  const used = () => log.usage.models?.map(({ model_id, stt_seconds }) => [model_id, stt_seconds]);
  for (let i = 0; i < 50; i++) log.heard(first, 20);
  log.countHeard();
  t.same(used(), [['mod_1', 1]]);
  for (let i = 0; i < 25; i++) log.heard(first, 20);
  const other = { ...first };
  for (let i = 0; i < 100; i++) log.heard(other, 20);
  log.heard({ model_id: 'mod_2' }, 500);
  t.same(used(), [['mod_1', 3.5]], 'another model: what the one before has heard is counted');
  log.agentChanged('hov_1');
  log.heard(undefined, 250);
  t.match(report(), {
    usage: { stt_seconds: 4.25 },
    hand_overs: [{ usage: { stt_seconds: 4 } }],
  });
  t.equal(log.usage.stt_seconds, 4.25);
  log.countHeard();
  t.equal(log.usage.stt_seconds, 4.25, 'each frame once');
  t.end();
});

void t.test('changes of variables are told once, with the next turn', (t) => {
  const variables: Record<string, string> = { name: 'Ada', city: 'Rome' };
  const { log, told, sources } = logOf({ variables, trusted: ['city'] });
  const changes = () => {
    log.commit(turn(log.newTurnIndex()));
    const { variables, trusted_variables } = told.at(-1)![1] as Record<string, unknown>;
    return [variables, trusted_variables];
  };
  t.same(changes(), [undefined, undefined], 'nothing has changed');
  variables['name'] = 'Eve';
  t.same(changes(), [{ name: 'Eve' }, undefined]);
  t.same(changes(), [undefined, undefined]);
  sources.add({ name: 'Eve' });
  t.same(changes(), [{ name: 'Eve' }, ['name']], 'the same value is trusted now');
  variables['city'] = 'Bonn';
  t.same(changes(), [{ city: 'Bonn' }, undefined], 'who knows who has said that');
  t.same(changes(), [undefined, undefined]);
  t.end();
});
