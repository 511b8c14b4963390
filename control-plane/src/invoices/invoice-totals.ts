import { divideRounded } from '../http/amount.ts';

const NANO_DIGITS = 9;
const MILLION = 1_000_000n;

/** Decimals of a currency's smallest unit, by ISO 4217: 2 of USD, 0 of JPY, 3 of KWD. */
export function minorDigits(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}

/**
 * What is to be paid, in 10⁻⁹ of the currency. Lines are added as they are; their sum is rounded once to the currency's
 * smallest unit, and so is the tax on it, half a unit away from zero; the total is the sum of the two.
 * @param taxRate in millionths
 */
export function invoiceTotals(
  lines: readonly { amount_nano: bigint }[],
  { currency, taxRate }: { currency: string; taxRate: number },
): { subtotal_nano: bigint; tax_nano: bigint; total_nano: bigint } {
  const unit = 10n ** BigInt(NANO_DIGITS - minorDigits(currency));
  const sum = lines.reduce((total, { amount_nano }) => total + amount_nano, 0n);
  const subtotal = divideRounded(sum, unit) * unit;
  const tax = divideRounded(subtotal * BigInt(taxRate), MILLION * unit) * unit;
  return { subtotal_nano: subtotal, tax_nano: tax, total_nano: subtotal + tax };
}
