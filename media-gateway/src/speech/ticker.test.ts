import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { TICK_MS, Ticker } from './ticker.ts';

void t.test('every task runs once a tick, tasks are spread over it, and none is left behind', (t) => {
  const clock = new ManualClock();
  const ticker = new Ticker(clock);
  const ran = Array.from({ length: 8 }, () => [] as number[]);
  const removals = ran.map((times) => ticker.add((now) => times.push(now)));
  t.equal(ticker.size, 8);
  clock.advance(10 * TICK_MS);
  for (const times of ran) {
    t.equal(times.length, 10);
    t.ok(times.slice(1).every((at, i) => at - times[i]! === TICK_MS));
  }
  t.equal(new Set(ran.map(([first]) => first)).size, 4, 'two tasks at a time');
  removals[0]!();
  removals[0]!();
  clock.advance(TICK_MS);
  t.equal(ran[0]!.length, 10, 'removed');
  t.equal(ran[1]!.length, 11);
  for (const remove of removals) remove();
  t.equal(ticker.size, 0);
  t.equal(clock.pendingTimers, 0, 'no timer without a task');
  t.end();
});

void t.test('a loop that was blocked makes up for no tick, and the grid stays', (t) => {
  const clock = new ManualClock();
  let lateMs = 0;
  const ticker = new Ticker({
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout: (task, ms) => clock.setTimeout(task, ms + lateMs),
  });
  const times: number[] = [];
  const remove = ticker.add((now) => {
    times.push(now);
    lateMs = 0;
  });
  clock.advance(TICK_MS - 1);
  lateMs = 47; // of the timer after the next
  clock.advance(500);
  remove();
  t.same(times.slice(0, 5), [20, 87, 100, 120, 140]);
  t.end();
});
