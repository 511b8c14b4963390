import { randomInt } from 'node:crypto';
import t from 'tap';
import { invoiceTotals, minorDigits } from './invoice-totals.ts';

const totals = (amounts: bigint[], currency: string, taxRate: number) => {
  const of = invoiceTotals(
    amounts.map((amount_nano) => ({ amount_nano })),
    { currency, taxRate },
  );
  return [of.subtotal_nano, of.tax_nano, of.total_nano];
};

void t.test('a sum is rounded once, not its lines', (t) => {
  t.same(totals([4_000_000n, 4_000_000n, 4_000_000n], 'USD', 0), [10_000_000n, 0n, 10_000_000n]);
  t.same(totals([4_999_999n], 'USD', 0), [0n, 0n, 0n]);
  t.same(totals([5_000_000n], 'USD', 0), [10_000_000n, 0n, 10_000_000n], 'half a cent is a cent');
  t.end();
});

void t.test('tax is on what is shown, and rounded the same way', (t) => {
  t.same(totals([100_004_000_000n], 'EUR', 190_000), [100_000_000_000n, 19_000_000_000n, 119_000_000_000n]);
  t.same(totals([10_130_000_000n], 'USD', 72_500), [10_130_000_000n, 730_000_000n, 10_860_000_000n]);
  t.same(
    totals([1_500_000_000n], 'JPY', 100_000),
    [2_000_000_000n, 0n, 2_000_000_000n],
    'a yen has no parts',
  );
  t.same(totals([1_000_500_000n], 'KWD', 0), [1_001_000_000n, 0n, 1_001_000_000n], 'a dinar has a thousand');
  t.same(['USD', 'JPY', 'KWD', 'XXX'].map(minorDigits), [2, 0, 3, 2]);
  t.end();
});

void t.test('totals add up, whatever the lines', (t) => {
  for (let n = 0; n < 500; n++) {
    const amounts = Array.from({ length: randomInt(20) }, () => BigInt(randomInt(2 ** 47)));
    const [subtotal, tax, total] = totals(amounts, ['USD', 'JPY', 'KWD'][n % 3]!, randomInt(1_000_000)) as [
      bigint,
      bigint,
      bigint,
    ];
    const exact = amounts.reduce((sum, one) => sum + one, 0n);
    const unit = [10_000_000n, 1_000_000_000n, 1_000_000n][n % 3]!;
    if (subtotal + tax !== total || subtotal % unit || tax % unit) t.fail(`${amounts}`);
    const off = subtotal > exact ? subtotal - exact : exact - subtotal;
    if (off * 2n > unit) t.fail(`${amounts} are ${subtotal}`);
  }
  t.pass();
  t.end();
});
