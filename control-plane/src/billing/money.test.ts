import t from 'tap';
import { toAmount } from '../http/amount.ts';
import { toNano } from './money.ts';

void t.test('decimal texts become whole numbers, to their last digit', async (t) => {
  for (const [text, nano] of [
    ['0', 0n],
    ['1', 1_000_000_000n],
    ['0.1', 100_000_000n],
    ['0.0127', 12_700_000n],
    ['0.000000001', 1n],
    ['999999999999.999999999', 999_999_999_999_999_999_999n],
  ] as const)
    t.equal(toNano(text), nano, text);
  for (const text of ['', '-1', '1,5', '.5', '1.', '1e3', '0.0000000001', 'NaN', '1000000000000', ' 1'])
    t.throws(() => toNano(text), RangeError, `${text} is no amount`);
});

void t.test('what was read is shown as it was written, to six decimals', async (t) => {
  for (const [text, shown] of [
    ['12.34', '12.340000'],
    ['0.0000005', '0.000001'],
    ['0.000000499', '0.000000'],
  ] as const)
    t.equal(toAmount(toNano(text)), shown, text);
  t.equal(toAmount(-1_500n), '-0.000002', 'a half is rounded away from zero');
});
