import t from 'tap';
import { defaultAgentConfig, type AgentConfig } from '@parley/shared/contracts/agent-config';
import { EVIDENCE } from '../hearing/voice-evidence.ts';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import { TurnDetector, type TurnAction, type TurnInput, type TurnView } from './turn-detector.ts';

const said = (text: string, more: Partial<SttTranscript> = {}): SttTranscript => ({
  ...{ text, confidence: 0.9, endMs: undefined, language: undefined },
  ...more,
});
const VOICE: TurnInput = { type: 'voice', evidence: EVIDENCE.sound };
const interim = (text: string): TurnInput => ({ type: 'interim', transcript: said(text) });
const end = (text: string): TurnInput => ({ type: 'turn_end', transcript: said(text) });
const TICK: TurnInput = { type: 'tick' };

/** A detector at time 0, whose caller was heard last then. Nothing is done by itself: the test says how things are. */
function seat(change: (config: AgentConfig) => void = () => {}, view: Partial<TurnView> = {}) {
  const config = defaultAgentConfig();
  config.turn_taking.preemptive_generation = false;
  config.interruption.false_after_ms = 2000;
  change(config);
  const now: TurnView = {
    ...{ nowMs: 0, agent: 'idle', audible: false, interruptible: true, utterance: 1, greetingGrace: false },
    ...{ demand: EVIDENCE.sound, isNothing: false, expectsAnswer: () => false },
    ...{ lastVoicedAt: 0, voicedMs: 500, lastVoicedAudioMs: 0 },
    ...view,
  };
  const detector = new TurnDetector(config, 'en-US');
  const does = (input: TurnInput, next: Partial<TurnView> = {}): TurnAction[] =>
    detector.handle(input, Object.assign(now, next));
  return { detector, does, now };
}

const SPEAKING = { agent: 'speaking', audible: true } as const;
const HELD = { agent: 'held', audible: true } as const;
const decided = (decision: object): TurnAction => ({ type: 'decision', decision }) as TurnAction;

void t.test('who is stopped, and by what, is told', (t) => {
  const speaking = seat(undefined, SPEAKING);
  t.same(speaking.does(VOICE), [{ type: 'hold' }, decided({ action: 'stop', rule: 'sound' })]);
  t.same(speaking.does(interim('I need'), HELD), [
    { type: 'cancel' },
    decided({ action: 'interrupt', rule: 'words', words: 'i need' }),
  ]);
  t.same(seat(undefined, SPEAKING).does({ type: 'stt_speech', evidence: EVIDENCE.voice }), [
    { type: 'hold' },
    decided({ action: 'stop', rule: 'stt_speech' }),
  ]);
  t.same(seat(undefined, SPEAKING).does(interim('Stop it')), [
    { type: 'hold' },
    decided({ action: 'stop', rule: 'words' }),
    { type: 'cancel' },
    decided({ action: 'interrupt', rule: 'stop_phrase', words: 'stop it' }),
  ]);
  t.same(seat(undefined, { ...HELD, expectsAnswer: () => true }).does(interim('Yeah')), [
    { type: 'cancel' },
    decided({ action: 'interrupt', rule: 'answer', words: 'yeah' }),
  ]);
  t.same(seat(undefined, { agent: 'thinking' }).does(interim('And two')), [
    { type: 'cancel' },
    decided({ action: 'interrupt', rule: 'went_on', words: 'and two' }),
  ]);
  t.end();
});

void t.test('what is no turn is told as what it was', (t) => {
  t.same(seat(undefined, SPEAKING).does(end('Uh-huh.')), [
    { type: 'backchannel', transcript: said('Uh-huh.') },
    decided({ action: 'ignore', rule: 'backchannel', words: 'uh huh' }),
  ]);
  t.same(seat(undefined, HELD).does(end('Uh-huh.')).slice(2), [
    { type: 'resume', mistaken: false },
    decided({ action: 'resume', rule: 'backchannel' }),
  ]);
  t.end();
});

void t.test('why a turn is answered, or waited for, is told with the time', (t) => {
  t.same(seat().does(end('Hello.')), [
    { type: 'turn', transcript: said('Hello.') },
    decided({ action: 'answer', rule: 'stt_end' }),
  ]);
  const dictating = seat();
  const max = defaultAgentConfig().turn_taking.max_endpointing_ms;
  t.same(dictating.does(end('My number is four one five')), [
    decided({ action: 'wait', rule: 'dictating', timer_ms: max }),
  ]);
  t.same(dictating.does(end('five five')), [], 'once');
  t.same(dictating.does(TICK, { nowMs: max - 1 }), []);
  t.match(dictating.does(TICK, { nowMs: max }), [
    { type: 'turn' },
    decided({ action: 'answer', rule: 'pause' }),
  ]);
  const semantic = seat(({ turn_taking }) => {
    turn_taking.mode = 'semantic';
    turn_taking.eagerness = 'patient';
    turn_taking.min_endpointing_ms = 301;
  });
  t.same(semantic.does(end('I would like a coffee.')), [
    decided({ action: 'wait', rule: 'unfinished', timer_ms: 452 }),
  ]);
  t.same(semantic.does(TICK, { nowMs: 451 }), []);
  t.match(semantic.does(TICK, { nowMs: 452 })[0], { type: 'turn' });
  t.end();
});

void t.test('a monologue is cut in on at its time, by the agent that listens alone', (t) => {
  const talker = () => seat(({ turn_taking }) => (turn_taking.max_caller_turn_seconds = 10));
  const one = talker();
  one.does(interim('and then I said'));
  t.same(one.does(TICK, { nowMs: 9999, lastVoicedAt: 9999 }), []);
  t.match(one.does(TICK, { nowMs: 10_000, lastVoicedAt: 10_000 }), [
    { type: 'turn' },
    decided({ action: 'cut_in', rule: 'too_long' }),
  ]);
  const busy = talker();
  busy.does(interim('and then I said'));
  t.same(busy.does(TICK, { nowMs: 10_000, lastVoicedAt: 10_000, agent: 'speaking' }), []);
  const paused = talker();
  paused.does(VOICE);
  paused.does(TICK, { nowMs: 5001 });
  paused.does(interim('and then'), { lastVoicedAt: 5001 });
  t.same(
    paused.does(TICK, { nowMs: 10_500, lastVoicedAt: 10_500 }),
    [],
    'a sound five seconds ago was another turn',
  );
  t.end();
});

void t.test('a stop for nothing ends when nothing more can come', (t) => {
  const held = (view: Partial<TurnView> = {}, change?: (config: AgentConfig) => void) => {
    const one = seat(change, SPEAKING);
    one.does(VOICE);
    Object.assign(one.now, HELD, view);
    return one;
  };
  const nothing = (rule: string, timer_ms: number) => [
    { type: 'resume', mistaken: true },
    decided({ action: 'resume', rule, timer_ms }),
  ];
  const cough = held();
  t.same(cough.does(TICK, { nowMs: 699 }), []);
  t.same(cough.does(TICK, { nowMs: 700 }), nothing('no_words', 700));
  t.same(held().does(TICK, { nowMs: 700, lastVoicedAt: 1 }), [], 'the voice has just ended');
  t.same(held().does(TICK, { nowMs: 100.4, isNothing: true }), nothing('no_voice', 100));
  const unheard = held({ audible: false });
  t.same(unheard.does(TICK, { nowMs: 499 }), []);
  t.same(unheard.does(TICK, { nowMs: 500, lastVoicedAt: 301 }), []);
  t.same(unheard.does(TICK, { nowMs: 501, lastVoicedAt: 301 }), nothing('no_words', 501));
  const words = held();
  words.does(interim('uh'));
  t.same(words.does(TICK, { nowMs: 1999, lastVoicedAt: 1999 }), []);
  t.same(words.does(TICK, { nowMs: 2000, lastVoicedAt: 2000 }), nothing('no_words', 2000));

  const strict = ({ interruption }: AgentConfig) => (interruption.resume_on_false = false);
  const stopped = held({}, strict);
  t.same(stopped.does(TICK, { nowMs: 1999 }), []);
  t.same(stopped.does(TICK, { nowMs: 2000 }), [
    { type: 'cancel' },
    decided({ action: 'interrupt', rule: 'no_words', timer_ms: 2000 }),
  ]);
  t.same(held({ audible: false }, strict).does(TICK, { nowMs: 500 }), nothing('no_words', 500));
  t.end();
});

void t.test('stops for nothing count for the utterance that they stopped', (t) => {
  const { does, now } = seat(undefined, SPEAKING);
  const stop = () => does(VOICE, SPEAKING).length > 0;
  const resumeAt = (nowMs: number) => does(TICK, { ...HELD, nowMs, lastVoicedAt: nowMs - 700 });
  t.ok(stop());
  t.match(resumeAt(700), [{ type: 'resume', mistaken: true }, {}]);
  t.ok(stop());
  resumeAt(1400);
  t.notOk(stop(), 'twice is enough');
  now.utterance = 2;
  t.ok(stop());
  resumeAt(2100);
  t.ok(stop(), 'once');
  t.end();
});

void t.test('an STT that never ends a turn is asked once, and overruled half a second later', (t) => {
  const { does, detector } = seat();
  does(interim('Are you there?'));
  t.same(does(TICK, { nowMs: 999 }), []);
  t.same(does(TICK, { nowMs: 1000 }), [{ type: 'finalize' }]);
  t.same(does(TICK, { nowMs: 1499 }), []);
  t.ok(detector.isOpen);
  t.equal(detector.openText, 'Are you there?');
  t.match(does(TICK, { nowMs: 1500 }), [{ type: 'turn', transcript: { text: 'Are you there?' } }, {}]);
  t.notOk(detector.isOpen);
  t.equal(detector.openText, '');
  // What it says of them afterwards is late, for five seconds and as long as nobody speaks.
  t.same(does(end('there?'), { nowMs: 6499 }), []);
  t.same(does(end('are you there'), { nowMs: 6499 }), []);
  t.match(does(end('here?'), { nowMs: 6499 })[0], { type: 'turn' }, 'other words are others');
  const later = seat();
  later.does(interim('Yes'));
  later.does(TICK, { nowMs: 1000 });
  later.does(TICK, { nowMs: 1500 });
  t.match(later.does(end('Yes.'), { nowMs: 6500 })[0], { type: 'turn' });
  const again = seat();
  again.does(interim('Yes'));
  again.does(TICK, { nowMs: 1000 });
  again.does(TICK, { nowMs: 1500 });
  t.match(again.does(end('Yes.'), { nowMs: 1600, lastVoicedAt: 1 })[0], { type: 'turn' }, 'said again');
  t.end();
});

void t.test('a caller who goes on is not finalized, and silence is counted from the last voice', (t) => {
  const { does } = seat();
  does(interim('I want'));
  t.same(does(TICK, { nowMs: 1000 }), [{ type: 'finalize' }]);
  t.same(does(TICK, { nowMs: 1400, lastVoicedAt: 1201 }), [], 'a voice');
  t.same(does(TICK, { nowMs: 2200 }), []);
  t.same(does(TICK, { nowMs: 2201 }), [{ type: 'finalize' }]);
  const silence = seat(({ turn_taking }) => {
    turn_taking.mode = 'silence';
    turn_taking.vad_min_silence_ms = 400;
  });
  silence.does(interim('I want'));
  t.same(silence.does(TICK, { nowMs: 399 }), []);
  t.same(silence.does(TICK, { nowMs: 400 }), [{ type: 'finalize' }]);
  const empty = seat();
  empty.does(interim(''));
  t.same(empty.does(TICK, { nowMs: 3000 }), [], 'where nothing was said nothing is asked for');
  t.end();
});

void t.test(
  'thinking ahead waits for a little silence, for finished words, and gives up after three',
  (t) => {
    const ahead = (change: (config: AgentConfig) => void = () => {}) =>
      seat((config) => {
        config.turn_taking.preemptive_generation = true;
        change(config);
      });
    const one = ahead();
    t.same(one.does(interim('book a table'), { nowMs: 79 }), []);
    t.same(one.does(TICK, { nowMs: 80 }), [{ type: 'prepare', text: 'book a table' }]);
    t.same(one.does({ type: 'resumed' }), [{ type: 'discard' }], 'the STT says that the caller goes on');
    t.same(one.does({ type: 'resumed' }), []);
    const eager = (text: string): TurnInput => ({ type: 'eager_end', transcript: said(text) });
    t.same(ahead().does(eager('book a table for')), [{ type: 'prepare', text: 'book a table for' }]);
    t.same(ahead().does(eager('my number is four one five')), [], 'more has to come');
    t.same(ahead().does(eager('word '.repeat(61).trim())), []);
    t.equal(ahead().does(eager('word '.repeat(60).trim())).length, 1);
    t.same(seat().does(eager('book a table')), [], 'an agent may not want to');
    t.same(
      seat(({ turn_taking }) => (turn_taking.preemptive_generation = true), SPEAKING).does(eager('a b')),
      [],
    );
    const four = ahead();
    t.equal(four.does(eager('one')).length, 1);
    t.same(four.does(eager('One!')), []);
    t.equal(four.does(eager('two')).length, 2);
    t.equal(four.does(eager('three')).length, 2);
    t.same(four.does(eager('seven')), [{ type: 'discard' }]);
    t.match(four.does(end('eight.'))[0], { type: 'turn' });
    t.equal(four.does(eager('nine')).length, 1, 'the next turn begins anew');
    const other = ahead();
    other.does(eager('book a table'));
    t.match(other.does(end('cancel it')), [{ type: 'discard' }, { type: 'turn' }, {}]);
    t.end();
  },
);

void t.test('pieces of one turn are one transcript', (t) => {
  const { detector, does } = seat();
  const words = (text: string) => [{ text, startMs: 0, endMs: 1 }];
  does({
    type: 'turn_end',
    transcript: said('My number is four one five', { language: 'en', words: words('My') }),
  });
  does({
    type: 'interim',
    transcript: said('five five', { endMs: 7, confidence: 0.5, words: words('five') }),
  });
  t.equal(detector.openText, 'My number is four one five five five');
  t.same(detector.take(), {
    text: 'My number is four one five five five',
    confidence: 0.5,
    endMs: 7,
    language: 'en',
    words: [...words('My'), ...words('five')],
  });
  t.equal(detector.take(), undefined, 'it was taken');
  t.notOk(detector.isOpen);
  does(interim(''));
  t.notOk(detector.isOpen);
  t.equal(detector.take()?.text, '');
  t.end();
});

void t.test('who may not be interrupted is not, and few words must be enough', (t) => {
  const words = (view: Partial<TurnView>, text = 'but I', change?: (config: AgentConfig) => void) =>
    seat(change, { ...HELD, ...view }).does(interim(text)).length > 0;
  t.ok(words({}));
  t.notOk(words({ interruptible: false }));
  t.notOk(words({}, 'but I', ({ interruption }) => (interruption.enabled = false)));
  t.notOk(words({ greetingGrace: true }), 'two words after the answer greet');
  t.ok(words({ greetingGrace: true }, 'but I want'));
  const least = defaultAgentConfig().interruption.min_speech_ms;
  t.notOk(words({ voicedMs: least - 1 }));
  t.ok(words({ voicedMs: least }));
  t.ok(words({ voicedMs: 60, demand: EVIDENCE.voice }, 'stop'));
  t.notOk(words({ voicedMs: 59, demand: EVIDENCE.voice }, 'stop'));
  t.ok(words({ voicedMs: 59 }, 'stop'), 'where there is no noise');
  const three = ({ interruption }: AgentConfig) => (interruption.min_words = 3);
  t.notOk(words({}, 'but I', three));
  t.ok(words({}, 'but I want', three));
  t.ok(words({}, 'but', ({ interruption }) => (interruption.min_words = 0)));
  t.notOk(words({}, '…'));
  const voice = (view: Partial<TurnView>, change?: (config: AgentConfig) => void) =>
    seat(change, { ...SPEAKING, ...view }).does(VOICE).length > 0;
  t.ok(voice({}));
  t.ok(voice({ agent: 'thinking' }));
  t.notOk(voice({ agent: 'idle' }));
  t.notOk(voice({ agent: 'held' }));
  t.notOk(voice({ interruptible: false }));
  t.notOk(voice({ demand: EVIDENCE.voice }));
  t.notOk(voice({}, ({ interruption }) => (interruption.enabled = false)));
  t.same(seat(undefined, SPEAKING).does({ type: 'voice', evidence: EVIDENCE.none }), []);
  t.end();
});
