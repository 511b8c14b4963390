import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { SessionPlan, SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { wirePlan } from '../call/fakes.ts';
import type { CallerHearing } from '../hearing/caller-hearing.ts';
import { EVIDENCE, type Evidence } from '../hearing/voice-evidence.ts';
import type { SttListener, SttOptions, SttProvider, SttTranscript } from '../providers/stt/stt-provider.ts';
import { CallerTurns, type Floor } from './caller-turns.ts';

const said = (text: string, more: Partial<SttTranscript> = {}): SttTranscript => ({
  ...{ text, confidence: 0.9, endMs: undefined, language: undefined },
  ...more,
});

/** The caller's side of a call that has just been answered, in which nothing happens by itself. */
function scene(change: (config: AgentConfig, plan: SessionPlanWire) => void = () => {}) {
  const plan: SessionPlan = wirePlan((plan, config) => {
    config.interruption.while_deciding = 'duck';
    change(config, plan);
  });
  const clock = new ManualClock();
  const zero = clock.monotonic();
  /** What was done and told, in order. */
  const log: unknown[] = [];
  const hears = {
    evidence: EVIDENCE.none as Evidence,
    sttEvidence: EVIDENCE.voice as Evidence,
    demand: EVIDENCE.sound as Evidence,
    isNothing: false,
    lastSpeechAt: -Infinity,
    lastSpeechAudioMs: 0,
    speechMs: 0,
    audioMs: 0,
    forStt: 2,
    ...{ loud: true, silent: false, noisy: false },
  };
  const hearing = {
    push: () => hears.evidence,
    tick: () => hears.evidence,
    sttSpeech: () => hears.sttEvidence,
    forStt: () => new Uint8Array(hears.forStt),
    hasWords: () => void log.push('has words'),
    stopped: () => void log.push('stopped'),
    wasNothing: () => void log.push('was nothing'),
    wasCaller: () => void log.push('was caller'),
    resetSpeech: () => {
      hears.speechMs = 0;
      log.push('reset');
    },
    suppressNoise: (how: unknown) => void log.push(['noise', how]),
    setThreshold: (threshold: unknown) => void log.push(['threshold', threshold]),
    [Symbol.dispose]: () => void log.push('deaf'),
  };
  for (const name of Object.keys(hears))
    if (!(name in hearing))
      Object.defineProperty(hearing, name, { get: () => hears[name as keyof typeof hears] });
  const floor = {
    activity: 'idle' as Floor['activity'],
    current: undefined as Floor['current'],
    audible: false,
    hold: (how: object) => void log.push(['hold', how]),
    resume: () => void log.push('resume'),
    interrupt: () => void log.push('interrupt'),
    prepare: (text: string) => void log.push(['prepare', text]),
    discardPrepared: () => void log.push('discard'),
  };
  const call = { attention: 'take_turn' as 'take_turn' | 'write_down' | 'ignore' };
  const opened: {
    options: SttOptions;
    listener: SttListener;
    written: number[];
    finalized: number;
    closed: boolean;
  }[] = [];
  const provider = (): SttProvider =>
    ({
      name: 'stt',
      open(options: SttOptions, listener: SttListener) {
        const one = { options, listener, written: [] as number[], finalized: 0, closed: false };
        opened.push(one);
        return {
          write: (bytes: Uint8Array) => void one.written.push(bytes.length),
          finalize: () => void one.finalized++,
          [Symbol.asyncDispose]: () => Promise.resolve(void (one.closed = true)),
        };
      },
    }) as unknown as SttProvider;
  const turns = new CallerTurns({
    plan,
    providers: [provider],
    format: { encoding: 'pcmu', sampleRate: 8000 },
    clock,
    placeOf: (at) => (Number.isFinite(at) ? Math.max(0, at - zero) : 0),
    hearing: hearing as unknown as CallerHearing,
    floor,
    events: {
      attention: () => call.attention,
      expectsAnswer: () => false,
      onSign: () => void log.push('sign'),
      onVoice: (at, audioMs) => void log.push(['voice', at - zero, audioMs]),
      onVoiceForgotten: (audioMs) => void log.push(['forgotten', audioMs]),
      onInterim: ({ text }) => void log.push(['interim', text]),
      onTurn: (words) => void log.push(['turn', words]),
      onBackchannel: ({ text }) => void log.push(['backchannel', text]),
      onPushed: (words, then) => void log.push(['pushed', words, then]),
      onDecision: ({ rule }) => void log.push(['decision', rule]),
      onTrouble: () => void log.push('trouble'),
      onRecognitionLost: () => void log.push('lost'),
    },
  });
  const stt = () => opened.at(-1)!.listener;
  /** What has happened since this was asked last. */
  const since = () => log.splice(0);
  const audio = (evidence: Evidence = EVIDENCE.none) => {
    hears.evidence = evidence;
    turns.audio(new Uint8Array(160), 20, clock.monotonic());
    hears.evidence = EVIDENCE.none;
  };
  const tick = () => turns.tick(clock.monotonic());
  return { plan, clock, zero, hears, floor, call, opened, turns, stt, since, audio, tick, provider };
}

void t.test('an STT is opened with what the agent says of it', async (t) => {
  const { turns, opened, since, audio } = scene((config) => {
    config.language.detection = 'every_turn';
    config.stt.keywords = ['Acme'];
    config.stt.endpointing_ms = 250;
  });
  turns.open();
  t.match(opened[0]!.options, {
    format: { encoding: 'pcmu' },
    language: 'en-US',
    among: ['en-US'],
    keywords: ['Acme'],
    endpointingMs: 250,
  });
  t.match(since()[0], ['noise']);
  audio();
  t.same(opened[0]!.written, [2], 'as it is heard here');
  const plain = scene((config) => (config.language.detection = 'off'));
  plain.turns.open();
  t.notOk('among' in plain.opened[0]!.options);
  plain.hears.forStt = 0;
  plain.audio();
  t.same(plain.opened[0]!.written, [], 'what is kept back is not sent');
  await turns[Symbol.asyncDispose]();
  t.same(since(), ['deaf']);
  t.ok(opened[0]!.closed);
});

void t.test('a voice is a sign of life, begins once, and is forgotten without words', (t) => {
  const { turns, clock, hears, since, audio, tick, floor, call } = scene();
  turns.open();
  since();
  clock.advance(500);
  hears.audioMs = 480;
  t.notOk(turns.speaking);
  audio(EVIDENCE.sound);
  t.ok(turns.speaking);
  audio(EVIDENCE.sound);
  t.same(since(), ['sign', ['voice', 500, 480], 'sign']);
  Object.assign(hears, { lastSpeechAt: clock.monotonic(), speechMs: 40, lastSpeechAudioMs: 500 });
  clock.advance(2000);
  tick();
  t.same(since(), []);
  floor.activity = 'held';
  call.attention = 'ignore';
  clock.advance(1);
  tick();
  t.ok(turns.speaking, 'while it is decided whether the agent goes on, it is not');
  since();
  floor.activity = 'idle';
  tick();
  t.same(since(), ['reset', ['forgotten', 500]]);
  t.notOk(turns.speaking);
  hears.speechMs = 10;
  tick();
  t.same(since(), ['reset'], 'a sound that was no voice is forgotten, and not told');
  t.end();
});

void t.test('in noise a sound is no sign, and the STT may hear a voice', (t) => {
  const { turns, hears, since, audio, stt } = scene();
  turns.open();
  since();
  hears.demand = EVIDENCE.near_voice;
  audio(EVIDENCE.sound);
  t.same(since(), []);
  audio(EVIDENCE.voice);
  t.match(since(), ['sign', ['voice']], 'more is not asked for');
  hears.sttEvidence = EVIDENCE.none;
  stt().onSpeechStarted(0);
  t.same(since(), []);
  hears.sttEvidence = EVIDENCE.voice;
  stt().onSpeechStarted(0);
  t.same(since(), ['sign']);
  t.end();
});

void t.test('a turn stands where it was said, and the next one begins with the next voice', (t) => {
  const { turns, clock, hears, since, audio, stt } = scene();
  turns.open();
  clock.advance(1000);
  audio(EVIDENCE.sound);
  clock.advance(400);
  Object.assign(hears, { lastSpeechAt: clock.monotonic(), lastSpeechAudioMs: 1390, speechMs: 400 });
  stt().onInterim(said('Hello'));
  t.equal(turns.openText, 'Hello');
  clock.advance(300);
  since();
  const words = [{ text: 'Hello', startMs: 0, endMs: 1 }];
  stt().onTurnEnd(said('Hello.', { language: 'en', words }));
  const [caller, reset, turn] = since();
  t.same([caller, reset], ['was caller', 'reset']);
  t.match(turn, [
    'turn',
    {
      ...{ text: 'Hello.', confidence: 0.9, language: 'en', words: [{ text: 'Hello' }] },
      ...{ startMs: 1000, endMs: 1400, endedAt: hears.lastSpeechAt, audioEndMs: 1390 },
    },
  ]);
  t.notOk(turns.speaking);
  t.equal(turns.openText, '');
  hears.lastSpeechAt = -Infinity;
  stt().onTurnEnd(said('And so.'));
  t.match(
    since().find((one) => Array.isArray(one) && one[0] === 'turn'),
    ['turn', { startMs: 0, endMs: 0, endedAt: -Infinity }],
    'where no voice was heard',
  );
  t.end();
});

void t.test('words are a sign, even where no voice was heard, but empty ones have none', (t) => {
  const { turns, since, stt } = scene();
  turns.open();
  since();
  stt().onInterim(said(''));
  t.match(since(), ['sign', ['voice'], ['interim', '']]);
  stt().onInterim(said('a'));
  t.match(since(), ['has words', 'sign', ['interim', 'a']]);
  t.end();
});

void t.test('what the caller says of an agent that speaks is done to it', (t) => {
  const { turns, since, audio, stt, floor, hears, clock, tick, plan } = scene((config) => {
    config.turn_taking.preemptive_generation = true;
  });
  turns.open();
  Object.assign(floor, {
    activity: 'speaking',
    audible: true,
    current: { id: 1, kind: 'answer', interruptible: true },
  });
  since();
  audio(EVIDENCE.sound);
  t.same(since().slice(2), ['stopped', ['hold', { soft: true }], ['decision', 'sound']]);
  floor.activity = 'held';
  hears.isNothing = true;
  tick();
  t.same(since(), ['was nothing', ['forgotten', 0], 'resume', ['decision', 'no_voice']]);
  t.notOk(turns.speaking);
  hears.isNothing = false;
  plan.agent.config.interruption.while_deciding = 'pause' as never;
  floor.activity = 'speaking';
  floor.current = { id: 2, kind: 'answer', interruptible: true };
  audio(EVIDENCE.sound);
  t.match(since()[3], ['hold', { soft: false }]);
  floor.activity = 'held';
  hears.speechMs = 500;
  stt().onInterim(said('stop'));
  t.match(since().slice(-2), ['interrupt', ['decision', 'stop_phrase']]);
  Object.assign(floor, { activity: 'idle', audible: false, current: undefined });
  hears.lastSpeechAt = clock.monotonic() - 100;
  stt().onInterim(said('book a table'));
  t.match(since().at(-1), ['prepare', 'book a table']);
  stt().onTurnResumed?.();
  t.match(since(), ['discard']);
  stt().onEagerTurnEnd?.(said('book a room'));
  t.match(since(), [['prepare', 'book a room']]);
  t.end();
});

void t.test('what may not be interrupted is not, and phases decide what words do', (t) => {
  const { turns, since, audio, stt, floor, call } = scene();
  turns.open();
  Object.assign(floor, {
    activity: 'speaking',
    audible: true,
    current: { id: 1, kind: 'answer', interruptible: false },
  });
  since();
  audio(EVIDENCE.sound);
  t.same(since().slice(2), []);
  stt().onTurnEnd(said('But I want this.'));
  t.match(since().at(-2), ['backchannel', 'But I want this.']);
  Object.assign(floor, { activity: 'idle', current: undefined });
  call.attention = 'write_down';
  stt().onTurnEnd(said('Something.'));
  t.match(since().at(-2), ['backchannel', 'Something.']);
  call.attention = 'ignore';
  stt().onTurnEnd(said('Nothing.'));
  t.same(since(), []);
  t.end();
});

void t.test('"Hello?" right after the answer interrupts no greeting of a call that goes out', (t) => {
  const held = (change: { direction?: 'inbound' | 'outbound'; kind?: string; afterMs?: number }) => {
    const { turns, since, stt, floor, clock, hears } = scene((_, plan) => {
      plan.direction = change.direction ?? 'outbound';
    });
    turns.open();
    Object.assign(floor, {
      ...{ activity: 'held', audible: true },
      current: { id: 1, kind: change.kind ?? 'greeting', interruptible: true },
    });
    clock.advance(change.afterMs ?? 2000);
    hears.speechMs = 500;
    stt().onInterim(said('Hello there'));
    return !since().includes('interrupt');
  };
  t.ok(held({}));
  t.notOk(held({ afterMs: 2001 }));
  t.notOk(held({ direction: 'inbound' }));
  t.notOk(held({ kind: 'answer' }));
  t.end();
});

void t.test('another agent listens as soon as the caller is silent, or after five seconds', (t) => {
  const { turns, since, opened, tick, clock, stt, hears, provider, floor } = scene();
  turns.open();
  since();
  turns.agentChanged([provider]);
  hears.speechMs = 20;
  tick();
  t.equal(opened.length, 1, 'the caller speaks');
  hears.speechMs = 0;
  floor.activity = 'held';
  tick();
  t.equal(opened.length, 1);
  floor.activity = 'idle';
  stt().onInterim(said('and'));
  tick();
  t.equal(opened.length, 1);
  hears.lastSpeechAt = clock.monotonic() + 4999;
  clock.advance(4999);
  tick();
  t.equal(opened.length, 1);
  since();
  clock.advance(1);
  tick();
  t.equal(opened.length, 2);
  const told = since();
  t.match(
    told.find((one) => Array.isArray(one) && one[0] === 'turn'),
    ['turn', { text: 'and' }],
    'no word falls between two',
  );
  t.ok(told.some((one) => Array.isArray(one) && one[0] === 'threshold'));
  t.ok(told.some((one) => Array.isArray(one) && one[0] === 'noise'));
  turns.agentChanged(undefined);
  tick();
  t.equal(opened.length, 2, 'it may be the same STT');
  t.ok(
    since().some((one) => Array.isArray(one) && one[0] === 'threshold'),
    'with other settings',
  );
  t.end();
});

void t.test('an open turn is closed with what is known, once', (t) => {
  const { turns, since, stt } = scene();
  turns.open();
  t.equal(turns.takeOpen(), undefined);
  turns.closeTurn();
  stt().onInterim(said('I was saying'));
  since();
  turns.closeTurn();
  t.match(since().at(-1), ['turn', { text: 'I was saying' }]);
  turns.closeTurn();
  t.same(since(), []);
  stt().onInterim(said(''));
  t.equal(turns.takeOpen(), undefined, 'nothing was said');
  t.end();
});

void t.test('where turns are detected, a commit asks the STT for the end of one', (t) => {
  const { turns, opened, audio, stt } = scene();
  turns.open();
  t.notOk(turns.commit(), 'nothing was said');
  audio(EVIDENCE.sound);
  t.ok(turns.commit());
  t.equal(opened[0]!.finalized, 1);
  const words = scene();
  words.turns.open();
  words.stt().onInterim(said('a'));
  t.ok(words.turns.commit());
  t.notOk(turns.respondThen({}), 'nothing is being committed');
  turns.clear();
  stt().onTurnEnd(said('Hello.'));
  t.ok(turns.expected && turns.answered);
  t.end();
});

void t.test('a far end that says itself when a turn is over is not interpreted', (t) => {
  const { turns, since, audio, stt, opened, hears, floor, tick } = scene();
  turns.open();
  floor.activity = 'held';
  audio(EVIDENCE.sound);
  since();
  turns.setDetection({ respond: true, interrupt: true, listen: false });
  t.same(since(), ['discard', 'reset', ['forgotten', 0], 'resume']);
  turns.setDetection({ respond: false, interrupt: true, listen: false });
  t.same(since(), [], 'it is so already');
  t.notOk(turns.expected);
  t.notOk(turns.answered);
  floor.activity = 'idle';
  for (let i = 0; i < 5; i++) audio(EVIDENCE.sound);
  t.same(since(), []);
  stt().onInterim(said('Tea'));
  stt().onTurnEnd(said('Tea.'));
  tick();
  t.same(since(), ['has words', ['interim', 'Tea']]);
  hears.audioMs = 777;
  t.ok(turns.commit());
  t.same(since(), ['sign']);
  t.notOk(turns.commit());
  t.ok(turns.respondThen({ textOnly: true }));
  stt().onTurnEnd(said('Please.'));
  const pushed = since();
  t.same(pushed.slice(0, 2), ['was caller', 'reset']);
  t.match(pushed[2], ['pushed', { text: 'Tea. Please.', audioEndMs: 777 }, { textOnly: true }]);
  for (let i = 0; i < 5; i++) audio();
  turns.clear();
  t.equal(opened[0]!.finalized, 2);
  t.notOk(turns.commit());
  for (let i = 0; i < 5; i++) audio();
  stt().onTurnEnd(said('dropped'));
  turns.commit();
  since();
  stt().onTurnEnd(said(''));
  t.match(since(), [['pushed', { text: '' }, undefined]], 'nothing was understood, and nobody has said it');
  t.end();
});

void t.test('detection that only answers or interrupts less changes no turn', (t) => {
  const { turns, since, stt, audio, floor } = scene((config) => {
    config.turn_taking.preemptive_generation = true;
  });
  turns.open();
  stt().onInterim(said('I want'));
  since();
  turns.setDetection({ respond: false, interrupt: false, listen: true });
  t.same(since(), []);
  t.equal(turns.openText, 'I want');
  stt().onEagerTurnEnd?.(said('I want tea'));
  t.same(since(), ['discard'], 'nothing is thought ahead where nothing is answered');
  Object.assign(floor, { activity: 'speaking', audible: true });
  audio(EVIDENCE.sound);
  t.same(since(), ['sign']);
  t.end();
});

void t.test('an STT that fails is told of, and whether it was the last', (t) => {
  const { turns, since, stt } = scene();
  turns.open();
  since();
  stt().onFailed(new ProviderError('stt', 'unavailable', 'Gone.'));
  t.same(since(), ['trouble', 'lost']);
  t.ok(turns.stt.lost);
  t.end();
});
