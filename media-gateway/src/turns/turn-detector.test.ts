import t from 'tap';
import { defaultAgentConfig, type AgentConfig } from '@parley/shared/contracts/agent-config';
import { EVIDENCE, type Evidence } from '../hearing/voice-evidence.ts';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import {
  TurnDetector,
  type AgentActivity,
  type TurnAction,
  type TurnInput,
  type TurnView,
} from './turn-detector.ts';

const said = (text: string): SttTranscript => ({
  text,
  confidence: 0.9,
  endMs: undefined,
  language: undefined,
});

/** A sound in quiet: that is enough there. */
const VOICE: TurnInput = { type: 'voice', evidence: EVIDENCE.sound };

/** A detector, and an agent that does what it says. */
function table(change: (config: AgentConfig) => void = () => {}) {
  const config = defaultAgentConfig();
  config.turn_taking.preemptive_generation = false;
  change(config);
  const detector = new TurnDetector(config, 'en-US');
  const view: TurnView = {
    nowMs: 100_000,
    agent: 'idle',
    audible: false,
    interruptible: true,
    utterance: 1,
    greetingGrace: false,
    demand: EVIDENCE.sound,
    isNothing: false,
    expectsAnswer: () => false,
    lastVoicedAt: 100_000,
    voicedMs: 500,
    lastVoicedAudioMs: 0,
  };
  const all: TurnAction[] = [];
  const seat = {
    detector,
    view,
    all,
    agent(activity: AgentActivity) {
      view.agent = activity;
      view.audible = activity === 'speaking' || activity === 'held';
    },
    /** @returns the kinds of action, decisions left out */
    say(input: TurnInput): string[] {
      const actions = detector.handle(input, view);
      all.push(...actions);
      for (const action of actions) {
        if (action.type === 'hold') view.agent = 'held';
        if (action.type === 'resume') view.agent = 'speaking';
        if (action.type === 'cancel') {
          view.agent = 'idle';
          view.audible = false;
        }
      }
      return actions.filter((action) => action.type !== 'decision').map((action) => action.type);
    },
    wait(ms: number): string[] {
      const done: string[] = [];
      for (let passed = 0; passed < ms; passed += 20) {
        view.nowMs += 20;
        done.push(...seat.say({ type: 'tick' }));
      }
      return done;
    },
    rules: () => all.flatMap((action) => (action.type === 'decision' ? [action.decision.rule] : [])),
  };
  return seat;
}

void t.test('rule 5: an end of turn of the STT closes the turn with all its text', (t) => {
  const { say, all } = table();
  t.same(say({ type: 'interim', transcript: said('I would like') }), []);
  t.same(say({ type: 'turn_end', transcript: said('I would like to book a table.') }), ['turn']);
  t.match(all[0], { type: 'turn', transcript: { text: 'I would like to book a table.' } });
  t.end();
});

void t.test('while the agent speaks', async (t) => {
  await t.test('rule 12: voice stops it at once, words cancel it', async (t) => {
    const { agent, say, rules } = table();
    agent('speaking');
    t.same(say(VOICE), ['hold']);
    t.same(say({ type: 'interim', transcript: said('I need') }), ['cancel']);
    t.same(say({ type: 'turn_end', transcript: said('I need another day.') }), ['turn']);
    t.same(rules(), ['sound', 'words', 'stt_end']);
  });

  await t.test('rule 12: "uh-huh" stops nothing for good: it goes on where it was stopped', async (t) => {
    const { agent, say } = table();
    agent('speaking');
    t.same(say(VOICE), ['hold']);
    t.same(say({ type: 'interim', transcript: said('uh') }), [], 'may still become "uh-huh"');
    t.same(say({ type: 'turn_end', transcript: said('Uh-huh.') }), ['backchannel', 'resume']);
  });

  await t.test('rule 12: a cough without words is forgotten', async (t) => {
    const { agent, say, wait } = table();
    agent('speaking');
    t.same(say(VOICE), ['hold']);
    t.same(wait(680), [], 'words may still come');
    t.same(wait(20), ['resume']);
  });

  await t.test('words on their way keep it held, but not for ever', async (t) => {
    const { agent, say, wait, view, rules } = table((config) => (config.interruption.min_words = 3));
    agent('speaking');
    t.same(say(VOICE), ['hold']);
    t.same(say({ type: 'interim', transcript: said('my number') }), []);
    view.isNothing = true;
    t.same(wait(780), [], 'though the voice seems to be nothing, and has ended');
    view.isNothing = false;
    const patience = defaultAgentConfig().interruption.false_after_ms;
    t.notOk(wait(patience - 800).includes('resume'));
    t.same(wait(20), ['resume']);
    t.equal(rules().at(-1), 'no_words');
  });

  await t.test('with resume_on_false off, a cough ends the reply', async (t) => {
    const { agent, say, wait } = table((config) => (config.interruption.resume_on_false = false));
    agent('speaking');
    say(VOICE);
    t.same(wait(1500), ['cancel']);
  });

  await t.test('rule 12: a stop phrase cuts it off however short it is', async (t) => {
    const { agent, say, view } = table();
    agent('speaking');
    view.voicedMs = 120;
    t.same(say({ type: 'interim', transcript: said('Wait') }), ['hold', 'cancel']);
  });

  await t.test('fewer words, or less voice, than asked for do not interrupt', async (t) => {
    const few = table((config) => (config.interruption.min_words = 3));
    few.agent('speaking');
    few.say(VOICE);
    t.same(few.say({ type: 'interim', transcript: said('my number') }), []);
    t.same(few.say({ type: 'interim', transcript: said('my number is') }), ['cancel']);

    const short = table();
    short.agent('speaking');
    short.view.voicedMs = 200;
    short.say(VOICE);
    t.same(short.say({ type: 'interim', transcript: said('tomorrow') }), []);
    short.view.voicedMs = 320;
    t.same(short.say({ type: 'interim', transcript: said('tomorrow morning') }), ['cancel']);
  });

  await t.test('an agent that nobody may interrupt speaks to its end', async (t) => {
    const { agent, say } = table((config) => (config.interruption.enabled = false));
    agent('speaking');
    t.same(say(VOICE), []);
    t.same(say({ type: 'turn_end', transcript: said('But I want something else.') }), ['backchannel']);
  });

  await t.test('as much voice as the agent asks for interrupts', async (t) => {
    const { agent, say, view } = table((config) => (config.interruption.min_speech_ms = 800));
    agent('speaking');
    say(VOICE);
    t.same(say({ type: 'interim', transcript: said('tomorrow morning') }), [], 'of 500 ms');
    view.voicedMs = 800;
    t.same(say({ type: 'interim', transcript: said('tomorrow morning') }), ['cancel']);
  });

  await t.test('the agent has its own phrases that never interrupt, and that always do', async (t) => {
    const own = table(({ interruption }) => {
      interruption.ignore_phrases = ['very well'];
      interruption.stop_phrases = ['enough'];
    });
    own.agent('speaking');
    own.view.voicedMs = 120;
    t.same(own.say({ type: 'turn_end', transcript: said('Very well.') }), ['backchannel']);
    t.same(own.say({ type: 'interim', transcript: said('enough') }), ['hold', 'cancel']);
    const usual = table();
    usual.agent('speaking');
    t.same(usual.say({ type: 'turn_end', transcript: said('Very well.') }), ['hold', 'cancel', 'turn']);
    const short = table();
    short.agent('speaking');
    short.view.voicedMs = 120;
    t.same(short.say({ type: 'interim', transcript: said('enough') }), []);
  });

  await t.test('words that are too few are waited for as long as the agent says', async (t) => {
    const { agent, say, wait } = table(({ interruption }) => {
      interruption.min_words = 3;
      interruption.false_after_ms = 900;
    });
    agent('speaking');
    say(VOICE);
    say({ type: 'interim', transcript: said('my number') });
    t.same(wait(880), []);
    t.same(wait(20), ['resume']);
  });

  await t.test('what may not be interrupted is not', async (t) => {
    const { agent, say, view } = table();
    agent('speaking');
    view.interruptible = false;
    t.same(say(VOICE), []);
    t.same(say({ type: 'turn_end', transcript: said('But I want something else.') }), ['backchannel']);
  });

  await t.test('"Hello?" just after the answer does not stop an outbound greeting', async (t) => {
    const { agent, say, view } = table();
    agent('speaking');
    view.greetingGrace = true;
    t.same(say(VOICE), ['hold']);
    t.same(say({ type: 'turn_end', transcript: said('Hello?') }), ['backchannel', 'resume']);
    agent('speaking');
    t.same(say({ type: 'turn_end', transcript: said('Hello there?') }), ['backchannel']);
    t.same(say({ type: 'turn_end', transcript: said('Who is this?') }), ['hold', 'cancel', 'turn']);
  });
});

void t.test('evidence', async (t) => {
  const voice = (evidence: Evidence): TurnInput => ({ type: 'voice', evidence });

  await t.test('less than what is asked for does not stop the agent', async (t) => {
    const { agent, say, view, rules } = table();
    agent('speaking');
    view.demand = EVIDENCE.near_voice;
    t.same(say(voice(EVIDENCE.none)), []);
    t.same(say(voice(EVIDENCE.sound)), []);
    t.same(say({ type: 'stt_speech', evidence: EVIDENCE.sound }), [], 'the STT hears a television, too');
    t.same(say(voice(EVIDENCE.voice)), []);
    t.same(say(voice(EVIDENCE.near_voice)), ['hold']);
    t.same(rules(), ['near_voice']);
  });

  await t.test('what is seen to be nothing holds the agent no longer', async (t) => {
    const { agent, say, wait, view, rules } = table();
    agent('speaking');
    say(VOICE);
    t.same(wait(200), []);
    view.isNothing = true;
    t.same(wait(20), ['resume']);
    t.same(rules(), ['sound', 'no_voice']);
  });

  await t.test('a reply is stopped for nothing twice at most, then words are needed', async (t) => {
    const { agent, say, wait, view } = table();
    agent('speaking');
    for (let stop = 0; stop < 2; stop++) {
      t.same(say(VOICE), ['hold']);
      t.same(wait(700), ['resume']);
    }
    t.same(say(voice(EVIDENCE.lasting_voice)), []);
    t.same(say({ type: 'interim', transcript: said('tomorrow morning please') }), ['hold', 'cancel']);
    say({ type: 'turn_end', transcript: said('Tomorrow morning, please.') });
    agent('speaking');
    view.utterance = 2;
    t.same(say(VOICE), ['hold'], 'another reply begins anew');
  });

  await t.test("words on a noisy line without the caller's voice interrupt nobody", async (t) => {
    for (const activity of ['speaking', 'thinking'] as const) {
      const { agent, say, view } = table();
      agent(activity);
      view.demand = EVIDENCE.voice;
      view.voicedMs = 40;
      t.same(say({ type: 'interim', transcript: said('stop the press') }), [], activity);
      t.same(say({ type: 'turn_end', transcript: said('Stop the press.') }), ['backchannel'], activity);
    }
  });
});

void t.test('an answer is an answer', async (t) => {
  await t.test('"yeah" takes the turn when an answer is expected', async (t) => {
    for (const word of ['Yeah.', 'Okay.', 'No.', 'Uh-huh.', 'Yes.']) {
      const { agent, say, view } = table();
      agent('speaking');
      view.expectsAnswer = () => true;
      t.same(say({ type: 'turn_end', transcript: said(word) }), ['hold', 'cancel', 'turn'], word);
    }
  });

  await t.test('a hesitation does not, nor does "yeah" elsewhere', async (t) => {
    const asked = table();
    asked.agent('speaking');
    asked.view.expectsAnswer = () => true;
    t.same(asked.say({ type: 'turn_end', transcript: said('Hmm.') }), ['backchannel']);
    const told = table();
    told.agent('speaking');
    t.same(told.say({ type: 'turn_end', transcript: said('Yeah.') }), ['backchannel']);
  });
});

void t.test('before the first sample of a reply', async (t) => {
  await t.test('rule 10: a caller who goes on takes the floor back', async (t) => {
    const { agent, say } = table();
    agent('thinking');
    t.same(say(VOICE), ['hold']);
    t.same(say({ type: 'interim', transcript: said('and for two people') }), ['cancel']);
    t.same(say({ type: 'turn_end', transcript: said('and for two people') }), ['turn']);
  });

  await t.test('a noise only delays it', async (t) => {
    const { agent, say, wait, view } = table();
    agent('thinking');
    say(VOICE);
    view.audible = false;
    view.agent = 'held';
    const done = wait(600);
    t.same(done.filter((action) => action === 'resume').length, 1);
  });
});

void t.test('patience', async (t) => {
  await t.test('rule 11: somebody who dictates is not cut off, and gets one turn', async (t) => {
    const { say, wait, view, all } = table();
    t.same(say({ type: 'turn_end', transcript: said('My number is four one five') }), []);
    t.same(wait(1000), []);
    view.lastVoicedAt = view.nowMs;
    t.same(say({ type: 'turn_end', transcript: said('five five five') }), []);
    t.same(wait(2480), []);
    t.same(wait(20), ['turn']);
    t.match(
      all.find((action) => action.type === 'turn'),
      { transcript: { text: 'My number is four one five five five five' } },
    );
  });

  await t.test('what is dictated to its end is answered at once', async (t) => {
    const whole = [
      'Seven thirty.',
      'It is $12.50.',
      '10 a.m.',
      'I am thirty one.',
      'Room 4 B',
      '415 555 2671',
    ];
    for (const text of whole)
      t.same(table().say({ type: 'turn_end', transcript: said(text) }), ['turn'], text);
    const semantic = table((config) => (config.turn_taking.mode = 'semantic'));
    t.same(semantic.say({ type: 'turn_end', transcript: said('Seven thirty.') }), ['turn']);
    const hasty = table((config) => (config.turn_taking.entity_patience = false));
    t.same(hasty.say({ type: 'turn_end', transcript: said('4 1 5') }), ['turn'], 'without patience');
  });

  await t.test('a telephone number is whole by the plan of its country', async (t) => {
    const config = defaultAgentConfig();
    const digits = said('six one two three four five six seven eight');
    const view = { ...table().view };
    const kinds = (country: string | undefined) =>
      new TurnDetector(config, 'en-US', country)
        .handle({ type: 'turn_end', transcript: digits }, view)
        .filter(({ type }) => type === 'turn').length;
    t.equal(kinds('ES'), 1);
    t.equal(kinds(undefined), 0);
  });

  await t.test('semantic mode waits longer after an unfinished sentence', async (t) => {
    const patient = table((config) => (config.turn_taking.mode = 'semantic'));
    t.same(patient.say({ type: 'turn_end', transcript: said('I would like to') }), []);
    t.same(patient.wait(2480), []);
    t.same(patient.wait(20), ['turn']);
    const quick = table((config) => (config.turn_taking.mode = 'semantic'));
    t.same(quick.say({ type: 'turn_end', transcript: said('I would like a coffee.') }), []);
    t.same(quick.wait(300), ['turn']);
  });

  await t.test('the waits after whole and unfinished sentences are those of the agent', async (t) => {
    const waits = (text: string) => {
      const { say, wait } = table(({ turn_taking }) => {
        turn_taking.mode = 'semantic';
        turn_taking.min_endpointing_ms = 700;
        turn_taking.max_endpointing_ms = 1200;
      });
      say({ type: 'turn_end', transcript: said(text) });
      let waited = 0;
      while (wait(20).length === 0) waited += 20;
      return waited + 20;
    };
    t.equal(waits('I would like a coffee.'), 700);
    t.equal(waits('I would like to'), 1200);
  });

  await t.test('eagerness makes every wait longer or shorter', async (t) => {
    const waits = (eagerness: 'patient' | 'balanced' | 'eager', text: string) => {
      const { say, wait } = table((config) => {
        config.turn_taking.mode = 'semantic';
        config.turn_taking.eagerness = eagerness;
      });
      say({ type: 'turn_end', transcript: said(text) });
      let waited = 0;
      while (wait(20).length === 0) waited += 20;
      return waited + 20;
    };
    const { min_endpointing_ms: least, max_endpointing_ms: most } = defaultAgentConfig().turn_taking;
    for (const [eagerness, factor] of [
      ['patient', 1.5],
      ['balanced', 1],
      ['eager', 0.7],
    ] as const) {
      const onTick = (ms: number) => Math.ceil((ms * factor) / 20) * 20;
      t.equal(waits(eagerness, 'I would like a coffee.'), onTick(least), `${eagerness}: a whole sentence`);
      t.equal(waits(eagerness, 'I would like to'), onTick(most), `${eagerness}: an unfinished one`);
      t.equal(waits(eagerness, 'My number is four one five'), onTick(most), `${eagerness}: dictation`);
    }
  });

  await t.test('a turn of several pieces is as sure as the least sure of them', async (t) => {
    const confidence = (...pieces: (number | undefined)[]) => {
      const { say, wait, all } = table();
      for (const [i, value] of pieces.entries()) {
        const text = ['My number is four one five', 'five five five', 'two six'][i]!;
        say({ type: 'turn_end', transcript: { ...said(text), confidence: value, endMs: i } });
      }
      wait(2500);
      const turn = all.find((action) => action.type === 'turn');
      t.equal(turn?.transcript.endMs, pieces.length - 1, 'it ends where the last piece does');
      return turn?.transcript.confidence;
    };
    t.equal(confidence(0.4, 0.9), 0.4);
    t.equal(confidence(0.9, 0.4), 0.4);
    t.equal(confidence(0.8, 0.3, 0.9), 0.3);
    t.equal(confidence(undefined, 0.7), 0.7, 'a piece that says nothing of it does not count');
    t.equal(confidence(0.7, undefined), undefined, 'unless it is the last');
  });

  await t.test('rule 6: an STT that never ends the turn is asked, then overruled', async (t) => {
    const { say, wait, view } = table();
    say({ type: 'interim', transcript: said('Are you there?') });
    view.lastVoicedAt = view.nowMs;
    t.same(wait(1000), ['finalize']);
    t.same(wait(500), ['turn']);
  });

  await t.test('what it says of the same words afterwards is no second turn', async (t) => {
    const { say, wait, view, agent } = table();
    const whole = said('Could you make it eight instead of seven?');
    say({ type: 'interim', transcript: whole });
    view.lastVoicedAt = view.nowMs;
    t.same(wait(1500), ['finalize', 'turn']);
    agent('thinking');
    t.same(say({ type: 'interim', transcript: whole }), []);
    t.same(say({ type: 'turn_end', transcript: whole }), [], 'the reply goes on');
    agent('speaking');
    t.same(say({ type: 'turn_end', transcript: said('seven?') }), []);
    view.nowMs += 100;
    view.lastVoicedAt = view.nowMs;
    t.same(say({ type: 'turn_end', transcript: said('Seven.') }), ['hold', 'cancel', 'turn'], 'said again');
  });

  await t.test('rule 6: more words than were known take the turn, however late', async (t) => {
    const { say, wait, view, agent } = table();
    say({ type: 'interim', transcript: said('Could you make it eight') });
    view.lastVoicedAt = view.nowMs;
    t.same(wait(1500), ['finalize', 'turn']);
    agent('thinking');
    t.same(say({ type: 'turn_end', transcript: said('instead of seven?') }), ['cancel', 'turn']);
  });

  await t.test('silence mode asks at the first pause', async (t) => {
    const { say, wait, view } = table((config) => (config.turn_taking.mode = 'silence'));
    say({ type: 'interim', transcript: said('Are you there?') });
    view.lastVoicedAt = view.nowMs;
    t.same(wait(300), ['finalize']);
    t.same(say({ type: 'turn_end', transcript: said('Are you there?') }), ['turn']);
  });

  await t.test('silence mode takes as long a pause as the agent says', async (t) => {
    const { say, wait, view } = table(({ turn_taking }) => {
      turn_taking.mode = 'silence';
      turn_taking.vad_min_silence_ms = 800;
    });
    say({ type: 'interim', transcript: said('Are you there?') });
    view.lastVoicedAt = view.nowMs;
    t.same(wait(780), []);
    t.same(wait(20), ['finalize']);
  });

  await t.test('a monologue is cut in on', async (t) => {
    const { say, wait, view } = table((config) => (config.turn_taking.max_caller_turn_seconds = 10));
    say({ type: 'interim', transcript: said('and then I said') });
    const done: string[] = [];
    for (let s = 0; s < 12; s++) {
      view.lastVoicedAt = view.nowMs + 1000;
      done.push(...wait(1000));
    }
    t.same(done, ['turn']);
  });
});

void t.test('thinking ahead', async (t) => {
  await t.test('begins in the silence after words that came while the caller still spoke', async (t) => {
    const { say, wait, view } = table((config) => (config.turn_taking.preemptive_generation = true));
    view.lastVoicedAt = view.nowMs;
    t.same(say({ type: 'interim', transcript: said('book a table') }), []);
    t.same(wait(60), []);
    t.same(wait(20), ['prepare']);
    t.same(wait(100), [], 'once');
    t.same(say({ type: 'turn_end', transcript: said('Book a table.') }), ['turn']);
  });

  await t.test('waits until the words cover what was said', async (t) => {
    const { say, view } = table((config) => (config.turn_taking.preemptive_generation = true));
    view.lastVoicedAt = view.nowMs - 100;
    view.lastVoicedAudioMs = 5000;
    const guess = (endMs: number) => say({ type: 'interim', transcript: { ...said('book a table'), endMs } });
    t.same(guess(4000), [], 'a second of speech is not among them yet');
    t.same(guess(4740), []);
    t.same(guess(4750), ['prepare'], 'a quarter of a second may be missing');
  });

  await t.test('waits for words that hold on', async (t) => {
    const { say, wait, view } = table((config) => (config.turn_taking.preemptive_generation = true));
    view.lastVoicedAt = view.nowMs;
    say({ type: 'interim', transcript: said('book a table for') });
    t.same(wait(500), []);
  });

  await t.test(
    'begins with a stable guess after a little silence, and is kept when the final says the same',
    async (t) => {
      const { say, view } = table((config) => (config.turn_taking.preemptive_generation = true));
      view.lastVoicedAt = view.nowMs - 100;
      t.same(say({ type: 'interim', transcript: said('book a table') }), ['prepare']);
      t.same(say({ type: 'interim', transcript: said('Book a table.') }), []);
      t.same(say({ type: 'turn_end', transcript: said('Book a table.') }), ['turn']);
    },
  );

  await t.test(
    'is discarded when the final says something else, and tried three times at most',
    async (t) => {
      const { say, view } = table((config) => (config.turn_taking.preemptive_generation = true));
      view.lastVoicedAt = view.nowMs - 100;
      t.same(say({ type: 'interim', transcript: said('book a table') }), ['prepare']);
      t.same(say({ type: 'interim', transcript: said('book a table tonight') }), ['discard', 'prepare']);
      t.same(say({ type: 'interim', transcript: said('book a table tonight please') }), [
        'discard',
        'prepare',
      ]);
      t.same(say({ type: 'interim', transcript: said('book a table tonight please thanks') }), ['discard']);
      t.same(say({ type: 'turn_end', transcript: said('Book a table tonight, please. Thanks.') }), ['turn']);
    },
  );
});

void t.test('rule 8: in every order of inputs the floor is held by one at a time', (t) => {
  const inputs: (TurnInput | 'wait' | 'long')[] = [
    VOICE,
    { type: 'interim', transcript: said('I need help') },
    { type: 'interim', transcript: said('uh-huh') },
    { type: 'turn_end', transcript: said('I need help.') },
    { type: 'turn_end', transcript: said('Uh-huh.') },
    'wait',
    'long',
  ];
  const starts: AgentActivity[] = ['idle', 'thinking', 'speaking'];
  let cases = 0;
  const run = (order: (TurnInput | 'wait' | 'long')[], start: AgentActivity) => {
    cases++;
    const { agent, say, wait, view, all } = table();
    agent(start);
    for (const input of order) {
      const before = view.agent;
      if (input === 'wait') wait(100);
      else if (input === 'long') wait(2000);
      else {
        if (input.type === 'voice') view.lastVoicedAt = view.nowMs;
        say(input);
      }
      if (before === 'idle' && view.agent !== 'idle')
        return `the agent took the floor by itself: ${JSON.stringify(order)}`;
    }
    // Left alone, nothing stays undecided: no reply held for ever, no words lost.
    wait(6000);
    if (view.agent === 'held') return `held for ever: ${JSON.stringify(order)}`;
    const turns = all.filter((action) => action.type === 'turn').length;
    const ends = order.filter((input) => typeof input === 'object' && input.type === 'turn_end').length;
    const guesses = order.filter((input) => typeof input === 'object' && input.type === 'interim').length;
    if (turns > ends + guesses) return `more turns than were spoken: ${JSON.stringify(order)}`;
    for (let i = 1; i < all.length; i++)
      if (all[i]!.type === 'resume' && all[i - 1]!.type === 'cancel') return 'resumed what was cancelled';
    return undefined;
  };
  const visit = (order: (TurnInput | 'wait' | 'long')[]): string | undefined => {
    for (const start of starts) {
      const wrong = order.length > 0 ? run(order, start) : undefined;
      if (wrong) return wrong;
    }
    if (order.length === 4) return undefined;
    for (const input of inputs) {
      const wrong = visit([...order, input]);
      if (wrong) return wrong;
    }
    return undefined;
  };
  t.equal(visit([]), undefined);
  t.comment(`${cases} orders`);
  t.end();
});
