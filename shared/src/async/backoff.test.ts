import t from 'tap';
import { backoffMs } from './backoff.ts';

void t.test('waiting doubles up to its bound', async (t) => {
  const middle = { firstMs: 100, maxMs: 2000, random: () => 0.5 };
  const waits = [0, 1, 2, 3, 4, 5, 6, 1000].map((attempt) => backoffMs(attempt, middle));
  t.same(waits, [100, 200, 400, 800, 1600, 2000, 2000, 2000]);
});

void t.test('it is off by a fifth at most, so that many do not come back together', async (t) => {
  t.equal(backoffMs(0, { firstMs: 100, maxMs: 2000, random: () => 0 }), 80);
  t.equal(backoffMs(9, { firstMs: 100, maxMs: 2000, random: () => 1 }), 2400);
  const waits = new Set(Array.from({ length: 50 }, () => backoffMs(9, { firstMs: 100, maxMs: 2000 })));
  t.ok(waits.size > 1);
  for (const wait of waits) t.ok(wait >= 1600 && wait <= 2400);
});
