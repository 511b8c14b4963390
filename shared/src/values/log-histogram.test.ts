import t from 'tap';
import { countOf, histogramOf, medianOf, QUANTILE_ERROR } from './log-histogram.ts';

void t.test('a median is at most its error beside the value', (t) => {
  for (const values of [
    [812],
    [2],
    [400, 900],
    [3000, 250, 700],
    [...Array(999).keys()].map((n) => n * 7 + 2),
  ]) {
    const sorted = values.toSorted((a, b) => a - b);
    const median = sorted[Math.ceil(sorted.length / 2) - 1]!;
    const found = medianOf(histogramOf(values))!;
    t.ok(Math.abs(found - median) <= QUANTILE_ERROR * median + 1e-9, `${found} of ${median}`);
  }
  t.end();
});

void t.test('values at both ends are counted, and no values have no median', (t) => {
  t.equal(medianOf({}), null);
  t.same(histogramOf([0, 0.5, 1, -3]), { b0: 4 });
  t.equal(medianOf(histogramOf([0])), 1);
  t.equal(countOf(histogramOf([1e12, 5])), 2);
  t.ok(medianOf(histogramOf([1e12]))! < 4e6);
  t.end();
});
