import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { CallClock } from './call-clock.ts';
import { PhaseOfCall, type CallPhase } from './call-phase.ts';
import { CallTiming } from './call-timing.ts';
import { wirePlan } from './fakes.ts';
import { SLOW_TICK_MS } from '../speech/ticker.ts';

/** The timers of a call of ten minutes, over parts that the test sets. Reminders come after five seconds. */
function scene(
  change: (config: AgentConfig) => void = () => {},
  { phase = 'talking' as CallPhase, answeredAgoMs = 0, handled = false } = {},
) {
  const clock = new ManualClock();
  const call = new CallClock(clock, clock.now() - answeredAgoMs);
  const plan = wirePlan((plan, config) => {
    plan.limits.max_duration_seconds = 600;
    config.silence = {
      ...config.silence,
      ...{ reminder_after_seconds: 5, max_reminders: 2, end_call_after_seconds: 60 },
      ...{ reminder_messages: ['Are you there, {{name}}?'], end_message: 'Bye, {{name}}.' },
    };
    config.end_call.message = 'Time is up.';
    change(config);
  });
  const did: unknown[][] = [];
  const line = { missing: false, off: false };
  const speech = {
    busy: false,
    say: (text: string, kind: string, how: { interruptible: boolean }) =>
      void did.push(['say', text, kind, how.interruptible]),
    answer: (order: unknown) => void did.push(['answer', order]),
  };
  const turns = { expected: true, openText: '', speaking: false };
  const waits = { waiting: false };
  const timing = new CallTiming({
    plan,
    prompt: { render: (text: string) => text.replace('{{name}}', 'Ada') } as never,
    clock: call,
    phase: new PhaseOfCall(phase),
    media: { isMissing: () => line.missing, isOff: () => line.off } as never,
    speech: speech as never,
    turns: turns as never,
    events: {
      onTimeToEnd: (reason, message) => void did.push(['end', reason, message]),
      onEndIsNear: (text) => void did.push(['near', text()]),
      onUnanswered: (count) => (did.push(['unanswered', count]), handled),
      isWaiting: () => waits.waiting,
      onAudioMissing: () => void did.push(['missing']),
    },
  });
  const begun = clock.monotonic();
  /** Ticks until so many ms from the beginning have passed. @returns what was done, with the time */
  const until = (ms: number) => {
    const found: unknown[][] = [];
    while (clock.monotonic() - begun < ms) {
      clock.advance(SLOW_TICK_MS);
      timing.tick(clock.monotonic());
      found.push(...did.splice(0).map((one) => [clock.monotonic() - begun, ...one]));
    }
    return found;
  };
  return { clock, plan, timing, speech, turns, line, waits, until };
}

void t.test('a silent caller is reminded, and the call ends in the end', (t) => {
  const { until, timing } = scene();
  t.same(until(60_000), [
    [5000, 'say', 'Are you there, Ada?', 'reminder', true],
    [10_000, 'unanswered', 1],
    [10_000, 'say', 'Are you there, Ada?', 'reminder', true],
    [15_000, 'unanswered', 2],
    [60_000, 'end', { ended_by: 'system', hangup_reason: 'silence' }, 'Bye, Ada.'],
  ]);
  t.equal(timing.unanswered, 2);
  t.notOk(timing.callerWasHeard);
  const quiet = scene(({ silence }) => Object.assign(silence, { reminder_messages: [], end_message: '' }));
  const [first] = quiet.until(5000);
  t.match(first, [5000, 'answer', { kind: 'reminder', note: /silent for a while/ }]);
  t.same(quiet.until(60_000).at(-1)?.slice(-1), [undefined], 'without a word');
  const led = scene(undefined, { handled: true });
  t.same(led.until(10_000).at(-1), [10_000, 'unanswered', 1], 'which has led somewhere');
  t.end();
});

void t.test('silence is not counted while anybody speaks, works, or is not expected to speak', (t) => {
  const none = (set: (one: ReturnType<typeof scene>) => void, phase?: CallPhase) => {
    const one = scene(undefined, phase ? { phase } : {});
    set(one);
    return one.until(6000).length === 0;
  };
  t.notOk(none(() => undefined));
  t.ok(none(({ speech }) => void (speech.busy = true)));
  t.ok(none(({ turns }) => void (turns.speaking = true)));
  t.ok(none(({ turns }) => void (turns.expected = false)));
  t.ok(none(({ line }) => void (line.off = true)));
  t.ok(none(({ waits }) => void (waits.waiting = true)));
  t.ok(none(() => undefined, 'announcing'));
  t.end();
});

void t.test('a sign of life begins the wait anew, a sound that lasts too long is none', (t) => {
  const { until, timing, turns } = scene();
  until(4000);
  timing.onSound();
  t.ok(timing.callerWasHeard);
  t.same(until(8900), []);
  t.equal(until(9000).length, 1);
  timing.onSign();
  turns.speaking = true;
  t.same(until(20_000), []);
  timing.ignoreSound();
  timing.onSound();
  t.equal(until(25_000)[0]?.[0], 25_000, 'it is silence by now');
  turns.openText = 'and';
  timing.onSound();
  turns.openText = '';
  t.same(until(40_000), [], 'until there are words');
  timing.ignoreSound();
  turns.openText = 'well';
  t.same(until(50_000), []);
  t.end();
});

void t.test('another agent, node or language has its own reminders', (t) => {
  const other = { reminder_after_seconds: 2, max_reminders: 1, end_call_after_seconds: 60 };
  const change = (one: ReturnType<typeof scene>) => Object.assign(one.plan.agent.config.silence, other);
  const language = scene();
  language.until(1000);
  change(language);
  language.timing.languageChanged();
  t.equal(language.until(2000)[0]?.[0], 2000);
  const node = scene();
  node.until(1000);
  change(node);
  node.timing.nodeChanged();
  t.equal(node.until(3000)[0]?.[0], 3000, 'counted anew');
  t.equal(node.timing.unanswered, 0);
  const agent = scene();
  agent.until(1000);
  change(agent);
  agent.timing.agentChanged();
  t.equal(agent.until(2000)[0]?.[0], 2000);
  t.end();
});

void t.test('a call has its longest duration, counted from its first answer', (t) => {
  const long = (silence: AgentConfig['silence']) =>
    Object.assign(silence, { max_reminders: 0, end_call_after_seconds: 3600 });
  const whole = scene(({ silence }) => void long(silence));
  t.same(whole.until(599_900), []);
  t.same(whole.until(600_000), [
    [600_000, 'end', { ended_by: 'system', hangup_reason: 'max_duration' }, 'Time is up.'],
  ]);
  const later = scene(({ silence, end_call }) => (long(silence), void (end_call.message = '')), {
    answeredAgoMs: 590_000,
  });
  t.same(later.until(9900), []);
  t.same(later.until(10_000), [
    [10_000, 'end', { ended_by: 'system', hangup_reason: 'max_duration' }, undefined],
  ]);
  const other = scene(({ silence }) => void long(silence), { answeredAgoMs: 590_000 });
  other.until(5000);
  other.timing.agentChanged();
  t.same(other.until(604_900), [], "another agent's counts from its beginning");
  t.equal(other.until(605_000)[0]?.[1], 'end');
  const capped = scene(({ silence }) => void long(silence), { answeredAgoMs: 14_395_000 });
  capped.timing.agentChanged();
  t.equal(capped.until(5000).at(-1)?.[0], 5000, 'but no call is longer than four hours');
  t.same(scene(undefined, { phase: 'away', answeredAgoMs: 600_000 }).until(100), []);
  t.end();
});

void t.test('the caller is told once that the end is near, where the agent wants that', (t) => {
  const warned = (seconds: number, answeredAgoMs = 570_000) =>
    scene(
      ({ limits, silence }) => {
        limits.warn_before_end_seconds = seconds;
        silence.max_reminders = 0;
      },
      { answeredAgoMs },
    );
  t.same(warned(20).until(29_000), [[10_000, 'near', 'This call will end in 20 seconds.']]);
  t.same(warned(0).until(29_000), []);
  t.same(warned(30).until(29_000), [], 'it would come before anything was said');
  t.same(warned(29, 571_000).until(28_000), [], 'or was given on an earlier leg');
  t.end();
});

void t.test('a line without audio is lost, where it matters', (t) => {
  const lost = scene();
  lost.line.missing = true;
  t.same(lost.until(100), [[100, 'missing']]);
  const away = scene(undefined, { phase: 'away' });
  away.line.missing = true;
  t.same(away.until(100), []);
  t.end();
});
