import { Decimal128, Double } from 'bson';
import { CommandError } from '../errors.ts';
import { asDouble, isInt32, type Bson } from './values.ts';

/** One of BSON's four numeric types, see `Bson`. */
export type Numeric = number | bigint | Double | Decimal128;

/** An exact decimal: `coefficient * 10 ** exponent`, or one of the values that are not numbers. */
export interface Decimal {
  coefficient: bigint;
  exponent: number;
  special?: 'nan' | 'infinity' | '-infinity';
}

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
const DECIMAL_DIGITS = 34;

/** Reads IEEE 754-2008 decimal128 exactly. */
export function toDecimal(value: Numeric): Decimal {
  if (typeof value === 'bigint') return { coefficient: value, exponent: 0 };
  if (value instanceof Double) return decimalOfText(String(value.value));
  if (typeof value === 'number') return decimalOfText(String(value));
  return decimalOfText(value.toString());
}

function decimalOfText(text: string): Decimal {
  if (text === 'NaN' || text === '-NaN') return { coefficient: 0n, exponent: 0, special: 'nan' };
  if (text === 'Infinity') return { coefficient: 0n, exponent: 0, special: 'infinity' };
  if (text === '-Infinity') return { coefficient: 0n, exponent: 0, special: '-infinity' };
  const [mantissa = '0', exponent = '0'] = text.toLowerCase().split('e');
  const point = mantissa.indexOf('.');
  const decimals = point < 0 ? 0 : mantissa.length - point - 1;
  const digits = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  return { coefficient: BigInt(digits), exponent: Number(exponent) - decimals };
}

export function fromDecimal(value: Decimal): Decimal128 {
  if (value.special === 'nan') return Decimal128.fromString('NaN');
  if (value.special === 'infinity') return Decimal128.fromString('Infinity');
  if (value.special === '-infinity') return Decimal128.fromString('-Infinity');
  let { coefficient, exponent } = value;
  const digits = (coefficient < 0n ? -coefficient : coefficient).toString().length;
  if (digits > DECIMAL_DIGITS) {
    const drop = digits - DECIMAL_DIGITS;
    coefficient = divideHalfEven(coefficient, 10n ** BigInt(drop));
    exponent += drop;
  }
  if (exponent > 6111) {
    // Room in the coefficient is used before the value counts as too large.
    const room = DECIMAL_DIGITS - (coefficient < 0n ? -coefficient : coefficient).toString().length;
    const shift = Math.min(room, exponent - 6111);
    coefficient *= 10n ** BigInt(Math.max(0, shift));
    exponent -= Math.max(0, shift);
    if (coefficient === 0n) exponent = 6111;
    if (exponent > 6111) return Decimal128.fromString(coefficient < 0n ? '-Infinity' : 'Infinity');
  }
  if (exponent < -6176) {
    const drop = -6176 - exponent;
    coefficient = drop > DECIMAL_DIGITS + 1 ? 0n : divideHalfEven(coefficient, 10n ** BigInt(drop));
    exponent = -6176;
  }
  return Decimal128.fromString(`${coefficient}E${exponent >= 0 ? '+' : ''}${exponent}`);
}

function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const negative = dividend < 0n !== divisor < 0n;
  const a = dividend < 0n ? -dividend : dividend;
  const b = divisor < 0n ? -divisor : divisor;
  let quotient = a / b;
  const twice = (a % b) * 2n;
  if (twice > b || (twice === b && quotient % 2n === 1n)) quotient += 1n;
  return negative ? -quotient : quotient;
}

/** A negative, zero or positive number. NaN equals itself and is less than every other number. */
export function compareNumbers(a: Numeric, b: Numeric): number {
  if (a instanceof Double) a = a.value;
  if (b instanceof Double) b = b.value;
  if (a instanceof Decimal128 || b instanceof Decimal128) return compareDecimals(a, b);
  if (a === b) return 0;
  const aIsNaN = a !== a;
  const bIsNaN = b !== b;
  if (aIsNaN || bIsNaN) return aIsNaN === bIsNaN ? 0 : aIsNaN ? -1 : 1;
  // JavaScript compares number with bigint by exact value.
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareDecimals(a: number | bigint | Decimal128, b: number | bigint | Decimal128): number {
  const x = specialRank(a);
  const y = specialRank(b);
  if (x !== 1 || y !== 1) return x - y;
  const [p, q] = exactFraction(a);
  const [r, s] = exactFraction(b);
  const difference = p * s - r * q;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** NaN, -Infinity, finite, Infinity as -1, 0, 1, 2. */
function specialRank(value: number | bigint | Decimal128): number {
  if (typeof value === 'bigint') return 1;
  if (typeof value === 'number')
    return value !== value ? -1 : value === Infinity ? 2 : value === -Infinity ? 0 : 1;
  const special = decimalOfText(value.toString()).special;
  return special === 'nan' ? -1 : special === 'infinity' ? 2 : special === '-infinity' ? 0 : 1;
}

/** Numerator and (positive) denominator of the value, exact for doubles too. */
function exactFraction(value: number | bigint | Decimal128): [bigint, bigint] {
  if (typeof value === 'bigint') return [value, 1n];
  if (typeof value === 'number') {
    let denominator = 1n;
    let scaled = value;
    while (!Number.isInteger(scaled)) {
      scaled *= 2;
      denominator *= 2n;
    }
    return [BigInt(scaled), denominator];
  }
  const { coefficient, exponent } = decimalOfText(value.toString());
  return exponent >= 0
    ? [coefficient * 10n ** BigInt(exponent), 1n]
    : [coefficient, 10n ** BigInt(-exponent)];
}

export type Arithmetic = 'add' | 'subtract' | 'multiply';

/**
 * Adds, subtracts or multiplies as MongoDB does: int32 grows to int64 when it overflows, a double makes the result a
 * double, a decimal a decimal.
 * @param onInt64Overflow `double` as in aggregation, `fail` as in updates
 * @throws CommandError when a 64-bit integer overflows and `onInt64Overflow` is `fail`
 */
export function calculate(
  operation: Arithmetic,
  a: Numeric,
  b: Numeric,
  onInt64Overflow: 'double' | 'fail',
): Numeric {
  if (a instanceof Decimal128 || b instanceof Decimal128) return calculateDecimal(operation, a, b);
  const wholeA = typeof a === 'bigint' || (typeof a === 'number' && isInt32(a));
  const wholeB = typeof b === 'bigint' || (typeof b === 'number' && isInt32(b));
  if (!wholeA || !wholeB) {
    const x = a instanceof Double ? a.value : Number(a);
    const y = b instanceof Double ? b.value : Number(b);
    return asDouble(operation === 'add' ? x + y : operation === 'subtract' ? x - y : x * y);
  }
  if (typeof a === 'number' && typeof b === 'number' && operation !== 'multiply') {
    const sum = operation === 'add' ? a + b : a - b;
    return isInt32(sum) || sum === 0 ? sum + 0 : BigInt(sum);
  }
  const x = BigInt(a as number | bigint);
  const y = BigInt(b as number | bigint);
  const result = operation === 'add' ? x + y : operation === 'subtract' ? x - y : x * y;
  if (result > INT64_MAX || result < INT64_MIN) {
    if (onInt64Overflow === 'fail') {
      throw new CommandError(
        'BadValue',
        `Failed to apply ${operation === 'multiply' ? '$mul' : '$inc'} operations: 64-bit integer overflow`,
      );
    }
    return asDouble(Number(result));
  }
  const int = typeof a === 'number' && typeof b === 'number' && isInt32(Number(result));
  return int ? Number(result) : result;
}

function calculateDecimal(operation: Arithmetic, a: Numeric, b: Numeric): Decimal128 {
  const x = toDecimal(a);
  const y = toDecimal(b);
  if (x.special || y.special) {
    const [p, q] = [specialNumber(x), specialNumber(y)];
    const result = operation === 'add' ? p + q : operation === 'subtract' ? p - q : p * q;
    return Decimal128.fromString(String(result));
  }
  if (operation === 'multiply') {
    return fromDecimal({ coefficient: x.coefficient * y.coefficient, exponent: x.exponent + y.exponent });
  }
  // Far apart, the smaller operand cannot reach the 34 digits of the larger: spare the giant shift.
  const exponent = Math.min(x.exponent, y.exponent);
  const p = x.coefficient * 10n ** BigInt(x.exponent - exponent);
  const q = y.coefficient * 10n ** BigInt(y.exponent - exponent);
  return fromDecimal({ coefficient: operation === 'add' ? p + q : p - q, exponent });
}

function specialNumber(value: Decimal): number {
  if (value.special === 'nan') return NaN;
  if (value.special === 'infinity') return Infinity;
  if (value.special === '-infinity') return -Infinity;
  return value.coefficient === 0n ? 0 : value.coefficient < 0n ? -1 : 1;
}

/** Aggregation's `$divide`: a double, or a decimal if either operand is one. The divisor must not be zero. */
export function divide(a: Numeric, b: Numeric): Numeric {
  if (!(a instanceof Decimal128) && !(b instanceof Decimal128)) {
    return asDouble(Number(a instanceof Double ? a.value : a) / Number(b instanceof Double ? b.value : b));
  }
  const x = toDecimal(a);
  const y = toDecimal(b);
  if (x.special || y.special) {
    return Decimal128.fromString(
      y.special && !x.special && y.special !== 'nan' ? '0' : String(specialNumber(x) / specialNumber(y)),
    );
  }
  const scale =
    DECIMAL_DIGITS + 2 + Math.max(0, y.coefficient.toString().length - x.coefficient.toString().length);
  let coefficient = (x.coefficient * 10n ** BigInt(scale)) / y.coefficient;
  let exponent = x.exponent - y.exponent - scale;
  const ideal = x.exponent - y.exponent;
  while (exponent < ideal && coefficient % 10n === 0n) {
    coefficient /= 10n;
    exponent += 1;
  }
  return fromDecimal({ coefficient, exponent });
}

export function isZero(value: Numeric): boolean {
  return compareNumbers(value, 0) === 0;
}

/** A whole number from a command's field such as `limit`, however the driver typed it. */
export function wholeNumber(value: Bson | undefined): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Double) return Number.isInteger(value.value) ? value.value : undefined;
  if (value instanceof Decimal128) {
    const number = Number(value.toString());
    return Number.isInteger(number) ? number : undefined;
  }
  return undefined;
}
