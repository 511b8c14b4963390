import t from 'tap';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { erlangB, erlangC, meanWait, meanWaitGeneral, slotsForLoss, waitsLonger } from './erlang.ts';
import { constant, exponential, logNormal, simulateQueue } from './simulate-queue.ts';
import { planFleet } from './plan-fleet.ts';

const near = (found: number, wanted: number, share: number) => Math.abs(found - wanted) <= share * wanted;

void t.test('the formulas give the values of the printed tables', (t) => {
  t.ok(near(erlangB(10, 10), 0.2146, 0.001));
  t.ok(near(erlangB(100, 117), 0.0098, 0.02));
  t.ok(near(erlangC(10, 12), 0.4494, 0.001));
  t.equal(erlangC(5, 5), 1, 'as much traffic as slots: everybody waits in the end');
  t.equal(meanWait(5, 5, 60), Infinity);
  t.ok(near(waitsLonger(10, 12, 60, 30), erlangC(10, 12) * Math.exp(-1), 0.001));
  t.ok(erlangB(1_000_000, 1_003_000) < 0.001, 'no overflow with a million');
  t.throws(() => erlangB(-1, 1), RangeError);
  t.end();
});

void t.test('refused calls come out of the simulation as Erlang says, whatever the lengths', (t) => {
  const [erlangs, slots, mean] = [80, 90, 120];
  for (const [name, lengths] of [
    ['exponential', exponential(mean)],
    ['all alike', constant(mean)],
    ['a few long ones', logNormal(mean, 1.5)],
  ] as const) {
    const found = simulateQueue({
      arrivalsPerSecond: erlangs / mean,
      slots,
      lengths,
      maxWaiting: 0,
      calls: 400_000,
      warmUpCalls: 5000,
      random: seededRandom(7),
    });
    const share = found.lost / found.calls;
    t.ok(near(share, erlangB(erlangs, slots), 0.1), `${name}: ${share} of ${erlangB(erlangs, slots)}`);
  }
  t.end();
});

void t.test('waiting comes out as Erlang C and its generalisation say', (t) => {
  const [erlangs, slots, mean] = [45, 50, 100];
  for (const [name, lengths, variation] of [
    ['exponential', exponential(mean), 1],
    ['all alike', constant(mean), 0],
    ['a few long ones', logNormal(mean, 1.3), 1.3],
  ] as const) {
    const found = simulateQueue({
      arrivalsPerSecond: erlangs / mean,
      slots,
      lengths,
      maxWaiting: Infinity,
      calls: 600_000,
      warmUpCalls: 20_000,
      random: seededRandom(11),
    });
    const wanted = meanWaitGeneral(erlangs, slots, mean, variation);
    t.ok(near(found.meanWait, wanted, 0.2), `${name}: ${found.meanWait} s, formula ${wanted} s`);
    if (variation === 1) t.ok(near(found.waited / found.calls, erlangC(erlangs, slots), 0.05));
  }
  t.end();
});

void t.test('a bounded line refuses, and shortens the wait of those it takes', (t) => {
  const run = (maxWaiting: number) =>
    simulateQueue({
      arrivalsPerSecond: 0.48,
      slots: 50,
      lengths: exponential(100),
      maxWaiting,
      calls: 100_000,
      warmUpCalls: 5000,
      random: seededRandom(3),
    });
  const [bounded, open] = [run(5), run(Infinity)];
  t.ok(bounded.lost > 0);
  t.equal(open.lost, 0);
  t.ok(bounded.meanWait < open.meanWait);
  t.end();
});

void t.test('a fleet has slots for its peak, and for a machine that fails', (t) => {
  const cost = {
    callsPerCore: 200,
    coresPerMachine: 8,
    callSeconds: 180,
    lossShare: 0.001,
    spareMachines: 1,
  };
  const small = planFleet(100, cost);
  t.ok(small.slots >= 100 && erlangB(100, small.slots) <= 0.001);
  t.ok(small.machines >= 2, 'one may fail');
  const large = planFleet(1_000_000, cost);
  t.ok(near(large.slots, 1_000_000, 0.01), 'a large fleet needs hardly more slots than it has calls');
  t.equal(slotsForLoss(1000, 0.001), planFleet(1000, cost).slots);
  t.ok(large.startsPerSecond > 5500 && large.startsPerSecond < 5600);
  t.end();
});
