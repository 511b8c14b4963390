import t from 'tap';
import { stepsLeft } from './call-under-way.ts';
import { conversation } from './conversation.ts';

void t.test('of calls that are under way every length is left as often', async (t) => {
  const { steps } = conversation('talk', 30);
  const counts = new Map<number, number>();
  for (let caller = 0; caller < 300; caller++) {
    const left = stepsLeft(steps, caller);
    t.same(left, steps.slice(0, left.length), 'they end sooner');
    counts.set(left.length, (counts.get(left.length) ?? 0) + 1);
  }
  t.same(
    [...counts.keys()].toSorted((a, b) => a - b),
    Array.from({ length: 30 }, (_, i) => i + 1),
  );
  t.ok(
    [...counts.values()].every((count) => count >= 9 && count <= 11),
    [...counts.values()].join(' '),
  );
});

void t.test('callers in a row are at different places', async (t) => {
  const { steps } = conversation('talk', 4);
  const lengths = [0, 1, 2, 3, 4, 5].map((caller) => stepsLeft(steps, caller).length);
  t.ok(
    lengths.every((length, i) => length !== lengths[i + 1]),
    lengths.join(' '),
  );
  t.equal(stepsLeft(steps.slice(0, 1), 7).length, 1, 'a step is left at least');
});
