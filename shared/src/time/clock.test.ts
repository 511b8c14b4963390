import t from 'tap';
import { systemClock } from './clock.ts';
import { ManualClock } from './manual-clock.ts';

void t.test('the system clock runs and its timers can be cancelled', async (t) => {
  const before = systemClock.monotonic();
  const order: string[] = [];
  const cancelled = systemClock.setTimeout(() => order.push('cancelled'), 0);
  cancelled.cancel();
  cancelled.cancel();
  await new Promise<void>((resolve) => {
    systemClock.setTimeout(() => {
      order.push('ran');
      resolve();
    }, 1);
  });
  t.same(order, ['ran']);
  t.ok(systemClock.monotonic() > before);
  t.ok(Math.abs(systemClock.now() - Date.now()) < 60_000);
});

void t.test('a manual clock runs timers when they are due, in order', async (t) => {
  const clock = new ManualClock(1000);
  const order: string[] = [];
  const note = (name: string) => () => void order.push(`${name} at ${clock.monotonic()}`);
  clock.setTimeout(note('late'), 30);
  clock.setTimeout(note('early'), 10);
  clock.setTimeout(note('same time, later'), 10);
  clock.setTimeout(note('past'), -5);
  const timer = clock.setTimeout(note('cancelled'), 20);
  timer.cancel();
  timer.cancel();
  t.equal(clock.pendingTimers, 4);
  clock.advance(29);
  t.same(order, ['past at 0', 'early at 10', 'same time, later at 10']);
  clock.advance(1);
  t.equal(order.at(-1), 'late at 30');
  t.equal(clock.now(), 1030);
  t.equal(clock.pendingTimers, 0);
});

void t.test('timers set on the way run on the way', async (t) => {
  const clock = new ManualClock();
  const at: number[] = [];
  const tick = () => {
    at.push(clock.monotonic());
    clock.setTimeout(tick, 20);
  };
  clock.setTimeout(tick, 20);
  clock.advance(100);
  t.same(at, [20, 40, 60, 80, 100]);
});

void t.test('time never goes back, even when a timer moves it', async (t) => {
  const clock = new ManualClock();
  clock.setTimeout(() => clock.advance(1000), 10);
  clock.advance(50);
  t.equal(clock.monotonic(), 1010);
});

void t.test('promises settle between the steps of a slow advance', async (t) => {
  const clock = new ManualClock();
  const at: number[] = [];
  const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
  const work = (async () => {
    for (let i = 0; i < 3; i++) {
      await sleep(10);
      at.push(clock.monotonic());
    }
  })();
  await clock.advanceAsync(35, 10);
  await work;
  t.same(at, [10, 20, 30]);
  t.equal(clock.monotonic(), 35);
});
