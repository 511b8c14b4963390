import t from 'tap';
import { salesDestination, webhookTool, wirePlan } from './fakes.ts';
import { boundsOf, Watchdog, type CallSigns, type Recovery } from './watchdog.ts';

const QUIET: CallSigns = {
  ...{ phase: 'talking', agent: 'idle', prepared: false, progress: 0, toolRuns: false },
  ...{ words: '', sound: false, unanswered: undefined, expected: true },
};

void t.test('everything may take as long as what it waits for, and five seconds more', (t) => {
  const bounds = (destinations: Parameters<typeof salesDestination>[0][] = [], toolMs?: number) =>
    boundsOf(
      wirePlan((plan, config) => {
        config.llm.request_timeout_ms = 10_000;
        config.turn_taking.max_endpointing_ms = 2500;
        config.interruption.false_after_ms = 2000;
        config.transfer.destinations = destinations.map((one) => salesDestination(one));
        if (toolMs !== undefined) plan.tools = [webhookTool({ execution: { timeout_ms: toolMs } })];
      }),
    );
  t.same(bounds(), {
    reply: 25_000,
    tool: 20_000,
    held_reply: 7000,
    caller_turn: 12_500,
    caller: 15_000,
    answer: 5000,
    announcement: 45_000,
    transfer: 20_000,
    return: 20_000,
    goodbye: 35_000,
    nobody: Infinity,
  });
  t.match(bounds([], 20_000), { tool: 25_000, announcement: 50_000 });
  t.equal(bounds([], 10_000).tool, 20_000, 'a carrier may take longer');
  const blind = bounds([{ ring_timeout_seconds: 20 }]).transfer;
  const warm = bounds([{ mode: 'warm', ring_timeout_seconds: 20 }]).transfer;
  t.equal(bounds([{ ring_timeout_seconds: 30 }]).transfer, blind + 10_000);
  t.ok(blind > 40_000 && warm > blind, `${blind} ${warm}`);
  t.equal(bounds([{ ring_timeout_seconds: 20 }, { mode: 'warm', ring_timeout_seconds: 20 }]).transfer, warm);
  t.end();
});

/** A watchdog that looks when it is told to. */
function watch() {
  const told: object[] = [];
  const recovered: Recovery[] = [];
  const call = { ...QUIET };
  let asked = 0;
  const dog = new Watchdog({
    plan: wirePlan(),
    emit: (_, data) => void told.push(data),
    call: { signs: () => (asked++, { ...call }), recover: (recovery) => void recovered.push(recovery) },
  });
  const at = (now: number, next: Partial<CallSigns> = {}) => {
    Object.assign(call, next);
    dog.tick(now);
    return recovered.splice(0);
  };
  return { told, at, dog, asked: () => asked };
}

void t.test('a call is looked at four times a second', (t) => {
  const { at, asked } = watch();
  at(0);
  at(239);
  t.equal(asked(), 1);
  at(240);
  t.equal(asked(), 2);
  t.end();
});

void t.test('a wait is counted from the last progress, and told with what is done', (t) => {
  const { reply } = boundsOf(wirePlan());
  const { at, told } = watch();
  t.same(at(1000, { agent: 'thinking' }), []);
  t.same(at(2000, { progress: 1 }), []);
  t.same(at(2000 + reply - 1), []);
  t.same(at(2000 + reply + 240), ['answer_again']);
  t.same(told, [{ due: 'reply', waited_ms: reply + 240, recovery: 'answer_again' }]);
  t.same(at(2000 + reply + 500), [], 'it has its time again');
  t.end();
});

void t.test('words that change are progress of the caller, and no other is', (t) => {
  const { caller_turn: bound } = boundsOf(wirePlan());
  const { at } = watch();
  at(0, { words: 'one' });
  at(1000, { words: 'one two' });
  t.same(at(bound + 500, { progress: 5 }), []);
  t.same(at(bound + 1000), ['close_turn']);
  t.end();
});

void t.test('silence stalls only where a sound keeps it from being counted', (t) => {
  const { at, told } = watch();
  at(0);
  t.same(at(60_000), []);
  at(60_240, { sound: true });
  t.same(at(120_000), ['count_silence']);
  t.match(told, [{ due: 'caller' }]);
  const over = watch();
  over.at(0, { phase: 'over' });
  t.same(over.at(1e9), []);
  t.end();
});

void t.test('a turn is answered once more, and then it is the caller who is waited for', (t) => {
  const { at } = watch();
  at(0, { unanswered: 3 });
  t.same(at(4999), []);
  t.same(at(5240), ['answer_again']);
  at(5500);
  t.same(at(11_000), []);
  at(11_240, { unanswered: 4 });
  t.same(at(16_300), ['answer_again'], 'another turn');
  t.end();
});

void t.test('the third stall in a row ends the call, unless something worked in between', (t) => {
  const stall = (
    dog: ReturnType<typeof watch>,
    from: number,
    signs: Partial<CallSigns> = { agent: 'thinking' },
  ) => {
    dog.at(from, { ...QUIET, ...signs, progress: from });
    return dog.at(from + 100_000);
  };
  const bad = watch();
  t.same(stall(bad, 0), ['answer_again']);
  t.same(stall(bad, 200_000, { toolRuns: true }), ['give_up_tool']);
  t.same(stall(bad, 400_000), ['say_goodbye']);
  t.same(stall(bad, 600_000, { phase: 'saying_goodbye' }), ['end']);
  const good = watch();
  stall(good, 0);
  stall(good, 200_000);
  good.at(400_000, QUIET);
  t.same(stall(good, 600_000), ['answer_again']);
  t.end();
});

void t.test('another agent has other times', (t) => {
  const { at, dog } = watch();
  dog.agentChanged(wirePlan((_, config) => (config.interruption.false_after_ms = 5000)));
  at(0, { agent: 'held' });
  t.same(at(9999), []);
  t.same(at(10_240), ['resume']);
  t.end();
});
