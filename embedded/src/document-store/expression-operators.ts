import { BSONRegExp, Decimal128, Double, ObjectId } from 'bson';
import { encodeDocument, regexOf } from './bson-codec.ts';
import { compareText, compareValues, equalValues } from './compare.ts';
import { dateOperators, formatDate, parseDate } from './date-operators.ts';
import { CommandError } from './errors.ts';
import { compile, type Evaluate, type Names } from './expression.ts';
import { keyText } from './index-keys.ts';
import {
  calculate,
  compareNumbers,
  divide,
  fromDecimal,
  isZero,
  toDecimal,
  wholeNumber,
  type Numeric,
} from './numbers.ts';
import { compileRegex } from './regex.ts';
import { sortArray } from './sort.ts';
import {
  asDouble,
  cloneDocument,
  getField,
  isDocument,
  isInt32,
  isNumeric,
  setField,
  toNumber,
  typeName,
  typeNumbers,
} from './values.ts';
import type { Bson, BsonDocument } from './values.ts';

type Value = Bson | undefined;
export type Operator = (operand: Bson, names: Names) => Evaluate;

/** An operator whose arguments are computed first: an array of them, or the one. */
export function simple(
  name: string,
  min: number,
  max: number,
  compute: (...values: Value[]) => Value,
): Operator {
  return (operand, names) => {
    const list = Array.isArray(operand) ? operand : [operand];
    if (list.length < min || list.length > max) {
      const wanted = min === max ? `exactly ${min}` : `at least ${min} and at most ${max}`;
      throw new CommandError(
        16020,
        `Expression ${name} takes ${wanted} arguments. ${list.length} were passed in.`,
      );
    }
    const parts = list.map((part) => compile(part, names));
    if (parts.length === 1 && max === 1) return (scope) => compute(parts[0]!(scope));
    if (parts.length === 2 && max === 2) return (scope) => compute(parts[0]!(scope), parts[1]!(scope));
    return (scope) => compute(...parts.map((part) => part(scope)));
  };
}

/** The named arguments of an operator, compiled. */
export function named(
  name: string,
  operand: Bson,
  names: Names,
  required: readonly string[],
  optional: readonly string[] = [],
): Record<string, Evaluate> {
  if (!isDocument(operand))
    throw new CommandError('FailedToParse', `${name} only supports an object as its argument`);
  for (const field in operand) {
    if (!required.includes(field) && !optional.includes(field))
      throw new CommandError('FailedToParse', `Unrecognized argument to ${name}: ${field}`);
  }
  const parts: Record<string, Evaluate> = {};
  for (const field of required) {
    if (!(field in operand))
      throw new CommandError('FailedToParse', `${name} requires '${field}' to be specified`);
  }
  for (const [field, value] of Object.entries(operand)) parts[field] = compile(value, names);
  return parts;
}

export function isNullish(value: Value): value is null | undefined {
  return value === null || value === undefined;
}

export function isTruthy(value: Value): boolean {
  if (isNullish(value) || value === false) return false;
  return !(isNumeric(value) && isZero(value));
}

function numberFor(name: string, value: Value): Numeric {
  if (!isNumeric(value))
    throw new CommandError('TypeMismatch', `${name} only supports numeric types, not ${typeName(value)}`);
  return value;
}

function arrayFor(name: string, value: Value): Bson[] {
  if (!Array.isArray(value))
    throw new CommandError(
      28689,
      `The argument of ${name} must be an array, but was of type: ${typeName(value)}`,
    );
  return value;
}

function textFor(name: string, value: Value): string {
  if (typeof value !== 'string')
    throw new CommandError(34471, `${name} requires a string argument, found: ${typeName(value)}`);
  return value;
}

function wholeFor(name: string, value: Value): number {
  const whole = wholeNumber(value);
  if (whole === undefined)
    throw new CommandError(28690, `${name} needs an integral argument, found: ${typeName(value)}`);
  return whole;
}

function add(...values: Value[]): Value {
  let sum: Numeric = 0;
  let date: Date | undefined;
  for (const value of values) {
    if (isNullish(value)) return null;
    if (value instanceof Date) {
      if (date) throw new CommandError(16612, 'only one date allowed in an $add expression');
      date = value;
    } else if (isNumeric(value)) {
      sum = calculate('add', sum, value, 'double');
    } else {
      throw new CommandError(
        'TypeMismatch',
        `$add only supports numeric or date types, not ${typeName(value)}`,
      );
    }
  }
  return date ? new Date(date.getTime() + Math.round(toNumber(sum)!)) : sum;
}

function subtract(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) return null;
  if (a instanceof Date) {
    if (b instanceof Date) return BigInt(a.getTime() - b.getTime());
    if (isNumeric(b)) return new Date(a.getTime() - Math.round(toNumber(b)!));
  }
  if (!isNumeric(a) || !isNumeric(b))
    throw new CommandError('TypeMismatch', `can't $subtract ${typeName(b)} from ${typeName(a)}`);
  return calculate('subtract', a, b, 'double');
}

function modulo(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) return null;
  if (!isNumeric(a) || !isNumeric(b))
    throw new CommandError(16611, `$mod only supports numeric types, not ${typeName(a)} and ${typeName(b)}`);
  if (isZero(b)) throw new CommandError(16610, "can't $mod by zero");
  if (a instanceof Decimal128 || b instanceof Decimal128) {
    const [x, y] = [toDecimal(a), toDecimal(b)];
    if (x.special || y.special) return fromDecimal({ coefficient: 0n, exponent: 0, special: 'nan' });
    const exponent = Math.min(x.exponent, y.exponent);
    const p = x.coefficient * 10n ** BigInt(x.exponent - exponent);
    const q = y.coefficient * 10n ** BigInt(y.exponent - exponent);
    return fromDecimal({ coefficient: p % q, exponent });
  }
  if (typeof a === 'bigint' || typeof b === 'bigint') {
    if (isWholeType(a) && isWholeType(b)) return BigInt(a) % BigInt(b);
  }
  const rest = toNumber(a)! % toNumber(b)!;
  return isWholeType(a) && isWholeType(b) ? rest + 0 : asDouble(rest);
}

function isWholeType(value: Numeric): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && isInt32(value));
}

/** A function of one number that whole numbers keep. */
function rounding(
  name: string,
  operation: (value: number) => number,
  decimal: (coefficient: bigint, divisor: bigint) => bigint,
): Operator {
  return simple(name, 1, 1, (value) => {
    if (isNullish(value)) return null;
    const number = numberFor(name, value);
    if (isWholeType(number)) return number;
    if (number instanceof Decimal128) {
      const { coefficient, exponent, special } = toDecimal(number);
      if (special || exponent >= 0) return number;
      return fromDecimal({ coefficient: decimal(coefficient, 10n ** BigInt(-exponent)), exponent: 0 });
    }
    return asDouble(operation(toNumber(number)!));
  });
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b !== 0n && a < 0n ? quotient - 1n : quotient;
}

function roundTo(name: string, halfEven: boolean): Operator {
  return simple(name, 1, 2, (value, digits) => {
    if (isNullish(value) || digits === null) return null;
    const number = numberFor(name, value);
    const place = digits === undefined ? 0 : wholeFor(name, digits);
    const { coefficient, exponent, special } = toDecimal(number);
    if (special || exponent >= -place) return number;
    const divisor = 10n ** BigInt(-exponent - place);
    let quotient = coefficient / divisor;
    if (halfEven) {
      const rest = coefficient % divisor;
      const twice = (rest < 0n ? -rest : rest) * 2n;
      if (twice > divisor || (twice === divisor && quotient % 2n !== 0n))
        quotient += coefficient < 0n ? -1n : 1n;
    }
    if (number instanceof Decimal128) return fromDecimal({ coefficient: quotient, exponent: -place });
    const whole = place >= 0 ? undefined : quotient * 10n ** BigInt(-place);
    if (isWholeType(number)) return typeof number === 'bigint' ? (whole ?? number) : Number(whole ?? number);
    return asDouble(Number(`${quotient}e${-place}`));
  });
}

/** A function of doubles, whose result is a double. */
function real(name: string, operation: (...values: number[]) => number, count = 1): Operator {
  return simple(name, count, count, (...values) => {
    if (values.some(isNullish)) return null;
    const numbers = values.map((value) => toNumber(numberFor(name, value))!);
    const result = operation(...numbers);
    return values.some((value) => value instanceof Decimal128)
      ? Decimal128.fromString(String(result))
      : asDouble(result);
  });
}

function comparison(name: string, test: (order: number) => boolean): Operator {
  return simple(name, 2, 2, (a, b) => test(compareValues(a, b)));
}

function codePoints(text: string): string[] {
  return [...text];
}

function toText(value: Value): string {
  if (isNullish(value)) return '';
  if (typeof value === 'string') return value;
  if (value instanceof Date) return formatDate(value, '%Y-%m-%dT%H:%M:%S.%LZ', 'UTC');
  if (isNumeric(value)) return numberText(value);
  throw new CommandError(16007, `can't convert from BSON type ${typeName(value)} to String`);
}

function numberText(value: Numeric): string {
  if (value instanceof Double) return String(value.value);
  return typeof value === 'object' ? value.toString() : String(value);
}

function caseFolded(name: string, fold: (text: string) => string): Operator {
  // MongoDB changes the case of ASCII letters only.
  return simple(name, 1, 1, (value) => toText(value).replace(/[A-Za-z]+/g, fold));
}

function trim(name: string, start: boolean, end: boolean): Operator {
  return (operand, names) => {
    const { input, chars } = named(name, operand, names, ['input'], ['chars']) as {
      input: Evaluate;
      chars?: Evaluate;
    };
    return (scope) => {
      const text = input(scope);
      if (isNullish(text)) return null;
      const set = chars
        ? chars(scope)
        : ' \t\n\v\f\r\0\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a';
      if (isNullish(set)) return null;
      const unwanted = new Set(codePoints(textFor(name, set)));
      const points = codePoints(textFor(name, text));
      let from = 0;
      let to = points.length;
      if (start) while (from < to && unwanted.has(points[from]!)) from++;
      if (end) while (to > from && unwanted.has(points[to - 1]!)) to--;
      return points.slice(from, to).join('');
    };
  };
}

function substringOfBytes(text: Value, start: Value, count: Value): Value {
  const bytes = Buffer.from(toText(text));
  const from = wholeFor('$substrBytes', start);
  const length = wholeFor('$substrBytes', count);
  if (from < 0) throw new CommandError(50752, '$substrBytes: starting index must be non-negative');
  const to = length < 0 ? bytes.length : from + length;
  if (isContinuation(bytes[from]))
    throw new CommandError(
      28656,
      '$substrBytes: Invalid range, starting index is a UTF-8 continuation byte.',
    );
  if (to < bytes.length && isContinuation(bytes[to]))
    throw new CommandError(
      28657,
      '$substrBytes: Invalid range, ending index is in the middle of a UTF-8 character.',
    );
  return bytes.toString('utf8', from, to);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function indexOf(name: string, length: (text: string) => number): Operator {
  return simple(name, 2, 4, (text, part, start, end) => {
    if (isNullish(text)) return null;
    const units =
      name === '$indexOfCP' ? codePoints(textFor(name, text)) : [...Buffer.from(textFor(name, text))];
    const wanted =
      name === '$indexOfCP' ? codePoints(textFor(name, part)) : [...Buffer.from(textFor(name, part))];
    const from = start === undefined ? 0 : wholeFor(name, start);
    const to = Math.min(end === undefined ? length(text as string) : wholeFor(name, end), units.length);
    for (let i = from; i + wanted.length <= to; i++)
      if (wanted.every((unit, j) => units[i + j] === unit)) return i;
    return -1;
  });
}

function regexArguments(
  name: string,
  operand: Bson,
  names: Names,
): (scope: Parameters<Evaluate>[0]) => { text: string; regex: RegExp } | undefined {
  const { input, regex, options } = named(name, operand, names, ['input', 'regex'], ['options']) as {
    input: Evaluate;
    regex: Evaluate;
    options?: Evaluate;
  };
  return (scope) => {
    const text = input(scope);
    const pattern = regex(scope);
    const flags = options?.(scope);
    if (isNullish(text) || isNullish(pattern)) return undefined;
    const source =
      pattern instanceof BSONRegExp
        ? regexOf(pattern.pattern, isNullish(flags) ? pattern.options : textFor(name, flags))
        : regexOf(textFor(name, pattern), isNullish(flags) ? '' : textFor(name, flags));
    return { text: textFor(name, text), regex: compileRegex(source) };
  };
}

function regexMatch(match: RegExpMatchArray | RegExpExecArray, text: string): BsonDocument {
  return {
    match: match[0],
    idx: codePoints(text.slice(0, match.index)).length,
    captures: match.slice(1).map((capture) => capture ?? null),
  };
}

function convert(value: Value, to: string): Value {
  if (isNullish(value)) return null;
  const from = typeName(value);
  const fail = (): never => {
    throw new CommandError(
      241,
      `Unsupported conversion from ${from} to ${to} in $convert with no onError value`,
    );
  };
  const outOfRange = (): never => {
    throw new CommandError(
      241,
      `Conversion would overflow target type in $convert with no onError value: ${toText(value)}`,
    );
  };
  switch (to) {
    case 'string':
      if (typeof value === 'boolean') return String(value);
      if (value instanceof ObjectId) return value.toHexString();
      return typeof value === 'string' || value instanceof Date || isNumeric(value) ? toText(value) : fail();
    case 'bool':
      return isNumeric(value) ? !isZero(value) : typeof value === 'boolean' ? value : true;
    case 'double':
    case 'decimal': {
      let number: Numeric;
      if (typeof value === 'boolean') number = value ? 1 : 0;
      else if (value instanceof Date) number = BigInt(value.getTime());
      else if (isNumeric(value)) number = value;
      else if (typeof value === 'string') {
        if (!/^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN)$/.test(value))
          return parseFailure(value);
        number = to === 'decimal' ? Decimal128.fromString(value) : asDouble(Number(value));
      } else return fail();
      if (to === 'double') return asDouble(toNumber(number)!);
      return number instanceof Decimal128 ? number : fromDecimal(toDecimal(number));
    }
    case 'int':
    case 'long': {
      let whole: bigint;
      if (typeof value === 'boolean') whole = value ? 1n : 0n;
      else if (value instanceof Date && to === 'long') whole = BigInt(value.getTime());
      else if (typeof value === 'bigint') whole = value;
      else if (value instanceof Decimal128) {
        const { coefficient, exponent, special } = toDecimal(value);
        if (special) return outOfRange();
        whole =
          exponent >= 0 ? coefficient * 10n ** BigInt(exponent) : coefficient / 10n ** BigInt(-exponent);
      } else if (isNumeric(value)) {
        const number = toNumber(value)!;
        if (!Number.isFinite(number)) return outOfRange();
        whole = BigInt(Math.trunc(number));
      } else if (typeof value === 'string') {
        if (!/^[+-]?\d+$/.test(value)) return parseFailure(value);
        whole = BigInt(value.replace(/^\+/, ''));
      } else return fail();
      if (to === 'int') return whole >= -(2n ** 31n) && whole < 2n ** 31n ? Number(whole) : outOfRange();
      return whole >= -(2n ** 63n) && whole < 2n ** 63n ? whole : outOfRange();
    }
    case 'date':
      if (value instanceof Date) return value;
      if (value instanceof ObjectId) return value.getTimestamp();
      if (typeof value === 'string') return parseDate(value, undefined, 'UTC');
      if (isNumeric(value) && from !== 'int') return new Date(Math.trunc(toNumber(value)!));
      return fail();
    case 'objectId':
      if (value instanceof ObjectId) return value;
      if (typeof value !== 'string') return fail();
      if (!/^[0-9a-fA-F]{24}$/.test(value)) return parseFailure(value);
      return new ObjectId(value);
    default:
      return fail();
  }
}

function parseFailure(value: string): never {
  throw new CommandError('ConversionFailure', `Failed to parse '${value}' in $convert with no onError value`);
}

function withVariables(names: Names, ...added: string[]): Names {
  return { constants: names.constants, local: new Set([...names.local, ...added]) };
}

function setOf(name: string, value: Value): Map<string, Bson> {
  const set = new Map<string, Bson>();
  for (const element of arrayFor(name, value)) set.set(keyText(element), element);
  return set;
}

/** Sum, average and the like over a list of values or the one array given. */
function overList(name: string, compute: (values: readonly Value[]) => Value): Operator {
  return (operand, names) => {
    const parts = (Array.isArray(operand) ? operand : [operand]).map((part) => compile(part, names));
    return (scope) => {
      const values = parts.map((part) => part(scope));
      return compute(values.length === 1 && Array.isArray(values[0]) ? values[0] : values);
    };
  };
}

export function sum(values: readonly Value[]): Numeric {
  let total: Numeric = 0;
  for (const value of values) if (isNumeric(value)) total = calculate('add', total, value, 'double');
  return total;
}

export function average(values: readonly Value[]): Bson {
  const numbers = values.filter(isNumeric);
  return numbers.length === 0 ? null : divide(sum(numbers), numbers.length);
}

export function standardDeviation(values: readonly Value[], sample: boolean): Bson {
  const numbers = values.filter(isNumeric).map((value) => toNumber(value)!);
  const divisor = sample ? numbers.length - 1 : numbers.length;
  if (divisor <= 0) return null;
  const mean = numbers.reduce((total, value) => total + value, 0) / numbers.length;
  return asDouble(Math.sqrt(numbers.reduce((total, value) => total + (value - mean) ** 2, 0) / divisor));
}

/** The least or greatest; missing values and nulls do not count. */
export function extreme(values: readonly Value[], direction: 1 | -1): Bson {
  let found: Value;
  for (const value of values) {
    if (isNullish(value)) continue;
    if (found === undefined || compareValues(value, found) * direction < 0) found = value;
  }
  return found ?? null;
}

function firstOrLast(name: string, at: 0 | -1): Operator {
  return simple(name, 1, 1, (value) => (isNullish(value) ? null : arrayFor(name, value).at(at)));
}

function someOf(name: string, pick: (values: Bson[], count: number) => Bson[]): Operator {
  return (operand, names) => {
    const { n, input } = named(name, operand, names, ['n', 'input']) as { n: Evaluate; input: Evaluate };
    return (scope) => {
      const count = wholeFor(name, n(scope));
      if (count <= 0) throw new CommandError(5787908, `'n' must be greater than 0, found ${count}`);
      return pick(arrayFor(name, input(scope)), count);
    };
  };
}

export function extremes(values: readonly Value[], count: number, direction: 1 | -1): Bson[] {
  const present = values.filter((value) => !isNullish(value)) as Bson[];
  return present.sort((a, b) => compareValues(a, b) * direction).slice(0, count);
}

/** Aggregation's expression operators by name. What is not here is refused as MongoDB refuses what it does not know. */
export const operators: Record<string, Operator> = {
  $literal: (operand) => () => operand,
  $const: (operand) => () => operand,

  $add: simple('$add', 0, Infinity, add),
  $subtract: simple('$subtract', 2, 2, subtract),
  $multiply: simple('$multiply', 0, Infinity, (...values) => {
    if (values.some(isNullish)) return null;
    return values.reduce<Numeric>(
      (product, value) => calculate('multiply', product, numberFor('$multiply', value), 'double'),
      1,
    );
  }),
  $divide: simple('$divide', 2, 2, (a, b) => {
    if (isNullish(a) || isNullish(b)) return null;
    const [dividend, divisor] = [numberFor('$divide', a), numberFor('$divide', b)];
    if (isZero(divisor)) throw new CommandError('BadValue', "can't $divide by zero");
    return divide(dividend, divisor);
  }),
  $mod: simple('$mod', 2, 2, modulo),
  $abs: simple('$abs', 1, 1, (value) => {
    if (isNullish(value)) return null;
    const number = numberFor('$abs', value);
    return compareNumbers(number, 0) < 0 ? calculate('subtract', 0, number, 'double') : number;
  }),
  $ceil: rounding('$ceil', Math.ceil, (a, b) => -floorDivide(-a, b)),
  $floor: rounding('$floor', Math.floor, floorDivide),
  $round: roundTo('$round', true),
  $trunc: roundTo('$trunc', false),
  $sqrt: real('$sqrt', (value) => {
    if (value < 0) throw new CommandError(28714, '$sqrt argument must be greater than or equal to 0');
    return Math.sqrt(value);
  }),
  $pow: simple('$pow', 2, 2, (a, b) => {
    if (isNullish(a) || isNullish(b)) return null;
    const [base, exponent] = [numberFor('$pow', a), numberFor('$pow', b)];
    if (isWholeType(base) && isWholeType(exponent) && exponent >= 0) {
      const power =
        Number(exponent) > 64 && base !== 0 && base !== 1 && base !== -1
          ? undefined
          : BigInt(base) ** BigInt(exponent);
      if (power !== undefined && power < 2n ** 63n && power >= -(2n ** 63n)) {
        return typeof base === 'number' && typeof exponent === 'number' && isInt32(Number(power))
          ? Number(power)
          : power;
      }
    }
    if (isZero(base) && compareNumbers(exponent, 0) < 0)
      throw new CommandError(28764, '$pow cannot take a base of 0 and a negative exponent');
    return asDouble(toNumber(base)! ** toNumber(exponent)!);
  }),
  $exp: real('$exp', Math.exp),
  $ln: real('$ln', (value) => {
    if (value <= 0) throw new CommandError(28766, "$ln's argument must be a positive number");
    return Math.log(value);
  }),
  $log10: real('$log10', (value) => {
    if (value <= 0) throw new CommandError(28761, "$log10's argument must be a positive number");
    return Math.log10(value);
  }),
  $log: real(
    '$log',
    (value, base) => {
      if (value <= 0 || base! <= 0 || base === 1)
        throw new CommandError(28758, '$log needs a positive number, and a positive base other than 1');
      return Math.log(value) / Math.log(base!);
    },
    2,
  ),
  $bitAnd: simple('$bitAnd', 0, Infinity, (...values) => bitwise('$bitAnd', values, -1n, (a, b) => a & b)),
  $bitOr: simple('$bitOr', 0, Infinity, (...values) => bitwise('$bitOr', values, 0n, (a, b) => a | b)),
  $bitXor: simple('$bitXor', 0, Infinity, (...values) => bitwise('$bitXor', values, 0n, (a, b) => a ^ b)),
  $rand: () => () => Math.random(),

  $eq: comparison('$eq', (order) => order === 0),
  $ne: comparison('$ne', (order) => order !== 0),
  $gt: comparison('$gt', (order) => order > 0),
  $gte: comparison('$gte', (order) => order >= 0),
  $lt: comparison('$lt', (order) => order < 0),
  $lte: comparison('$lte', (order) => order <= 0),
  $cmp: simple('$cmp', 2, 2, (a, b) => Math.sign(compareValues(a, b))),

  $and: logical('$and'),
  $or: logical('$or'),
  $not: simple('$not', 1, 1, (value) => !isTruthy(value)),
  $cond: (operand, names) => {
    const list = Array.isArray(operand) ? operand : undefined;
    if (list && list.length !== 3)
      throw new CommandError(
        16020,
        `Expression $cond takes exactly 3 arguments. ${list.length} were passed in.`,
      );
    const parts = list
      ? { if: compile(list[0]!, names), then: compile(list[1]!, names), else: compile(list[2]!, names) }
      : (named('$cond', operand, names, ['if', 'then', 'else']) as {
          if: Evaluate;
          then: Evaluate;
          else: Evaluate;
        });
    return (scope) => (isTruthy(parts.if(scope)) ? parts.then(scope) : parts.else(scope));
  },
  $ifNull: (operand, names) => {
    if (!Array.isArray(operand) || operand.length < 2)
      throw new CommandError(1257300, '$ifNull needs at least two arguments');
    const parts = operand.map((part) => compile(part, names));
    return (scope) => {
      let value: Value;
      for (const part of parts) {
        value = part(scope);
        if (!isNullish(value)) return value;
      }
      return value;
    };
  },
  $switch: (operand, names) => {
    if (!isDocument(operand) || !Array.isArray(operand.branches) || operand.branches.length === 0)
      throw new CommandError(40068, '$switch requires at least one branch.');
    const branches = operand.branches.map(
      (branch) => named('$switch', branch, names, ['case', 'then']) as { case: Evaluate; then: Evaluate },
    );
    const otherwise = operand.default === undefined ? undefined : compile(operand.default, names);
    return (scope) => {
      for (const branch of branches) if (isTruthy(branch.case(scope))) return branch.then(scope);
      if (!otherwise)
        throw new CommandError(
          40066,
          '$switch could not find a matching branch for an input, and no default was specified.',
        );
      return otherwise(scope);
    };
  },

  $let: (operand, names) => {
    if (!isDocument(operand) || !isDocument(operand.vars) || operand.in === undefined)
      throw new CommandError(16876, "$let needs 'vars' and 'in'");
    const variables = Object.entries(operand.vars).map(
      ([name, value]) => [name, compile(value, names)] as const,
    );
    const result = compile(operand.in, withVariables(names, ...variables.map(([name]) => name)));
    return (scope) => {
      const local: Record<string, Value> = { ...scope.variables };
      for (const [name, evaluate] of variables) local[name] = evaluate(scope);
      return result({ root: scope.root, variables: local });
    };
  },
  $map: (operand, names) => {
    if (!isDocument(operand) || operand.in === undefined)
      throw new CommandError(16882, "Missing 'in' parameter to $map");
    const as = typeof operand.as === 'string' ? operand.as : 'this';
    const input = compile(operand.input ?? null, names);
    const each = compile(operand.in, withVariables(names, as));
    return (scope) => {
      const array = input(scope);
      if (isNullish(array)) return null;
      return arrayFor('$map', array).map(
        (element) => each({ root: scope.root, variables: { ...scope.variables, [as]: element } }) ?? null,
      );
    };
  },
  $filter: (operand, names) => {
    if (!isDocument(operand) || operand.cond === undefined)
      throw new CommandError(28648, "Missing 'cond' parameter to $filter");
    const as = typeof operand.as === 'string' ? operand.as : 'this';
    const input = compile(operand.input ?? null, names);
    const limit = operand.limit === undefined ? undefined : compile(operand.limit, names);
    const test = compile(operand.cond, withVariables(names, as));
    return (scope) => {
      const array = input(scope);
      if (isNullish(array)) return null;
      const most = limit?.(scope);
      const kept = arrayFor('$filter', array).filter((element) =>
        isTruthy(test({ root: scope.root, variables: { ...scope.variables, [as]: element } })),
      );
      return isNullish(most) ? kept : kept.slice(0, wholeFor('$filter', most));
    };
  },
  $reduce: (operand, names) => {
    if (!isDocument(operand) || operand.in === undefined || operand.initialValue === undefined)
      throw new CommandError(40077, "$reduce requires 'input', 'initialValue' and 'in' to be specified");
    const input = compile(operand.input ?? null, names);
    const initial = compile(operand.initialValue, names);
    const each = compile(operand.in, withVariables(names, 'this', 'value'));
    return (scope) => {
      const array = input(scope);
      if (isNullish(array)) return null;
      let value = initial(scope);
      for (const element of arrayFor('$reduce', array))
        value = each({ root: scope.root, variables: { ...scope.variables, this: element, value } });
      return value;
    };
  },

  $isArray: simple('$isArray', 1, 1, (value) => Array.isArray(value)),
  $size: simple('$size', 1, 1, (value) => {
    if (!Array.isArray(value))
      throw new CommandError(
        17124,
        `The argument to $size must be an array, but was of type: ${typeName(value)}`,
      );
    return value.length;
  }),
  $arrayElemAt: simple('$arrayElemAt', 2, 2, (value, at) => {
    if (isNullish(value) || isNullish(at)) return null;
    return arrayFor('$arrayElemAt', value).at(wholeFor('$arrayElemAt', at));
  }),
  $first: firstOrLast('$first', 0),
  $last: firstOrLast('$last', -1),
  $firstN: someOf('$firstN', (values, count) => values.slice(0, count)),
  $lastN: someOf('$lastN', (values, count) => values.slice(-count)),
  $minN: someOf('$minN', (values, count) => extremes(values, count, 1)),
  $maxN: someOf('$maxN', (values, count) => extremes(values, count, -1)),
  $concatArrays: simple('$concatArrays', 0, Infinity, (...values) =>
    values.some(isNullish) ? null : values.flatMap((value) => arrayFor('$concatArrays', value)),
  ),
  $slice: simple('$slice', 2, 3, (value, a, b) => {
    if (isNullish(value) || isNullish(a) || b === null) return null;
    const array = arrayFor('$slice', value);
    const first = wholeFor('$slice', a);
    if (b === undefined) return first >= 0 ? array.slice(0, first) : array.slice(first);
    const count = wholeFor('$slice', b);
    if (count <= 0) throw new CommandError(28729, `Third argument to $slice must be positive: ${count}`);
    const from = first >= 0 ? first : Math.max(0, array.length + first);
    return array.slice(from, from + count);
  }),
  $in: simple('$in', 2, 2, (value, array) => {
    if (!Array.isArray(array))
      throw new CommandError(40081, `$in requires an array as a second argument, found: ${typeName(array)}`);
    return array.some((element) => equalValues(element, value));
  }),
  $indexOfArray: simple('$indexOfArray', 2, 4, (array, value, start, end) => {
    if (isNullish(array)) return null;
    const from = start === undefined ? 0 : wholeFor('$indexOfArray', start);
    const to = end === undefined ? Infinity : wholeFor('$indexOfArray', end);
    return arrayFor('$indexOfArray', array).findIndex(
      (element, i) => i >= from && i < to && equalValues(element, value),
    );
  }),
  $reverseArray: simple('$reverseArray', 1, 1, (value) =>
    isNullish(value) ? null : [...arrayFor('$reverseArray', value)].reverse(),
  ),
  $range: simple('$range', 2, 3, (start, end, step) => {
    const [from, to, by] = [
      wholeFor('$range', start),
      wholeFor('$range', end),
      step === undefined ? 1 : wholeFor('$range', step),
    ];
    if (by === 0) throw new CommandError(34449, '$range requires a non-zero step value');
    if ((to - from) / by > 1_000_000) throw new CommandError('OperationFailed', '$range would be too long');
    const values: Bson[] = [];
    for (let value = from; by > 0 ? value < to : value > to; value += by) values.push(value);
    return values;
  }),
  $zip: (operand, names) => {
    if (!isDocument(operand) || !Array.isArray(operand.inputs))
      throw new CommandError(34461, "$zip needs an array of 'inputs'");
    const inputs = operand.inputs.map((input) => compile(input, names));
    const longest = operand.useLongestLength === true;
    const defaults = operand.defaults === undefined ? undefined : compile(operand.defaults, names);
    return (scope) => {
      const arrays = inputs.map((input) => input(scope));
      if (arrays.some(isNullish)) return null;
      const lists = arrays.map((array) => arrayFor('$zip', array));
      const fill = defaults?.(scope);
      const length = longest
        ? Math.max(...lists.map((list) => list.length))
        : Math.min(...lists.map((list) => list.length));
      return Array.from({ length }, (_, i) =>
        lists.map((list, j) => list[i] ?? (Array.isArray(fill) ? fill[j] : undefined) ?? null),
      );
    };
  },
  $sortArray: (operand, names) => {
    if (!isDocument(operand) || operand.input === undefined || operand.sortBy === undefined)
      throw new CommandError(2942500, "$sortArray requires 'input' and 'sortBy'");
    const input = compile(operand.input, names);
    const by = operand.sortBy;
    return (scope) => {
      const array = input(scope);
      if (isNullish(array)) return null;
      const sorted = [...arrayFor('$sortArray', array)];
      sortArray(sorted, by);
      return sorted;
    };
  },
  $arrayToObject: simple('$arrayToObject', 1, 1, (value) => {
    if (isNullish(value)) return null;
    const document: BsonDocument = {};
    for (const pair of arrayFor('$arrayToObject', value)) {
      const [key, inner] = Array.isArray(pair) ? pair : isDocument(pair) ? [pair.k, pair.v] : [];
      if (typeof key !== 'string' || inner === undefined)
        throw new CommandError(40386, '$arrayToObject needs pairs of a string and a value');
      setField(document, key, inner);
    }
    return document;
  }),
  $objectToArray: simple('$objectToArray', 1, 1, (value) => {
    if (isNullish(value)) return null;
    if (!isDocument(value))
      throw new CommandError(40390, `$objectToArray requires a document input, found: ${typeName(value)}`);
    return Object.entries(value).map(([k, v]) => ({ k, v }));
  }),
  $mergeObjects: overList('$mergeObjects', mergeObjects),
  $getField: (operand, names) => {
    const parts =
      isDocument(operand) && 'field' in operand ? operand : { field: operand, input: '$$CURRENT' };
    const field = compile(typeof parts.field === 'string' ? { $literal: parts.field } : parts.field!, names);
    const input = compile(parts.input ?? '$$CURRENT', names);
    return (scope) => {
      const value = input(scope);
      const name = field(scope);
      if (typeof name !== 'string')
        throw new CommandError(5654602, '$getField requires a string as its field');
      return isDocument(value) ? getField(value, name) : value === null ? null : undefined;
    };
  },
  $setField: (operand, names) => {
    const { field, input, value } = named('$setField', operand, names, ['field', 'input', 'value']) as {
      field: Evaluate;
      input: Evaluate;
      value: Evaluate;
    };
    return (scope) => {
      const document = input(scope);
      if (isNullish(document)) return null;
      if (!isDocument(document))
        throw new CommandError(4161105, '$setField requires a document as its input');
      const copy = cloneDocument(document);
      const inner = value(scope);
      const name = textFor('$setField', field(scope));
      if (inner === undefined) delete copy[name];
      else setField(copy, name, inner);
      return copy;
    };
  },

  $setUnion: simple('$setUnion', 0, Infinity, (...values) => {
    if (values.some(isNullish)) return null;
    return sortedSet(new Map(values.flatMap((value) => [...setOf('$setUnion', value)])));
  }),
  $setIntersection: simple('$setIntersection', 0, Infinity, (...values) => {
    if (values.some(isNullish)) return null;
    const sets = values.map((value) => setOf('$setIntersection', value));
    return sortedSet(new Map([...(sets[0] ?? [])].filter(([key]) => sets.every((set) => set.has(key)))));
  }),
  $setDifference: simple('$setDifference', 2, 2, (a, b) => {
    if (isNullish(a) || isNullish(b)) return null;
    const without = setOf('$setDifference', b);
    return [...setOf('$setDifference', a)].filter(([key]) => !without.has(key)).map(([, value]) => value);
  }),
  $setEquals: simple('$setEquals', 2, Infinity, (...values) => {
    const [first, ...others] = values.map((value) => setOf('$setEquals', value));
    return others.every((set) => set.size === first!.size && [...set.keys()].every((key) => first!.has(key)));
  }),
  $setIsSubset: simple('$setIsSubset', 2, 2, (a, b) => {
    const whole = setOf('$setIsSubset', b);
    return [...setOf('$setIsSubset', a).keys()].every((key) => whole.has(key));
  }),
  $anyElementTrue: simple('$anyElementTrue', 1, 1, (value) =>
    arrayFor('$anyElementTrue', value).some(isTruthy),
  ),
  $allElementsTrue: simple('$allElementsTrue', 1, 1, (value) =>
    arrayFor('$allElementsTrue', value).every(isTruthy),
  ),

  $concat: simple('$concat', 0, Infinity, (...values) => {
    if (values.some(isNullish)) return null;
    return values
      .map((value) => {
        if (typeof value !== 'string')
          throw new CommandError(16702, `$concat only supports strings, not ${typeName(value)}`);
        return value;
      })
      .join('');
  }),
  $toLower: caseFolded('$toLower', (text) => text.toLowerCase()),
  $toUpper: caseFolded('$toUpper', (text) => text.toUpperCase()),
  $strcasecmp: simple('$strcasecmp', 2, 2, (a, b) =>
    Math.sign(compareText(toText(a).toUpperCase(), toText(b).toUpperCase())),
  ),
  $substr: simple('$substr', 3, 3, substringOfBytes),
  $substrBytes: simple('$substrBytes', 3, 3, substringOfBytes),
  $substrCP: simple('$substrCP', 3, 3, (text, start, count) => {
    const from = wholeFor('$substrCP', start);
    return codePoints(toText(text))
      .slice(from, from + wholeFor('$substrCP', count))
      .join('');
  }),
  $strLenCP: simple('$strLenCP', 1, 1, (value) => codePoints(textFor('$strLenCP', value)).length),
  $strLenBytes: simple('$strLenBytes', 1, 1, (value) => Buffer.byteLength(textFor('$strLenBytes', value))),
  $split: simple('$split', 2, 2, (value, separator) => {
    if (isNullish(value) || isNullish(separator)) return null;
    if (separator === '') throw new CommandError(40087, '$split requires a non-empty separator');
    return textFor('$split', value).split(textFor('$split', separator));
  }),
  $trim: trim('$trim', true, true),
  $ltrim: trim('$ltrim', true, false),
  $rtrim: trim('$rtrim', false, true),
  $indexOfCP: indexOf('$indexOfCP', (text) => codePoints(text).length),
  $indexOfBytes: indexOf('$indexOfBytes', (text) => Buffer.byteLength(text)),
  $regexMatch: (operand, names) => {
    const parts = regexArguments('$regexMatch', operand, names);
    return (scope) => {
      const found = parts(scope);
      return found !== undefined && found.regex.test(found.text);
    };
  },
  $regexFind: (operand, names) => {
    const parts = regexArguments('$regexFind', operand, names);
    return (scope) => {
      const found = parts(scope);
      const match = found?.regex.exec(found.text);
      return found && match ? regexMatch(match, found.text) : null;
    };
  },
  $regexFindAll: (operand, names) => {
    const parts = regexArguments('$regexFindAll', operand, names);
    return (scope) => {
      const found = parts(scope);
      if (!found) return [];
      const everywhere = new RegExp(found.regex.source, `${found.regex.flags}g`);
      return [...found.text.matchAll(everywhere)].map((match) => regexMatch(match, found.text));
    };
  },
  $replaceOne: replacing('$replaceOne', (text, find, replacement) => text.replace(find, () => replacement)),
  $replaceAll: replacing('$replaceAll', (text, find, replacement) =>
    text.replaceAll(find, () => replacement),
  ),

  $type: simple('$type', 1, 1, (value) => typeName(value)),
  $isNumber: simple('$isNumber', 1, 1, (value) => isNumeric(value)),
  $toString: simple('$toString', 1, 1, (value) => convert(value, 'string')),
  $toBool: simple('$toBool', 1, 1, (value) => convert(value, 'bool')),
  $toInt: simple('$toInt', 1, 1, (value) => convert(value, 'int')),
  $toLong: simple('$toLong', 1, 1, (value) => convert(value, 'long')),
  $toDouble: simple('$toDouble', 1, 1, (value) => convert(value, 'double')),
  $toDecimal: simple('$toDecimal', 1, 1, (value) => convert(value, 'decimal')),
  $toDate: simple('$toDate', 1, 1, (value) => convert(value, 'date')),
  $toObjectId: simple('$toObjectId', 1, 1, (value) => convert(value, 'objectId')),
  $convert: (operand, names) => {
    const { input, to, onError, onNull } = named(
      '$convert',
      operand,
      names,
      ['input', 'to'],
      ['onError', 'onNull'],
    ) as { input: Evaluate; to: Evaluate; onError?: Evaluate; onNull?: Evaluate };
    return (scope) => {
      const value = input(scope);
      if (isNullish(value)) return onNull ? onNull(scope) : null;
      const target = to(scope);
      const name =
        typeof target === 'string'
          ? target
          : Object.keys(typeNumbers).find((type) => typeNumbers[type] === toNumber(target));
      if (name === undefined) return null;
      try {
        return convert(value, name);
      } catch (error) {
        if (onError && error instanceof CommandError) return onError(scope);
        throw error;
      }
    };
  },
  $bsonSize: simple('$bsonSize', 1, 1, (value) => {
    if (isNullish(value)) return null;
    if (!isDocument(value))
      throw new CommandError(31393, `$bsonSize requires a document input, found: ${typeName(value)}`);
    return encodeDocument(value).length;
  }),
  $binarySize: simple('$binarySize', 1, 1, (value) => {
    if (isNullish(value)) return null;
    return typeof value === 'string' ? Buffer.byteLength(value) : (value as { position: number }).position;
  }),

  $sum: overList('$sum', sum),
  $avg: overList('$avg', average),
  $min: overList('$min', (values) => extreme(values, 1)),
  $max: overList('$max', (values) => extreme(values, -1)),
  $stdDevPop: overList('$stdDevPop', (values) => standardDeviation(values, false)),
  $stdDevSamp: overList('$stdDevSamp', (values) => standardDeviation(values, true)),

  ...dateOperators,
};

function logical(name: '$and' | '$or'): Operator {
  return (operand, names) => {
    const parts = (Array.isArray(operand) ? operand : [operand]).map((part) => compile(part, names));
    return name === '$and'
      ? (scope) => parts.every((part) => isTruthy(part(scope)))
      : (scope) => parts.some((part) => isTruthy(part(scope)));
  };
}

function bitwise(
  name: string,
  values: readonly Value[],
  start: bigint,
  operation: (a: bigint, b: bigint) => bigint,
): Value {
  if (values.some(isNullish)) return null;
  let long = false;
  let result = start;
  for (const value of values) {
    if (!isNumeric(value) || !isWholeType(value))
      throw new CommandError('TypeMismatch', `${name} only supports int and long operands.`);
    long ||= typeof value === 'bigint';
    result = operation(result, BigInt(value));
  }
  return long ? result : Number(result);
}

export function mergeObjects(values: readonly Value[]): Bson {
  const merged: BsonDocument = {};
  for (const value of values) {
    if (isNullish(value)) continue;
    if (!isDocument(value))
      throw new CommandError(
        40400,
        `$mergeObjects requires object inputs, but input is of type ${typeName(value)}`,
      );
    for (const field in value) setField(merged, field, value[field]!);
  }
  return merged;
}

function replacing(
  name: string,
  replace: (text: string, find: string, replacement: string) => string,
): Operator {
  return (operand, names) => {
    const { input, find, replacement } = named(name, operand, names, ['input', 'find', 'replacement']) as {
      input: Evaluate;
      find: Evaluate;
      replacement: Evaluate;
    };
    return (scope) => {
      const values = [input(scope), find(scope), replacement(scope)];
      if (values.some(isNullish)) return null;
      const [text, wanted, by] = values.map((value) => textFor(name, value)) as [string, string, string];
      return replace(text, wanted, by);
    };
  };
}

function sortedSet(set: Map<string, Bson>): Bson[] {
  return [...set.values()].sort(compareValues);
}
