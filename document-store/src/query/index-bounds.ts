import type { BSONRegExp } from 'bson';
import type { Conjunct } from './conjuncts.ts';
import { afterPrefix, encodeKey, invert } from '../storage/index-keys.ts';
import { isDocument, rankOf, toNumber, typeRank, type Bson } from '../bson/values.ts';

/** A place between keys: before or after all keys that begin with `prefix`. */
export interface Edge {
  prefix: Buffer;
  after: boolean;
}

interface Interval {
  low: Edge;
  high: Edge;
  /** One value only: both edges have its key as their prefix. */
  point: boolean;
}

export interface Bounds {
  intervals: readonly Interval[];
  /** Nothing but matches of the predicate lies within, for fields that hold no arrays. */
  exact: boolean;
}

export function isAllPoints(bounds: Bounds): boolean {
  return bounds.intervals.every(({ point }) => point);
}

function typeInterval(rank: number): Interval {
  const prefix = Buffer.of(rank);
  return { low: { prefix, after: false }, high: { prefix, after: true }, point: false };
}

function pointInterval(value: Bson | undefined): Interval {
  const prefix = encodeKey(value);
  return { low: { prefix, after: false }, high: { prefix, after: true }, point: true };
}

/** The keys that values meeting the predicate can have, in a field that ascends; undefined when that is any key. */
export function boundsOf(predicate: Conjunct['predicate']): Bounds | undefined {
  switch (predicate.kind) {
    case 'missing':
      return { intervals: [pointInterval(null)], exact: false };
    case 'eq':
      return normalize([...equalIntervals(predicate.value)], hasOneKey(predicate.value));
    case 'in': {
      const intervals = predicate.values.flatMap(equalIntervals);
      if (predicate.regexes.length > 0) {
        intervals.push(...predicate.regexes.flatMap(({ source }) => regexIntervals(source)));
        return normalize(intervals, false);
      }
      return normalize(intervals, predicate.values.every(hasOneKey));
    }
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return orderedBounds(predicate.kind, predicate.value);
    case 'regex':
      return normalize(regexIntervals(predicate.source), false);
    case 'type': {
      if (predicate.types.has('array')) return undefined;
      const ranks = new Set([...predicate.types].map((type) => ranksByType[type] ?? typeRank.missing));
      return normalize([...ranks].map(typeInterval), false);
    }
    case 'mod':
      return { intervals: [typeInterval(typeRank.number)], exact: false };
    case 'elemMatchValue': {
      // All of these hold of one element, which has one key.
      let bounds: Bounds | undefined;
      for (const filter of predicate.filters) {
        if (filter.kind !== 'field') continue;
        const next = boundsOf(filter.predicate);
        if (next) bounds = bounds ? intersect(bounds, next) : next;
      }
      return bounds && { ...bounds, exact: false };
    }
    default:
      return undefined;
  }
}

export const ranksByType: Record<string, number> = {
  double: typeRank.number,
  int: typeRank.number,
  long: typeRank.number,
  decimal: typeRank.number,
  string: typeRank.string,
  object: typeRank.object,
  binData: typeRank.binary,
  objectId: typeRank.objectId,
  bool: typeRank.boolean,
  date: typeRank.date,
  null: typeRank.null,
  regex: typeRank.regex,
  javascript: typeRank.code,
  javascriptWithScope: typeRank.code,
  timestamp: typeRank.timestamp,
  minKey: typeRank.minKey,
  maxKey: typeRank.maxKey,
};

/** Where no arrays are, all that equals the value has its key, and nothing else has; null is also what is missing. */
function hasOneKey(value: Bson): boolean {
  return !Array.isArray(value) && !isDocument(value);
}

function equalIntervals(value: Bson): Interval[] {
  if (!Array.isArray(value)) return [pointInterval(value)];
  // The array as a whole is the value, and has its elements as keys, or is itself an element of an array.
  return [pointInterval(value.length === 0 ? undefined : value[0]), pointInterval(value)];
}

function orderedBounds(kind: 'gt' | 'gte' | 'lt' | 'lte', value: Bson): Bounds | undefined {
  const rank = rankOf(value);
  if (rank === typeRank.null) {
    return { intervals: kind === 'gte' || kind === 'lte' ? [pointInterval(null)] : [], exact: false };
  }
  if (rank === typeRank.array || rank === typeRank.minKey || rank === typeRank.maxKey) return undefined;
  const prefix = encodeKey(value);
  const isNaN = rank === typeRank.number && Number.isNaN(toNumber(value));
  if (isNaN)
    return { intervals: kind === 'gte' || kind === 'lte' ? [pointInterval(value)] : [], exact: true };
  const type = typeInterval(rank);
  const lowest = rank === typeRank.number ? { prefix: encodeKey(NaN), after: true } : type.low;
  switch (kind) {
    case 'gt':
      return {
        intervals: [{ low: { prefix, after: true }, high: type.high, point: false }],
        exact: rank !== typeRank.object,
      };
    case 'gte':
      return {
        intervals: [{ low: { prefix, after: false }, high: type.high, point: false }],
        exact: rank !== typeRank.object,
      };
    case 'lt':
      return {
        intervals: [{ low: lowest, high: { prefix, after: false }, point: false }],
        exact: rank !== typeRank.object,
      };
    case 'lte':
      return {
        intervals: [{ low: lowest, high: { prefix, after: true }, point: false }],
        exact: rank !== typeRank.object,
      };
  }
}

function regexIntervals(source: BSONRegExp): Interval[] {
  const literal = literalPrefix(source);
  const strings = typeInterval(typeRank.string);
  if (literal !== '') {
    const prefix = Buffer.concat([Buffer.of(typeRank.string), Buffer.from(literal)]);
    return [
      { low: { prefix, after: false }, high: { prefix, after: true }, point: false },
      typeInterval(typeRank.regex),
    ];
  }
  return [strings, typeInterval(typeRank.regex)];
}

/** What every string must begin with that the expression matches. */
function literalPrefix({ pattern, options }: BSONRegExp): string {
  if (!pattern.startsWith('^') || /[imx]/.test(options) || pattern.includes('|') || pattern.includes('\0'))
    return '';
  const literal = /^\^((?:[^\\^$.*+?()[\]{}|]|\\[^A-Za-z0-9])*)/.exec(pattern)![1]!;
  const next = pattern[1 + literal.length];
  const certain =
    next !== undefined && '*?{'.includes(next) ? literal.replace(/(?:\\[^]|[^\\])$/u, '') : literal;
  return certain.replace(/\\([^])/g, '$1');
}

export function turnAround({ low, high, point }: Interval): Interval {
  const turn = ({ prefix, after }: Edge): Edge => ({ prefix: invert(prefix), after: !after });
  return { low: turn(high), high: turn(low), point };
}

function compareEdges(a: Edge, b: Edge): number {
  const x = a.after ? afterPrefix(a.prefix) : a.prefix;
  const y = b.after ? afterPrefix(b.prefix) : b.prefix;
  if (!x || !y) return x ? -1 : y ? 1 : 0;
  return Buffer.compare(x, y);
}

/** Sorts intervals and joins those that overlap. */
function normalize(intervals: Interval[], exact: boolean): Bounds {
  intervals.sort((a, b) => compareEdges(a.low, b.low));
  const joined: Interval[] = [];
  for (const interval of intervals) {
    const last = joined.at(-1);
    if (!last || compareEdges(last.high, interval.low) <= 0) joined.push(interval);
    else if (compareEdges(last.high, interval.high) < 0)
      joined[joined.length - 1] = { low: last.low, high: interval.high, point: false };
  }
  return { intervals: joined, exact };
}

export function intersect(a: Bounds, b: Bounds): Bounds {
  const intervals: Interval[] = [];
  for (const x of a.intervals) {
    for (const y of b.intervals) {
      const low = compareEdges(x.low, y.low) >= 0 ? x : y;
      const high = compareEdges(x.high, y.high) <= 0 ? x : y;
      if (compareEdges(low.low, high.high) >= 0) continue;
      // A point that meets an interval lies within it, and its own edges say so most exactly.
      intervals.push(x.point ? x : y.point ? y : { low: low.low, high: high.high, point: false });
    }
  }
  return { intervals, exact: a.exact && b.exact };
}
