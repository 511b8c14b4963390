import { Decimal } from 'decimal.js';

/** 10⁻⁹ of a currency: the unit in which prices and amounts are stored and added. */
const NANO_DIGITS = 9;
const AMOUNT = /^\d{1,12}(\.\d{1,9})?$/;
/** Holds every digit that `AMOUNT` allows. */
const Exact = Decimal.clone({ precision: 30 });
const NANO = new Exact(10).pow(NANO_DIGITS);

/** Whether a text is an amount that can be kept to its last digit: at most nine decimals. */
export function isExactAmount(text: string): boolean {
  return AMOUNT.test(text);
}

/**
 * Whole 10⁻⁹ of a decimal number, such as of `0.0127`.
 * @throws RangeError for a text that is none, or has further decimals
 */
export function toNano(text: string): bigint {
  if (!isExactAmount(text)) throw new RangeError('An amount is a decimal number of at most nine decimals.');
  return BigInt(new Exact(text).times(NANO).toFixed(0));
}
