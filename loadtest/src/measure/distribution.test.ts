import t from 'tap';
import { Distribution } from './distribution.ts';

void t.test('quantiles are exact, negative values and growth included', (t) => {
  const values = new Distribution();
  for (let i = 999; i >= 0; i--) values.add(i - 100);
  t.equal(values.count, 1000);
  t.equal(values.quantile(0), -100);
  t.equal(values.quantile(0.5), 399);
  t.equal(values.quantile(0.99), 889);
  t.equal(values.quantile(1), 899);
  values.add(10_000);
  t.equal(values.quantile(1), 10_000, 'values added later count');
  t.equal(values.summary().p50, 400);
  t.end();
});

void t.test('without a value there is no figure', (t) => {
  t.same(new Distribution().summary(), { count: 0 });
  t.ok(Number.isNaN(new Distribution().quantile(0.5)));
  t.end();
});
