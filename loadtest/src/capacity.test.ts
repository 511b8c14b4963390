import t from 'tap';
import { findCapacity, shortcomings } from './capacity.ts';
import type { LoadResult } from './load-result.ts';

function result(
  calls: number,
  change: { p95?: number; pacing?: number; lost?: number; valid?: boolean } = {},
) {
  const { p95 = 10, pacing = 2, lost = 0, valid = true } = change;
  return {
    calls,
    valid,
    overheadLater: { count: 1, p95 },
    pacing: { count: 1, p99: pacing },
    counts: { missingReplies: 0, lost, refused: 0 },
  } as unknown as LoadResult;
}

void t.test('the search closes in on the last load that is served well', async (t) => {
  const asked: number[] = [];
  const found = await findCapacity(
    (calls) => {
      asked.push(calls);
      return Promise.resolve(result(calls, { p95: calls > 137 ? 80 : 10 }));
    },
    { from: 50, step: 50, resolution: 4, max: 1000 },
  );
  t.ok(found.calls <= 137 && found.calls > 133, `found ${found.calls}`);
  t.same(asked.slice(0, 4), [50, 100, 150, 125]);
  t.same(found.because, ['overhead p95 80 ms']);
  t.notOk(found.limitedByInstrument);
});

void t.test(
  'a late simulator is asked again, and then ends the search without blaming the system',
  async (t) => {
    let runs = 0;
    const found = await findCapacity(
      (calls) => {
        runs++;
        return Promise.resolve(result(calls, { valid: calls < 100 }));
      },
      { from: 50, step: 50, resolution: 25, max: 1000 },
    );
    t.equal(found.calls, 75);
    t.ok(found.limitedByInstrument);
    t.equal(runs, 4, 'the late one ran twice');
  },
);

void t.test('every promise of a load counts', (t) => {
  t.same(shortcomings(result(1)), []);
  t.equal(shortcomings(result(1, { p95: 51 })).length, 1);
  t.equal(shortcomings(result(1, { pacing: 11 })).length, 1);
  t.equal(shortcomings(result(1, { lost: 1 })).length, 1);
  t.end();
});
