import t from 'tap';
import type { Turn } from '@parley/shared/contracts/turn';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { ReplyPart } from '../speech/reply.ts';
import type { HeardSpeech } from '../speech/speech.ts';
import type { CallerWords } from '../turns/caller-turns.ts';
import { CallClock } from './call-clock.ts';
import { Transcript, type AgentWords } from './transcript.ts';

const turn = (turn_index: number, text: string): Turn => ({
  ...{ turn_index, role: 'caller', text, start_ms: 0, end_ms: 0, interrupted: false, redacted: false },
});

/** The transcript of a call that was answered a second ago, and what it writes and tells. */
function scene({
  history = [] as Turn[],
  known = undefined as { from_index: number; summary: string } | undefined,
  node = undefined as string | undefined,
} = {}) {
  const clock = new ManualClock();
  const call = new CallClock(clock, clock.now());
  clock.advance(1000);
  const written: { turn: Turn; words: unknown }[] = [];
  const told: unknown[][] = [];
  let index = 5;
  let turns = 0;
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void told.push([name, ...args]);
  const place = { node };
  const transcript = new Transcript({
    log: {
      newTurnIndex: () => index++,
      commit: (one: Turn, words: unknown) => void written.push({ turn: one, words }),
    } as never,
    clock: call,
    plan: { history, known_history: known } as never,
    observer: {
      onCallerTurn: note('caller'),
      onBackchannel: note('backchannel'),
      onReplyEnded: note('reply'),
    } as never,
    onTurn: () => void turns++,
    talk: { agentSaid: note('agentSaid'), callerSaid: note('callerSaid') },
    nodeId: () => place.node,
  });
  const words = (text: string, more: Partial<CallerWords> = {}): CallerWords => ({
    ...{
      text,
      confidence: undefined,
      language: undefined,
      startMs: 10,
      endMs: 20,
      endedAt: 0,
      audioEndMs: 30,
    },
    ...more,
  });
  const said = () =>
    transcript
      .messages('S')
      .slice(1)
      .map(({ role, content }) => `${role}: ${content}`);
  const since = () => told.splice(0);
  return { call, transcript, written, since, words, said, place, turns: () => turns };
}

const reply = (text: string): AgentWords => ({
  ...{ id: 3, tokens: { input: 1, output: 2 }, turnIndex: undefined, nodeId: undefined },
  parts: [{ type: 'speech', text, fromModel: true }] as ReplyPart[],
  latency: { e2e: 5, stt_final: null, llm_first_token: null, tts_first_audio: null, thought_ahead: null },
});

void t.test('a turn of the caller is written, told, and for the model', (t) => {
  const { transcript, written, since, words, said, turns } = scene();
  t.notOk(transcript.awaitsAnswer);
  t.equal(transcript.lastCallerTurn, undefined);
  const timed = [{ text: 'Hi', startMs: 1, endMs: 2 }];
  transcript.callerTurn(words('Hi.', { confidence: 0.123456, language: 'en', words: timed }));
  t.same(written, [
    {
      turn: {
        ...{ turn_index: 5, role: 'caller', text: 'Hi.', start_ms: 10, end_ms: 20, language: 'en' },
        ...{ interrupted: false, confidence: 0.1235, redacted: false },
      },
      words: [{ text: 'Hi', start_ms: 1, end_ms: 2 }],
    },
  ]);
  t.same(since(), [
    ['callerSaid', 'Hi.', 'en'],
    ['caller', { key: 'turn:5', text: 'Hi.', audioEndMs: 30 }],
  ]);
  t.same([transcript.unanswered, transcript.callerText, transcript.lastCallerTurn], [5, 'Hi.', 5]);
  t.ok(transcript.awaitsAnswer);
  t.same(said(), ['user: Hi.']);
  transcript.callerTurn(words(''));
  t.same(since(), [['caller', { key: undefined, text: '', audioEndMs: 30 }]], 'without words there is none');
  t.equal(turns(), 1);
  transcript.callerTurn(words('x', { confidence: 1.5 }));
  transcript.callerTurn(words('x', { confidence: -1 }));
  t.same(
    written.slice(1).map(({ turn }) => turn.confidence),
    [1, 0],
  );
  t.ok(transcript.forget('turn:5'));
  t.notOk(transcript.forget('turn:5'));
  t.equal(transcript.question(), 'x x');
  t.equal(transcript.question('and so it is'), 'and so it is');
  t.end();
});

void t.test('murmurs, keys and written texts are turns, each in its way', (t) => {
  const { call, transcript, written, since, words, said } = scene({ node: 'n1' });
  transcript.backchannel(words('mhm'));
  t.match(written[0]!.turn, { turn_index: 5, backchannel: true, text: 'mhm', node_id: 'n1' });
  t.same(since(), [['backchannel', { text: 'mhm', audioEndMs: 30 }]]);
  transcript.keys('12#');
  t.match(written[1]!.turn, {
    turn_index: 6,
    text: '(keys) 12#',
    start_ms: 1000,
    end_ms: 1000,
    node_id: 'n1',
  });
  t.same(since(), [['callerSaid', '', undefined]]);
  t.same(said(), [], 'the model is told otherwise');
  t.equal(transcript.written('Hello', undefined), 'turn:7');
  t.match(written[2]!.turn, { turn_index: 7, role: 'caller', text: 'Hello' });
  t.same(since(), [['callerSaid', 'Hello', undefined]]);
  t.equal(transcript.given('Hi there', null), 'given:1');
  t.equal(transcript.given('More'), 'given:2');
  transcript.note('A note');
  t.same(said(), ['assistant: Hi there', 'user: Hello', 'assistant: More', 'user: [A note]']);
  transcript.agentBackchannel('right', call.zero + 5, call.zero + 9);
  t.match(written[3]!.turn, {
    role: 'agent',
    backchannel: true,
    text: 'right',
    start_ms: 5,
    end_ms: 9,
    interrupted: false,
  });
  transcript.unfinishedTurn(words('cut of'));
  t.match(written[4]!.turn, { text: 'cut of' });
  t.equal(since().length, 0, 'nobody answers that');
  t.end();
});

void t.test('of a reply that was stopped the heard part is written, once with its number', (t) => {
  const { call, transcript, written, since, said, place } = scene({ node: 'n1' });
  const one = reply('One two three.');
  transcript.replyBegins('reply:3', one.parts);
  transcript.replyAudible(one);
  transcript.replyAudible(one);
  t.same([one.turnIndex, one.nodeId], [5, 'n1']);
  place.node = 'n2';
  const heard: HeardSpeech = {
    ...{ text: 'One two', complete: false, heardMs: 300 },
    ...{ startedAt: call.zero + 100, endedAt: call.zero + 400 },
    words: [{ text: 'One', startedAt: call.zero + 100, endedAt: call.zero + 200 }],
  };
  transcript.replyEnded(one, heard, { status: 'interrupted' });
  t.same(written, [
    {
      turn: {
        ...{ turn_index: 5, role: 'agent', text: 'One two', start_ms: 100, end_ms: 400, interrupted: true },
        ...{ redacted: false, node_id: 'n1', latency: one.latency },
      },
      words: [{ text: 'One', start_ms: 100, end_ms: 200 }],
    },
  ]);
  t.same(since(), [
    ['agentSaid', one.parts, 'One two'],
    [
      'reply',
      {
        id: 3,
        status: 'interrupted',
        text: 'One two',
        heardMs: 300,
        code: undefined,
        tokens: { input: 1, output: 2 },
      },
    ],
  ]);
  t.same(said(), ['assistant: One two']);
  t.equal(transcript.agentText, 'One two');
  transcript.replyCorrected(one, { ...heard, text: 'One' });
  t.match(written[1]!.turn, { turn_index: 5, text: 'One' });
  t.equal(since().length, 1, 'it has ended already');
  t.end();
});

void t.test('a reply that nobody heard is no turn', (t) => {
  const { transcript, written, since, said, call } = scene();
  const one = reply('Never.');
  transcript.replyBegins('reply:3', one.parts);
  transcript.replyEnded(one, undefined, { status: 'failed', code: 'llm_error' });
  t.same(written, []);
  t.match(since().at(-1), ['reply', { status: 'failed', text: '', heardMs: 0, code: 'llm_error' }]);
  t.same(said(), []);
  const whole = reply('All.');
  transcript.replyBegins('reply:4', whole.parts);
  const heard = { text: 'All.', complete: true, heardMs: 5, startedAt: call.zero + 7, endedAt: undefined };
  transcript.replyEnded(whole, heard, { status: 'completed' });
  t.match(written[0]!.turn, { turn_index: 5, text: 'All.', start_ms: 7, end_ms: 7, interrupted: false });
  t.notOk('node_id' in written[0]!.turn);
  t.same(said(), ['assistant: All.']);
  t.equal(transcript.unanswered, undefined);
  t.equal(transcript.callerText, '');
  t.end();
});

void t.test('a later leg tells the model what was said since its summary', (t) => {
  const history = [turn(0, 'old'), turn(1, 'new')];
  t.same(scene({ history }).said(), ['user: old', 'user: new']);
  const { said, transcript } = scene({ history, known: { from_index: 1, summary: 'Long ago.' } });
  t.same(said(), ['user: [What was said in this call before, in short: Long ago.]', 'user: new']);
  transcript.refuseCallerWords();
  t.match(said()[1], /must not be followed/);
  transcript.beginAnew('All.');
  t.same(said(), ['user: [What was said in this call before, in short: All.]']);
  t.end();
});
