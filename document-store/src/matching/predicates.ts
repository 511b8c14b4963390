import { BSONRegExp, Binary } from 'bson';
import { compareValues, equalValues } from '../bson/compare.ts';
import type { Predicate, ValueTest } from './filter.ts';
import { elemMatchIndex } from './matcher.ts';
import { wholeNumber } from '../bson/numbers.ts';
import { isNumeric, rankOf, toNumber, typeName, typeRank, type Bson } from '../bson/values.ts';

/** The number without its fraction; undefined for values that are no finite number. */
export function toWhole(value: Bson | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  const number = toNumber(value);
  return number === undefined || !Number.isFinite(number) ? undefined : BigInt(Math.trunc(number));
}

/** Binary data as a little-endian number. */
export function bitsOf(value: Binary): bigint {
  const bytes = Buffer.from(value.buffer.subarray(0, value.position)).reverse();
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

export function valueTest(predicate: Predicate): ValueTest {
  switch (predicate.kind) {
    case 'eq': {
      const { value } = predicate;
      if (value === null) return (candidate) => candidate === null || candidate === undefined;
      if (typeof value === 'string') return (candidate) => candidate === value;
      const rank = rankOf(value);
      return (candidate) =>
        candidate !== undefined && rankOf(candidate) === rank && compareValues(candidate, value) === 0;
    }
    case 'gt':
      return ordered(predicate.value, false, (order) => order > 0);
    case 'gte':
      return ordered(predicate.value, true, (order) => order >= 0);
    case 'lt':
      return ordered(predicate.value, false, (order) => order < 0);
    case 'lte':
      return ordered(predicate.value, true, (order) => order <= 0);
    case 'in': {
      const { values, regexes } = predicate;
      return (candidate) =>
        includes(values, candidate ?? null) ||
        regexes.some(({ source, regex }) => matchesRegex(candidate, source, regex));
    }
    case 'regex':
      return (candidate) => matchesRegex(candidate, predicate.source, predicate.regex);
    case 'exists':
      return (candidate) => candidate !== undefined;
    case 'type':
      return (candidate) => candidate !== undefined && predicate.types.has(typeName(candidate));
    case 'mod':
      return (candidate) => {
        const number = isNumeric(candidate) ? toWhole(candidate) : undefined;
        return number !== undefined && number % predicate.divisor === predicate.remainder;
      };
    case 'bits':
      return (candidate) => bitsMatch(candidate, predicate.test, predicate.mask);
    case 'size':
      return (candidate) => Array.isArray(candidate) && candidate.length === predicate.size;
    case 'elemMatchObject':
    case 'elemMatchValue':
      return (candidate) => Array.isArray(candidate) && elemMatchIndex(predicate, candidate) >= 0;
  }
}

/** Ordered comparison happens within one type only; the ends of the order compare with everything. */
function ordered(bound: Bson, withEqual: boolean, test: (order: number) => boolean): ValueTest {
  const rank = rankOf(bound);
  if (rank === typeRank.null)
    return (candidate) => withEqual && (candidate === null || candidate === undefined);
  if (rank === typeRank.minKey || rank === typeRank.maxKey) {
    return (candidate) => candidate !== undefined && test(compareValues(candidate, bound));
  }
  const boundIsNaN = rank === typeRank.number && Number.isNaN(toNumber(bound));
  return (candidate) => {
    if (candidate === undefined || rankOf(candidate) !== rank) return false;
    const order = compareValues(candidate, bound);
    if (rank === typeRank.number && order !== 0 && (boundIsNaN || Number.isNaN(toNumber(candidate))))
      return false;
    return test(order);
  };
}

function includes(sorted: readonly Bson[], candidate: Bson): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compareValues(sorted[middle], candidate);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

function matchesRegex(candidate: Bson | undefined, source: BSONRegExp, regex: RegExp): boolean {
  if (typeof candidate === 'string') return regex.test(candidate);
  return candidate instanceof BSONRegExp && equalValues(candidate, source);
}

function bitsMatch(candidate: Bson | undefined, test: string, mask: bigint): boolean {
  let bits: bigint;
  if (candidate instanceof Binary) {
    bits = bitsOf(candidate);
  } else {
    const number = isNumeric(candidate)
      ? typeof candidate === 'bigint'
        ? candidate
        : wholeNumber(candidate)
      : undefined;
    if (number === undefined || (typeof number === 'number' && Math.abs(number) > 2 ** 63)) return false;
    bits = BigInt(number);
  }
  switch (test) {
    case 'allSet':
      return (bits & mask) === mask;
    case 'anySet':
      return (bits & mask) !== 0n;
    case 'allClear':
      return (bits & mask) === 0n;
    default:
      return (bits & mask) !== mask;
  }
}
