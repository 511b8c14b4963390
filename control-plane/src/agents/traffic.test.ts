import t from 'tap';
import type { TrafficSplit } from './agent-record.ts';
import { versionFor, versionsInUse } from './traffic.ts';

const agent = (splits: TrafficSplit[], _id = 'agt_1') => ({
  _id,
  version: 9,
  traffic: { mode: splits.length > 0 ? 'pinned' : 'latest', splits, require_passed_tests: false } as const,
});
const callers = Array.from({ length: 4000 }, (_, n) => `+1415555${String(n).padStart(4, '0')}`);
const share = (splits: TrafficSplit[], version: number) =>
  callers.filter((caller) => versionFor(agent(splits), caller) === version).length / callers.length;

void t.test('without splits the newest version answers', async (t) => {
  t.equal(versionFor(agent([]), '+1'), 9);
  t.same(versionsInUse(agent([])), [9]);
});

void t.test('versions get callers by their weights', async (t) => {
  const splits = [1, 2, 3, 4].map((version, n) => ({ version, weight: [50, 30, 15, 5][n]! }));
  t.same(versionsInUse(agent(splits)), [1, 2, 3, 4]);
  for (const { version, weight } of splits) {
    const off = Math.abs(share(splits, version) - weight / 100);
    t.ok(off < 0.025, `version ${version} has its ${weight} % (off by ${off.toFixed(4)})`);
  }
  t.equal(share([{ version: 7, weight: 100 }], 7), 1);
});

void t.test('a caller keeps its version, and another agent divides the same callers otherwise', async (t) => {
  const splits = [
    { version: 1, weight: 50 },
    { version: 2, weight: 50 },
  ];
  // Fixed values: processes and releases must agree on them.
  const known = callers.slice(0, 12).map((caller) => versionFor(agent(splits), caller));
  t.same(
    known,
    callers.slice(0, 12).map((caller) => versionFor(agent([...splits].reverse()), caller)),
  );
  const same = callers.filter(
    (caller) => versionFor(agent(splits), caller) === versionFor(agent(splits, 'agt_2'), caller),
  );
  t.ok(Math.abs(same.length / callers.length - 0.5) < 0.05);
});

void t.test('a change of weights moves hardly more callers than it must', async (t) => {
  const moves = (from: number[], to: number[]) => {
    const splits = (weights: number[]) => weights.map((weight, n) => ({ version: n + 1, weight }));
    return callers
      .map((caller) => [versionFor(agent(splits(from)), caller), versionFor(agent(splits(to)), caller)])
      .filter(([before, after]) => before !== after);
  };
  const ramped = moves([90, 10], [70, 30]);
  t.ok(
    ramped.every(([before, after]) => before === 1 && after === 2),
    'of two versions, none the other way',
  );
  t.ok(Math.abs(ramped.length / callers.length - 0.2) < 0.025);
  t.ok(moves([90, 10], [60, 10, 30]).length / callers.length < 0.36);
  t.equal(moves([90, 10], [10, 90].reverse()).length, 0);
});
