import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { LlmMessage } from '../providers/llm/llm-provider.ts';
import { AgentSpeech, type SpeechFailure } from './agent-speech.ts';
import type { Playout } from './playout.ts';
import type { MakeReply } from './reply-maker.ts';
import type { Reply, ReplyOutcome, ReplyPart } from './reply.ts';
import type { HeardSpeech, PlayoutEvents } from './speech.ts';

interface Made {
  order: Parameters<MakeReply>[0];
  parts: ReplyPart[];
  ends: (outcome: ReplyOutcome) => Promise<void>;
}

/** The speech of one call, in which the test says what replies and playback do. What is done is noted in order. */
function scene() {
  const clock = new ManualClock();
  const log: unknown[] = [];
  const since = () => log.splice(0);
  const made: Made[] = [];
  const makeReply = ((order: Made['order']) => {
    const outcome = Promise.withResolvers<ReplyOutcome>();
    const one: Made = {
      ...{ order, parts: [] },
      ends: async (how) => {
        outcome.resolve(how);
        await new Promise((resolve) => setImmediate(resolve));
      },
    };
    made.push(one);
    const name = order.speech ?? 'thought';
    log.push(['make', name, order.released]);
    return {
      ...{ parts: one.parts, times: {}, tokens: { input: 0, output: 0 }, outcome: outcome.promise },
      cancel: () => void log.push(['cancel', name]),
      release: () => void log.push(['release', name]),
    } as unknown as Reply;
  }) as MakeReply;
  const playing = {
    events: undefined as PlayoutEvents | undefined,
    ...{ audible: false, held: false, silent: false, heardMs: 0 },
    ledger: { lastHeardAt: undefined as number | undefined },
    reconsidered: undefined as HeardSpeech | undefined,
  };
  const heard = (text: string, more: Partial<HeardSpeech> = {}): HeardSpeech => ({
    ...{ text, complete: false, heardMs: 100, startedAt: 0, endedAt: 100 },
    ...more,
  });
  const playout = {
    begin: (events: PlayoutEvents, { held }: { held: boolean }) => {
      playing.events = events;
      log.push(['begin', held]);
    },
    cancel: () => {
      const was = playing.events;
      playing.events = undefined;
      return was && playing.audible ? heard('half') : undefined;
    },
    hold: (how: object) => {
      log.push(['hold', how]);
      playing.held = playing.silent = true;
    },
    resume: () => {
      log.push('resume');
      playing.held = playing.silent = false;
    },
    limitHeard: (ms: number) => void log.push(['limit', ms]),
    reconsider: () => playing.reconsidered,
    textUntil: (ms: number) => `until ${ms}`,
  };
  for (const name of ['audible', 'held', 'silent', 'heardMs', 'ledger'] as const)
    Object.defineProperty(playout, name, { get: () => playing[name] });
  const tools = { busy: false, mayThinkAhead: true, idle: Promise.withResolvers<void>() };
  const may = { think: true, ahead: true };
  const messages: LlmMessage[] = [];
  const speech = new AgentSpeech({
    makeReply,
    playout: playout as unknown as Playout,
    tools: {
      get busy() {
        return tools.busy;
      },
      get mayThinkAhead() {
        return tools.mayThinkAhead;
      },
      idle: () => tools.idle.promise,
    },
    transcript: {
      note: (text) => void log.push(['note', text]),
      messages: (prompt, extra) => (log.push(['messages', prompt, extra]), messages),
      question: (extra) => `question ${extra}`,
      replyBegins: (key) => void log.push(['begins', key]),
      replyAudible: ({ id }) => void log.push(['audible', id]),
      replyEnded: ({ id }, known, { status, code }) =>
        void log.push(['ended', id, known?.text, status, code]),
      replyCorrected: ({ id }, known) => void log.push(['corrected', id, known.text]),
    },
    systemPrompt: () => 'prompt',
    clock,
    observer: {
      onReplyStarted: ({ id, key, kind, textOnly }) => void log.push(['started', id, key, kind, textOnly]),
      onReplyText: ({ id, delta }) => void log.push(['text', id, delta]),
      onReplyHeld: ({ id, text }) => void log.push(['held', id, text]),
      onReplyResumed: ({ id }) => void log.push(['resumed', id]),
      onReplySent: ({ id }) => void log.push(['sent', id]),
    },
    events: {
      mayThink: () => may.think,
      mayThinkAhead: () => may.ahead,
      onHeard: (text) => void log.push(['heard', text]),
      onError: ({ reason }) => void log.push(['error', reason]),
      onFailed: ({ reason }, repeated) => void log.push(['failed', reason, repeated]),
      onInterrupted: (turn, ms) => void log.push(['interrupted', turn, ms]),
    },
  });
  /** The first audio goes out. */
  const begins = () => {
    playing.audible = true;
    playing.events!.onStarted(clock.monotonic());
  };
  /** All of it was heard. */
  const finishes = (text = 'all') => {
    const { events } = playing;
    playing.ledger.lastHeardAt = clock.monotonic();
    playing.audible = false;
    events!.onFinished(heard(text, { complete: true }));
    playing.events = undefined;
  };
  return { clock, log, since, made, playing, tools, may, speech, begins, finishes, heard };
}

const failed: SpeechFailure = { status: 'failed', reason: 'llm_error', error: new Error('no') };

void t.test('a reply is thought, heard and over', async (t) => {
  const { speech, since, made, begins, finishes, playing } = scene();
  t.equal(speech.activity, 'idle');
  speech.answer();
  t.same(since(), [
    ['begin', false],
    ['make', 'thought', true],
    ['begins', 'reply:1'],
    ['started', 1, 'reply:1', 'answer', false],
  ]);
  t.equal(speech.activity, 'thinking');
  t.ok(speech.busy);
  t.notOk(speech.audible);
  made[0]!.order.messages();
  t.equal(made[0]!.order.question?.(), 'question undefined');
  made[0]!.order.onText('Hel');
  t.same(since(), [
    ['messages', 'prompt', undefined],
    ['text', 1, 'Hel'],
  ]);
  begins();
  t.equal(speech.activity, 'speaking');
  t.ok(speech.audible);
  playing.events!.onSent!();
  playing.heardMs = 99.6;
  t.equal(speech.progress, 100);
  made[0]!.parts.push({ type: 'speech', text: 'Hello', fromModel: true });
  t.equal(speech.progress, 105);
  finishes('Hello');
  t.same(since(), [
    ['audible', 1],
    ['sent', 1],
    ['ended', 1, 'Hello', 'completed', undefined],
    ['heard', 'Hello'],
  ]);
  t.equal(speech.current, undefined);
  t.notOk(speech.busy);
  t.equal(speech.progress, -1, 'it changes with each');
});

void t.test('an order has its kind and its note, and nothing is thought where that may not be', (t) => {
  const { speech, since, may } = scene();
  may.think = false;
  speech.answer({ note: 'a' });
  speech.answerTurn(5);
  speech.prepare('x');
  t.same(since(), []);
  may.think = true;
  speech.answer({ kind: 'reminder', note: 'They are silent.', textOnly: true });
  t.same(since()[0], ['note', 'They are silent.']);
  t.match(speech.current, { kind: 'reminder', textOnly: true, interruptible: true });
  speech.setTextOnly(true);
  speech.answer();
  t.ok(speech.current?.textOnly);
  t.ok(
    since().some((one) => Array.isArray(one) && one[0] === 'ended' && one[3] === 'interrupted'),
    'in place of it',
  );
  speech.setTextOnly(false);
  speech.answer();
  t.notOk(speech.current?.textOnly);
  t.end();
});

void t.test('what was thought ahead is said when its turn is over', (t) => {
  const { speech, since, made, begins } = scene();
  speech.prepare('book a');
  t.same(since(), [
    ['begin', true],
    ['make', 'thought', false],
  ]);
  t.ok(speech.busy);
  t.equal(speech.activity, 'idle');
  made[0]!.order.messages();
  t.same(since(), [['messages', 'prompt', 'book a']]);
  t.equal(made[0]!.order.question?.(), 'question book a');
  made[0]!.order.onText('Sure');
  made[0]!.order.onText(', sir');
  t.same(since(), [], 'nobody is told of it yet');
  speech.prepare('more');
  t.same(since(), [], 'one at a time');
  speech.answerTurn(70);
  t.same(since(), [
    ['begins', 'reply:1'],
    ['started', 1, 'reply:1', 'answer', false],
    ['text', 1, 'Sure, sir'],
    ['release', 'thought'],
    'resume',
  ]);
  made[0]!.order.messages();
  t.same(since(), [['messages', 'prompt', undefined]], 'the turn is in the conversation');
  begins();
  t.equal(speech.current!.latency.e2e, Math.max(0, Math.round(scene().clock.monotonic() - 70)));
  t.end();
});

void t.test('nothing is thought ahead of an agent that is busy, or must not', (t) => {
  const { speech, since, may, tools, made } = scene();
  may.ahead = false;
  speech.prepare('x');
  t.equal(made.length, 0);
  speech.prepare();
  t.equal(made.length, 1, 'where the turn is over and written down, it may');
  since();
  speech.discardPrepared();
  t.same(since(), [['cancel', 'thought']]);
  speech.discardPrepared();
  t.same(since(), []);
  may.ahead = true;
  tools.mayThinkAhead = false;
  speech.prepare('x');
  tools.mayThinkAhead = true;
  tools.busy = true;
  speech.prepare('x');
  speech.prepareText('Hello.');
  tools.busy = false;
  speech.answer();
  speech.prepare('x');
  t.equal(made.length, 2);
  t.end();
});

void t.test('a fixed text that is ready is said as it is, another one in its place', (t) => {
  const { speech, since, made } = scene();
  speech.prepareText('Hello.');
  t.same(since(), [
    ['begin', true],
    ['make', 'Hello.', false],
  ]);
  t.same(made[0]!.order.messages(), []);
  made[0]!.order.onText('Hello.');
  t.equal(speech.say('Hello.', 'greeting', { interruptible: false }), speech.current);
  t.same(since(), [
    ['begins', 'reply:1'],
    ['started', 1, 'reply:1', 'greeting', false],
    ['text', 1, 'Hello.'],
    ['release', 'Hello.'],
    'resume',
  ]);
  t.notOk(speech.current?.interruptible);
  const others: ((one: ReturnType<typeof scene>) => void)[] = [
    ({ speech }) => void speech.say('Hi.', 'greeting', { interruptible: true }),
    ({ speech }) =>
      void speech.say('Hello.', 'greeting', {
        interruptible: true,
        recorded: { samples: new Uint8Array(2), sampleRate: 8000 },
      }),
    ({ speech }) => {
      speech.setTextOnly(true);
      speech.say('Hello.', 'greeting', { interruptible: true });
    },
  ];
  for (const other of others) {
    const one = scene();
    one.speech.prepareText('Hello.');
    one.since();
    other(one);
    t.same(one.since()[0], ['cancel', 'Hello.']);
    t.match(one.made[1]!.order, { released: true, keep: false });
  }
  const kept = scene();
  kept.speech.say('Hi.', 'say', { interruptible: true, keep: true });
  t.match(kept.made[0]!.order, { speech: 'Hi.', keep: true, textOnly: false });
  t.end();
});

void t.test('a caller interrupts what may be, and the goodbye is said to its end', (t) => {
  const { speech, since, begins, playing } = scene();
  t.notOk(speech.interrupt(), 'nothing is said');
  speech.answer();
  since();
  t.ok(speech.interrupt());
  t.same(
    since(),
    [
      ['cancel', 'thought'],
      ['ended', 1, undefined, 'interrupted', undefined],
    ],
    'nothing was heard of it',
  );
  speech.answer();
  begins();
  speech.current!.turnIndex = 4;
  since();
  t.ok(speech.interrupt());
  t.same(since().at(-1), ['interrupted', 4, 100]);
  playing.audible = false;
  const old = speech.say('One.', 'say', { interruptible: true });
  speech.say('Bye.', 'goodbye', { interruptible: false });
  t.notOk(speech.interrupt(old), 'which is over');
  t.notOk(speech.interrupt());
  t.equal(speech.current?.kind, 'goodbye');
  t.end();
});

void t.test('an answer waits for tools of an earlier turn, unless something else is said', async (t) => {
  const { speech, made, tools } = scene();
  tools.busy = true;
  speech.answer();
  t.equal(made.length, 0);
  t.ok(speech.busy);
  tools.busy = false;
  tools.idle.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(made.length, 1);
  const other = scene();
  other.tools.busy = true;
  other.speech.answer();
  other.speech.say('One.', 'say', { interruptible: true });
  other.tools.busy = false;
  other.tools.idle.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(other.made.length, 1);
});

void t.test('a reply that breaks off is told, and whether it is one of several', async (t) => {
  const { speech, since, made, begins } = scene();
  speech.answer();
  begins();
  since();
  await made[0]!.ends(failed);
  t.same(since(), [
    ['error', 'llm_error'],
    ['ended', 1, 'half', 'failed', 'llm_error'],
    ['failed', 'llm_error', false],
  ]);
  speech.say('Sorry.', 'apology', { interruptible: true });
  await made[1]!.ends({ status: 'spoken' });
  speech.answer();
  since();
  await made[2]!.ends(failed);
  t.same(since().at(-1), ['failed', 'llm_error', true], 'an apology is no success');
  speech.answer();
  await made[3]!.ends({ status: 'spoken' });
  speech.answer();
  await made[4]!.ends(failed);
  t.same(since().at(-1), ['failed', 'llm_error', false]);
  speech.answer();
  speech.cancel();
  since();
  await made[5]!.ends(failed);
  t.same(since(), [], 'which nobody waits for');
  speech.answer();
  since();
  await made[6]!.ends({ status: 'cancelled' });
  t.same(since(), []);
});

void t.test('what is held, and goes on, is told where something of it was heard', (t) => {
  const { speech, since, begins, playing } = scene();
  speech.hold({ soft: true });
  t.same(since(), [['hold', { soft: true }]]);
  playing.held = playing.silent = false;
  speech.answer();
  speech.hold({ soft: false });
  t.equal(speech.activity, 'held');
  since();
  speech.resume();
  t.same(since(), ['resume'], 'nothing was');
  begins();
  playing.heardMs = 40;
  since();
  speech.hold({ soft: false });
  t.same(since(), [
    ['hold', { soft: false }],
    ['held', 1, 'until 40'],
  ]);
  speech.hold({ soft: false });
  t.same(since(), [['hold', { soft: false }]], 'it is held already');
  speech.resume();
  t.same(since(), [['resumed', 1], 'resume']);
  speech.hold({ soft: false });
  since();
  speech.protect();
  t.same(since(), [['resumed', 1], 'resume']);
  t.notOk(speech.current?.interruptible);
  speech.protect();
  t.same(since(), []);
  t.end();
});

void t.test('the caller’s delay is known once, from what was heard last', (t) => {
  const { speech, clock, begins, finishes } = scene();
  t.equal(speech.takeCallerDelay(clock.monotonic()), undefined);
  speech.answer();
  begins();
  finishes();
  clock.advance(700);
  t.equal(speech.takeCallerDelay(clock.monotonic()), 700);
  t.equal(speech.takeCallerDelay(clock.monotonic()), undefined);
  speech.answer();
  begins();
  finishes();
  speech.answer();
  t.equal(speech.takeCallerDelay(clock.monotonic()), undefined, 'the agent speaks');
  t.end();
});

void t.test('the far end may say how much it played of this utterance, or of the last', (t) => {
  const { speech, since, begins, finishes, playing, heard } = scene();
  speech.answer();
  begins();
  playing.heardMs = 300;
  since();
  t.equal(speech.truncate(1, 200), 'until 200');
  t.equal(speech.truncate(1, 400), 'until 300');
  t.same(since(), [
    ['limit', 200],
    ['limit', 400],
  ]);
  t.equal(speech.truncate(9, 10), undefined);
  finishes();
  since();
  t.equal(speech.truncate(1, 10), undefined, 'it is no less');
  playing.reconsidered = heard('hal');
  t.equal(speech.truncate(1, 10), 'hal');
  t.same(since(), [['corrected', 1, 'hal']]);
  t.equal(speech.truncate(2, 10), undefined);
  t.end();
});
