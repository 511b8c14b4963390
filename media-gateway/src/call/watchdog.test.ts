import t from 'tap';
import type { LlmEvent } from '../providers/llm/llm-provider.ts';
import { CALL_PHASES } from './call-phase.ts';
import { fakeCall, wirePlan } from './fakes.ts';
import {
  boundsOf,
  dutyOf,
  RECOVERIES,
  Watchdog,
  type CallSigns,
  type Duty,
  type Recovery,
} from './watchdog.ts';

const quiet: CallSigns = {
  phase: 'talking',
  agent: 'idle',
  prepared: false,
  progress: 0,
  toolRuns: false,
  words: '',
  sound: false,
  unanswered: undefined,
  expected: true,
};

/** Whose move it is in a call that talks: the first row that fits. Sounds alone change nothing. */
const talking: [Duty, Partial<CallSigns>][] = [
  ['held_reply', { agent: 'held' }],
  ['tool', { toolRuns: true }],
  ['reply', { agent: 'thinking' }],
  ['reply', { agent: 'speaking' }],
  ['caller_turn', { words: 'Hello' }],
  ['reply', { prepared: true }],
  ['nobody', { expected: false }],
  ['answer', { unanswered: 3 }],
  ['caller', {}],
];

const SIGNS: { [S in keyof CallSigns]: readonly CallSigns[S][] } = {
  phase: CALL_PHASES,
  agent: ['idle', 'thinking', 'speaking', 'held'],
  prepared: [false, true],
  progress: [0],
  toolRuns: [false, true],
  words: ['', 'Hello'],
  sound: [false, true],
  unanswered: [undefined, 3],
  expected: [false, true],
};

function* allSigns(): Generator<CallSigns> {
  const fields = Object.keys(SIGNS) as (keyof CallSigns)[];
  const count = fields.reduce((product, field) => product * SIGNS[field].length, 1);
  for (let n = 0; n < count; n++) {
    let rest = n;
    const entries = fields.map((field) => {
      const value = SIGNS[field][rest % SIGNS[field].length];
      rest = Math.floor(rest / SIGNS[field].length);
      return [field, value];
    });
    yield Object.fromEntries(entries) as CallSigns;
  }
}

function expectedDuty(signs: CallSigns): Duty {
  switch (signs.phase) {
    case 'away':
      return 'return';
    case 'transferring':
    case 'handed_over':
      return 'transfer';
    case 'saying_goodbye':
      return 'goodbye';
    case 'over':
      return 'nobody';
    case 'announcing':
    case 'changing_agent':
      return signs.agent === 'held' ? 'held_reply' : 'announcement';
    case 'taking_message':
    case 'talking': {
      const fits = ([, given]: (typeof talking)[number]) =>
        Object.entries(given).every(([field, value]) => signs[field as keyof CallSigns] === value);
      const [duty] = talking.find(fits)!;
      // What a caller leaves as a message nobody answers.
      return signs.phase === 'taking_message' && duty === 'answer' ? 'caller' : duty;
    }
  }
}

void t.test('rule 9: in every state of a call it is somebody’s move, within a bound', (t) => {
  const bounds = boundsOf(wirePlan());
  let states = 0;
  for (const signs of allSigns()) {
    const duty = dutyOf(signs);
    states++;
    if (duty !== expectedDuty(signs)) t.fail(`${duty}, not ${expectedDuty(signs)}: ${JSON.stringify(signs)}`);
    const free = signs.phase === 'over' || !signs.expected;
    if (duty === 'nobody' ? !free : !(bounds[duty] >= 5000 && bounds[duty] <= 60_000))
      t.fail(`${duty} has no bound: ${JSON.stringify(signs)}`);
  }
  t.equal(states, CALL_PHASES.length * 4 * 2 * 2 * 2 * 2 * 2 * 2);
  t.end();
});

/** A watchdog over signs that a test sets; every second that passes is a check. */
function watch() {
  const told: string[] = [];
  const recovered: Recovery[] = [];
  let signs = quiet;
  let now = 0;
  const dog = new Watchdog({
    plan: wirePlan(),
    emit: (type, data) => told.push(`${type} ${JSON.stringify(data)}`),
    call: { signs: () => signs, recover: (recovery) => void recovered.push(recovery) },
  });
  return {
    told,
    recovered,
    pass(seconds: number, next: Partial<CallSigns> = {}) {
      signs = { ...quiet, ...next };
      for (let i = 0; i < seconds; i++) dog.tick((now += 1000));
    },
  };
}

void t.test('each duty has its recovery, once its time is over and not before', (t) => {
  const bounds = boundsOf(wirePlan());
  const cases: [Exclude<Duty, 'nobody'>, Partial<CallSigns>][] = [
    ['reply', { agent: 'thinking' }],
    ['tool', { toolRuns: true }],
    ['held_reply', { agent: 'held' }],
    ['caller_turn', { words: 'I would like' }],
    ['caller', { sound: true }],
    ['answer', { unanswered: 1 }],
    ['announcement', { phase: 'announcing', agent: 'thinking' }],
    ['transfer', { phase: 'handed_over' }],
    ['return', { phase: 'away' }],
    ['goodbye', { phase: 'saying_goodbye' }],
  ];
  t.same(cases.map(([duty]) => duty).toSorted(), Object.keys(RECOVERIES).toSorted());
  for (const [duty, signs] of cases) {
    const { pass, told, recovered } = watch();
    const seconds = Math.ceil(bounds[duty] / 1000);
    pass(seconds, signs);
    t.same(recovered, [], `${duty} in time`);
    pass(2, signs);
    t.same(recovered, [RECOVERIES[duty]], duty);
    t.match(told[0], `stalled {"due":"${duty}","waited_ms":`);
  }
  t.end();
});

void t.test('what gets on is left alone', (t) => {
  const { pass, recovered } = watch();
  for (let i = 0; i < 100; i++) pass(5, { agent: 'speaking', progress: i });
  for (let i = 0; i < 100; i++) pass(5, { words: 'word '.repeat(i + 1) });
  pass(600);
  pass(600, { expected: false, sound: true });
  t.same(recovered, [], 'speech, words, plain silence, and a far end that decides itself');
  t.end();
});

void t.test('a call that stalls again and again is ended; one that gets on meanwhile is not', (t) => {
  const bad = watch();
  bad.pass(120, { agent: 'thinking' });
  t.same(bad.recovered.slice(0, 3), ['answer_again', 'answer_again', 'say_goodbye']);
  bad.pass(120, { phase: 'saying_goodbye' });
  t.equal(bad.recovered.at(-1), 'end');

  const good = watch();
  for (let i = 0; i < 10; i++) {
    good.pass(30, { agent: 'thinking' });
    good.pass(1);
  }
  t.same(new Set(good.recovered), new Set(['answer_again']));

  const mute = watch();
  mute.pass(120, { unanswered: 1 });
  mute.pass(120, { unanswered: 4 });
  t.same(
    mute.recovered,
    ['answer_again', 'answer_again'],
    'an agent that means to be silent is asked once a turn',
  );
  t.end();
});

// ---- whole calls ----

const NEVER = 10_000_000;
const says = (text: string) => ({ events: [{ type: 'text', text }] satisfies LlmEvent[] });
const stalls = (call: ReturnType<typeof fakeCall>) =>
  call.events
    .filter(({ type }) => type === 'stalled')
    .map(({ data }) => `${data['due'] as string}: ${data['recovery'] as string}`);

void t.test('a model that hangs is asked again; one that always hangs ends the call', async (t) => {
  let asked = 0;
  const once = fakeCall({ llm: () => (++asked === 1 ? { events: [], afterMs: NEVER } : says('Here I am.')) });
  await once.wait(1600);
  await once.hears('Are you there?');
  await once.wait(28_000);
  t.same(stalls(once), ['reply: answer_again']);
  t.equal(once.texts().at(-1), 'agent: Here I am.');

  const always = fakeCall({ llm: () => ({ events: [], afterMs: NEVER }) });
  await always.wait(1600);
  await always.hears('Are you there?');
  await always.wait(90_000);
  t.same(stalls(always), ['reply: answer_again', 'reply: answer_again', 'reply: say_goodbye']);
  t.match(always.texts().at(-1), /^agent: I am sorry, something is not working/);
  t.match(always.report, { ended_by: 'system', failure_reason: 'internal' });
});

void t.test('a tool that never answers is given up, and the model is told', async (t) => {
  const call = fakeCall({
    plan: wirePlan((plan) => {
      plan.tools = [
        { tool_id: 'tol_1', name: 'find', description: 'Finds.', parameters: {}, type: 'webhook' },
      ];
    }),
    tool: () => new Promise(() => {}),
    llm: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? says('I could not find it.')
        : { events: [{ type: 'tool_call', call: { id: 'c', name: 'find', arguments: '{}' } }] },
  });
  await call.wait(1600);
  await call.hears('Find it');
  // Two fillers, from whose end on it is waited for.
  await call.wait(30_000);
  t.same(stalls(call), ['tool: give_up_tool']);
  t.match(call.texts().at(-1), /I could not find it/);
  t.match(call.events.find(({ type }) => type === 'tool_finished')?.data, { ok: false, code: 'timeout' });
});

void t.test('a turn that noise holds open is closed and answered', async (t) => {
  const call = fakeCall();
  await call.wait(1600);
  const said = { text: 'My number is five', confidence: 0.9, endMs: undefined, language: undefined };
  await call.wait(400, true);
  call.stt.onInterim(said);
  await call.wait(16_000, true);
  t.same(stalls(call), ['caller_turn: close_turn']);
  t.ok(call.texts().includes('caller: My number is five'));
  t.ok(call.requests.length > 0, 'the model was asked');
});

void t.test('noise without words keeps no caller from being reminded, nor a call from its end', async (t) => {
  const plan = wirePlan((_, config) => {
    config.silence.reminder_messages = ['Are you there?'];
    config.interruption.enabled = false;
  });
  const call = fakeCall({ plan });
  await call.wait(1600);
  for (let i = 0; i < 30; i++) {
    await call.wait(2000, true);
    await call.wait(200);
  }
  t.equal(stalls(call)[0], 'caller: count_silence');
  t.ok(call.texts().includes('agent: Are you there?'));
  t.match(call.report, { ended_by: 'system', hangup_reason: 'silence' });
});

void t.test('an answer without a word is asked for once more', async (t) => {
  let asked = 0;
  const call = fakeCall({ llm: () => (++asked === 1 ? { events: [] } : says('At six.')) });
  await call.wait(1600);
  await call.hears('When do you close?');
  await call.wait(7500);
  t.same(stalls(call), ['answer: answer_again']);
  t.equal(call.texts().at(-1), 'agent: At six.');
});
