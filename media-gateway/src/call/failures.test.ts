import t from 'tap';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { AgentSpeech, SpeechFailure } from '../speech/agent-speech.ts';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import { CallClock } from './call-clock.ts';
import { PhaseOfCall, type CallPhase } from './call-phase.ts';
import { Failures } from './failures.ts';
import { Goodbye } from './goodbye.ts';
import { WaitingTexts } from './waiting-texts.ts';

const DE = builtInSentences('de');
const ENDING = { ended_by: 'api', hangup_reason: 'api_hangup' } as const;

/** A German call in some phase, and what is said and done in it. */
function scene(phase: CallPhase = 'talking', { lastVoice = false } = {}) {
  const clock = new ManualClock();
  const call = new CallClock(clock, clock.now());
  const did: unknown[][] = [];
  const speaking = {
    current: undefined as { hasWords: boolean } | undefined,
    ...{ audible: false, busy: false },
    protect: () => void did.push(['protect']),
    cancel: () => void did.push(['cancel']),
    interrupt: () => void did.push(['interrupt']),
    say: (text: string, kind: string, how: { interruptible: boolean }) =>
      void did.push(['say', text, kind, how.interruptible]),
    answer: () => void did.push(['answer']),
  };
  const speech = speaking as unknown as AgentSpeech;
  const phases = new PhaseOfCall(phase);
  const end = (reason: unknown) => void did.push(['end', reason]);
  const goodbye = new Goodbye({ phase: phases, speech, clock: call, end });
  const failures = new Failures({
    ...{ phase: phases, speech, goodbye, end },
    sentences: () => DE,
    voices: { useLast: () => lastVoice },
    emit: (type, data) => void did.push(['emit', type, data]),
    logger: silentLogger(),
  });
  const since = () => did.splice(0);
  return { clock, phases, speaking, speech, goodbye, failures, since, did };
}
const failure = (
  reason: SpeechFailure['reason'],
  error: unknown = new ProviderError('p', 'timeout', 'No.'),
) => ({ status: 'failed', reason, error }) as SpeechFailure;
const settled = () => new Promise((resolve) => setImmediate(resolve));

void t.test('trouble is told with whose it is, where that is known', (t) => {
  const { failures, since } = scene();
  failures.trouble('llm_trouble', new ProviderError('openai', 'rate_limit', 'Slow.'));
  failures.trouble('tts_trouble', new Error('a bug'));
  failures.replyBreaksOff(failure('llm_error'));
  failures.replyBreaksOff(failure('internal', new Error('a bug')));
  t.same(since(), [
    ['emit', 'warning', { code: 'llm_trouble', provider: 'openai', fault: 'rate_limit' }],
    ['emit', 'warning', { code: 'tts_trouble' }],
    ['emit', 'error', { code: 'llm_error', fault: 'timeout' }],
    ['emit', 'error', { code: 'internal' }],
  ]);
  t.equal(failures.apology, DE.apology);
  t.end();
});

void t.test('a model that fails once is excused, twice, or refused, it ends the call', (t) => {
  const ending = { ended_by: 'system', failure_reason: 'llm_error' };
  const once = scene();
  once.failures.replyFailed(failure('llm_error'), false);
  t.same(once.since(), [['say', DE.apology, 'apology', true]]);
  t.equal(once.phases.phase, 'talking');
  for (const [error, repeated] of [
    [new ProviderError('p', 'timeout', 'No.'), true],
    [new ProviderError('p', 'auth', 'No.'), false],
  ] as const) {
    const one = scene();
    one.failures.replyFailed(failure('llm_error', error), repeated);
    t.same(one.since(), [['protect'], ['say', DE.givingUp, 'goodbye', false]]);
    t.equal(one.phases.phase, 'saying_goodbye');
    one.goodbye.finish();
    t.same(one.since(), [['end', ending]]);
  }
  const away = scene('away');
  away.failures.replyFailed(failure('llm_error'), true);
  t.same(away.since(), []);
  t.end();
});

void t.test('without a voice the call ends, in that of last resort where there is one', (t) => {
  const ending = { ended_by: 'system', failure_reason: 'tts_error' };
  const silent = scene();
  silent.failures.replyFailed(failure('tts_error'), false);
  t.same(silent.since(), [['end', ending]]);
  const last = scene('talking', { lastVoice: true });
  last.failures.replyFailed(failure('tts_error'), false);
  t.same(last.since(), [
    ['emit', 'warning', { code: 'local_voice' }],
    ['protect'],
    ['say', builtInSentences('en').givingUp, 'goodbye', false],
  ]);
  const leaving = scene('saying_goodbye', { lastVoice: true });
  leaving.failures.replyFailed(failure('tts_error'), false);
  t.same(leaving.since(), [['end', ending]], 'it was about to end');
  const bug = scene();
  bug.failures.replyFailed(failure('internal'), false);
  t.same(bug.since(), [['end', { ended_by: 'system', failure_reason: 'internal' }]]);
  t.end();
});

void t.test('a goodbye that fails is as good as said', (t) => {
  const { goodbye, failures, since } = scene();
  goodbye.say(ENDING, 'Bye.');
  since();
  failures.replyFailed(failure('llm_error'), false);
  t.same(since(), [['end', ENDING]]);
  t.end();
});

void t.test('who does not get on says so at once, and ends', (t) => {
  const { failures, since, goodbye } = scene();
  failures.giveUp();
  t.same(since(), [['cancel'], ['protect'], ['say', DE.givingUp, 'goodbye', false]]);
  goodbye.finish();
  t.same(since(), [['end', { ended_by: 'system', failure_reason: 'internal' }]]);
  for (const [code, failure_reason] of [
    ['flow_loop', 'flow_loop'],
    ['flow_stuck', 'internal'],
  ] as const) {
    const one = scene();
    one.failures.flowFailed(code);
    t.same(one.since()[0], ['emit', 'error', { code }]);
    one.goodbye.finish();
    t.same(one.since().at(-1), ['end', { ended_by: 'system', failure_reason }]);
  }
  const stuck = scene();
  stuck.failures.end();
  t.same(stuck.since(), [['end', { ended_by: 'system', failure_reason: 'internal' }]]);
  t.end();
});

void t.test('without an STT the caller is told, where somebody listens', (t) => {
  const { failures, since, goodbye } = scene();
  failures.recognitionLost();
  t.same(since(), [['interrupt'], ['protect'], ['say', DE.givingUp, 'goodbye', false]]);
  goodbye.finish();
  t.same(since(), [['end', { ended_by: 'system', failure_reason: 'stt_error' }]]);
  const later = scene('transferring');
  later.failures.recognitionLost();
  t.same(later.since(), []);
  t.end();
});

void t.test('a call ends once its last words were heard, for the first reason', async (t) => {
  const { goodbye, since, speaking } = scene();
  goodbye.tick(0);
  goodbye.finish();
  t.same(since(), []);
  goodbye.say(ENDING, 'Bye.');
  t.same(since(), [['protect'], ['say', 'Bye.', 'goodbye', false]]);
  goodbye.say({ ended_by: 'system', hangup_reason: 'silence' }, 'Other.');
  t.same(since(), []);
  speaking.current = { hasWords: true };
  goodbye.finish();
  t.same(since(), [['end', ENDING]]);

  const said = scene();
  said.speaking.current = { hasWords: true };
  said.goodbye.say(ENDING, 'Bye.');
  t.same(said.since(), [['protect']], 'the model says goodbye itself');
  const thinking = scene();
  thinking.speaking.current = { hasWords: false };
  thinking.goodbye.say(ENDING, undefined);
  t.same(thinking.since(), [['protect']]);
  thinking.goodbye.sayAtOnce(ENDING, 'Now.');
  t.same(thinking.since(), [], 'it is said already');
  const mute = scene();
  mute.speaking.current = { hasWords: false };
  mute.goodbye.say(ENDING, 'Bye.');
  t.same(mute.since(), [['protect'], ['say', 'Bye.', 'goodbye', false]]);
  const heard = scene();
  Object.assign(heard.speaking, { current: { hasWords: false }, audible: true });
  heard.goodbye.say(ENDING, 'Bye.');
  t.same(heard.since(), [['protect']]);
  const silent = scene();
  silent.goodbye.say(ENDING, undefined);
  await settled();
  t.same(silent.since(), [['protect'], ['end', ENDING]]);
  const gone = scene('away');
  gone.goodbye.say(ENDING, 'Bye.');
  t.same(gone.since(), [['end', ENDING]]);
});

void t.test('a goodbye takes half a minute at most, or as long as it may', (t) => {
  const { goodbye, since, speaking, clock } = scene();
  goodbye.say(ENDING, 'Bye.');
  speaking.current = { hasWords: true };
  since();
  const begun = clock.monotonic();
  goodbye.tick(begun + 29_999);
  t.same(since(), []);
  goodbye.tick(begun + 30_000);
  t.same(since(), [['end', ENDING]]);
  const short = scene();
  short.goodbye.say(ENDING, 'Bye.', 100);
  short.speaking.current = { hasWords: true };
  short.since();
  short.goodbye.tick(short.clock.monotonic() + 99);
  t.same(short.since(), []);
  short.speaking.current = undefined;
  short.goodbye.tick(short.clock.monotonic() + 99);
  t.same(short.since(), [['end', ENDING]], 'nothing is left to be heard');
  t.end();
});

void t.test('texts wait until nobody has the floor, eight at most', (t) => {
  const { phases, speech, speaking, since } = scene();
  const turns = { openText: '', expected: true };
  const news = { news: false };
  let listens = false;
  const texts = new WaitingTexts({
    ...{ phase: phases, speech, turns: turns as never, tools: news, mustListen: () => listens },
  });
  t.ok(texts.add('One.'));
  t.same(since(), [['say', 'One.', 'say', true]]);
  texts.sayNext();
  t.same(since(), []);
  speaking.busy = true;
  for (let i = 0; i < 8; i++) t.ok(texts.add(`Text ${i}.`));
  t.notOk(texts.add('Too many.'));
  let made = 0;
  texts.addUrgent(() => `Urgent ${++made}.`);
  t.same([since(), made], [[], 0]);
  speaking.busy = false;
  turns.openText = 'and';
  texts.sayNext();
  turns.openText = '';
  listens = true;
  texts.sayNext();
  t.same(since(), []);
  listens = false;
  for (let i = 0; i < 2; i++) texts.sayNext();
  t.same(
    since().map(([, text]) => text),
    ['Urgent 1.', 'Text 0.'],
    'the urgent one first, made when it is said',
  );
  for (let i = 0; i < 7; i++) texts.sayNext();
  since();
  news.news = true;
  texts.sayNext();
  t.same(since(), [['answer']], 'what tools have brought');
  turns.expected = false;
  texts.sayNext();
  t.same(since(), []);
  phases.on('transfer');
  texts.add('Later.');
  t.same(since(), []);
  t.end();
});
