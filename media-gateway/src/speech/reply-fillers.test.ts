import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { ReplyFillers, type FillerPlan } from './reply-fillers.ts';

function fillersOf(plan: Partial<FillerPlan> | undefined, { silent = true } = {}) {
  const clock = new ManualClock();
  const line = { silent };
  const said: string[] = [];
  const fillers = new ReplyFillers({
    plan: plan && { afterMs: 2000, messages: ['One.', 'Two.'], maxPerTurn: 3, ...plan },
    clock,
    isSilent: () => line.silent,
    say: (text) => void said.push(text),
  });
  return { clock, line, said, fillers };
}

void t.test('messages are said in turns after each silence, so many in a reply', (t) => {
  const { clock, said, fillers } = fillersOf({});
  fillers.arm();
  clock.advance(1999);
  t.same(said, []);
  clock.advance(1);
  t.same(said, ['One.']);
  fillers.arm();
  clock.advance(1999);
  fillers.arm();
  clock.advance(1999);
  t.equal(said.length, 1, 'the wait begins anew');
  clock.advance(1);
  clock.advance(2000);
  t.same(said, ['One.', 'Two.', 'One.']);
  clock.advance(60_000);
  t.equal(said.length, 3);
  t.equal(clock.pendingTimers, 0);
  t.end();
});

void t.test('while something is heard nothing is filled', (t) => {
  const { clock, line, said, fillers } = fillersOf({}, { silent: false });
  fillers.arm();
  clock.advance(3000);
  line.silent = true;
  clock.advance(999);
  t.same(said, []);
  clock.advance(1);
  t.same(said, ['One.']);
  fillers.cancel();
  clock.advance(60_000);
  t.equal(said.length, 1, 'words are on their way');
  fillers.close();
  fillers.arm();
  t.equal(clock.pendingTimers, 0, 'the reply is whole');
  t.end();
});

void t.test('without a plan, or without messages, nothing is said', (t) => {
  for (const plan of [undefined, { messages: [] }, { maxPerTurn: 0 }]) {
    const { clock, fillers } = fillersOf(plan);
    fillers.arm();
    t.equal(clock.pendingTimers, 0);
  }
  t.end();
});

void t.test('a model words a filler in the last part of the wait, or the messages stand in', async (t) => {
  const asked: { at: number; said: readonly string[]; withinMs: number; signal: AbortSignal }[] = [];
  let answer: string | undefined = 'I am looking for tables.';
  const { clock, line, said, fillers } = fillersOf({
    word: (request) => {
      asked.push({ at: clock.monotonic() - begun, ...request, said: [...request.said] });
      return Promise.resolve(answer);
    },
  });
  const begun = clock.monotonic();
  fillers.arm();
  await clock.advanceAsync(799);
  t.equal(asked.length, 0, 'most answers come before');
  await clock.advanceAsync(1);
  t.match(asked, [{ at: 800, said: [], withinMs: 1200 }]);
  await clock.advanceAsync(1199);
  t.same(said, []);
  await clock.advanceAsync(1);
  t.same(said, ['I am looking for tables.']);
  answer = undefined;
  await clock.advanceAsync(2000);
  t.same(asked[1]?.said, ['I am looking for tables.']);
  t.same(said[1], 'Two.');
  answer = 'Still looking.';
  await clock.advanceAsync(800);
  t.notOk(asked[2]!.signal.aborted);
  fillers.arm();
  t.ok(asked[2]!.signal.aborted, 'words came: what it wrote is not waited for');
  line.silent = false;
  await clock.advanceAsync(900);
  t.equal(asked.length, 3, 'nor is it asked while something is heard');
  line.silent = true;
  await clock.advanceAsync(2000);
  t.same(said[2], 'Still looking.');
});

void t.test('an impatient agent gives the model all of its wait', async (t) => {
  const within: number[] = [];
  const { clock, said, fillers } = fillersOf({
    afterMs: 500,
    word: ({ withinMs }) => {
      within.push(withinMs);
      return new Promise(() => undefined);
    },
  });
  fillers.arm();
  await clock.advanceAsync(500);
  t.equal(within[0], 500);
  t.same(said, ['One.']);
  fillers.close();
});
