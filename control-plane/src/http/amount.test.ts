import t from 'tap';
import { amount, divideRounded, toAmount } from './amount.ts';

void t.test('an amount has six places, and half a millionth is rounded away from zero', (t) => {
  for (const [nano, text] of [
    [0n, '0.000000'],
    [499n, '0.000000'],
    [500n, '0.000001'],
    [-499n, '0.000000'],
    [-500n, '-0.000001'],
    [1_000_000_000n, '1.000000'],
    [999_999_999n, '1.000000'],
    [12_345_678_499n, '12.345678'],
    [-12_345_678_500n, '-12.345679'],
    [2n ** 62n, '4611686018.427388'],
  ] as const) {
    t.equal(toAmount(nano), text);
    t.ok(amount.safeParse(toAmount(nano)).success);
  }
  t.end();
});

void t.test('a quotient is the whole number next to it', (t) => {
  for (const [dividend, divisor, quotient] of [
    [7n, 2n, 4n],
    [-7n, 2n, -4n],
    [1n, 3n, 0n],
    [2n, 3n, 1n],
    [5n, 10n, 1n],
    [4n, 9n, 0n],
    [5n, 9n, 1n],
  ] as const)
    t.equal(divideRounded(dividend, divisor), quotient);
  t.end();
});
