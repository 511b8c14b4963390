import type { BSONRegExp } from 'bson';
import { CommandError } from './errors.ts';
import { afterPrefix, encodeKey, invert, type KeyField } from './index-keys.ts';
import { matches, type Filter, type Predicate } from './matcher.ts';
import { equalValues } from './compare.ts';
import type { Collection, Index, KeyRange, Store } from './store.ts';
import { isDocument, rankOf, toNumber, typeRank, type Bson, type BsonDocument } from './values.ts';

export type Plan =
  | { kind: 'collection'; direction: 1 | -1; sorted: boolean }
  | IndexPlan
  | { kind: 'union'; plans: readonly IndexPlan[]; sorted: false };

export interface IndexPlan {
  kind: 'index';
  index: Index;
  /** Disjoint and ascending, unless they are to be merged. */
  ranges: readonly PlannedRange[];
  direction: 1 | -1;
  /** Rows come in the order that was asked for. */
  sorted: boolean;
  /** Ranges are read side by side, and their rows merged by what their keys have after the range's prefix. */
  merged: boolean;
  /** Every key in the ranges is a match, so that keys can be counted. */
  exact: boolean;
  /** Bounds as explain shows them: a line for each field. */
  bounds: BsonDocument;
  /** How many fields of the index have bounds. */
  used: number;
}

interface PlannedRange extends KeyRange {
  /** Bytes of the key that are the same for the whole range. */
  prefixLength: number;
}

/** A place between keys: before or after all keys that begin with `prefix`. */
interface Edge {
  prefix: Buffer;
  after: boolean;
}

interface Interval {
  low: Edge;
  high: Edge;
  /** One value only: both edges have its key as their prefix. */
  point: boolean;
}

interface Bounds {
  intervals: readonly Interval[];
  /** Nothing but matches of the predicate lies within, for fields that hold no arrays. */
  exact: boolean;
}

const MAX_RANGES = 5000;
const MAX_MERGED = 200;

export interface PlanRequest {
  filter: Filter;
  sort: readonly KeyField[];
  hint: Bson | undefined;
  /** How many documents are wanted at most. */
  limit: number | undefined;
}

/**
 * Chooses how to find the candidates for a query. Whatever it chooses, candidates are tested by the matcher again, so a
 * poor choice makes a query slow and never wrong; the ranges only must not leave a match out.
 */
export function planQuery(store: Store, collection: Collection, request: PlanRequest): Plan {
  const { filter, sort } = request;
  const scan: Plan = { kind: 'collection', direction: 1, sorted: sort.length === 0 };
  const hinted = hintedIndex(collection, request.hint);
  if (hinted === 'natural') {
    const backwards = isDocument(request.hint) && (toNumber(request.hint.$natural) ?? 1) < 0;
    return { ...scan, direction: backwards ? -1 : 1 };
  }
  const conjuncts = conjunctsOf(filter);
  if (hinted) {
    return planIndex(hinted, conjuncts, filter, sort, true) ?? fullIndexScan(hinted, sort);
  }
  const plans: IndexPlan[] = [];
  for (const index of collection.indexes) {
    const plan = planIndex(index, conjuncts, filter, sort, false);
    if (plan) plans.push(plan);
  }
  const bounded = plans.filter(({ used }) => used > 0);
  const union = bounded.length === 0 ? planUnion(collection, filter) : undefined;
  if (union) return union;
  return plans.length > 0 ? choose(store, plans, request) : scan;
}

function hintedIndex(collection: Collection, hint: Bson | undefined): Index | 'natural' | undefined {
  if (hint === undefined || (isDocument(hint) && Object.keys(hint).length === 0)) return undefined;
  if (isDocument(hint) && '$natural' in hint) return 'natural';
  const index = collection.indexes.find(({ name, keyPattern }) =>
    typeof hint === 'string' ? name === hint : equalValues(keyPattern, hint),
  );
  if (index) return index;
  throw new CommandError(
    'BadValue',
    'error processing query: planner returned error :: caused by :: hint provided does not correspond to an existing index',
  );
}

function choose(store: Store, plans: readonly IndexPlan[], { sort, limit }: PlanRequest): IndexPlan {
  const rated = plans.map((plan) => ({ plan, score: rate(plan) })).sort((a, b) => b.score - a.score);
  const best = rated[0]!.plan;
  if (best.sorted || sort.length === 0) return best;
  const inOrder = rated.find(({ plan }) => plan.sorted)?.plan;
  if (!inOrder) return best;
  // Sorting what the narrower index finds is worth it while that is little; otherwise read in order and stop early.
  const enough = Math.max(100, (limit ?? 1000) * 10);
  let keys = 0;
  for (const range of best.ranges) {
    keys += store.countKeys(best.index, range, enough - keys);
    if (keys >= enough) return inOrder;
  }
  return best;
}

function rate(plan: IndexPlan): number {
  const { index, bounds } = plan;
  let score = plan.sorted ? 3 : 0;
  for (const [i, field] of index.fields.entries()) {
    const bound = bounds[field.path.join('.')] as string[];
    if (bound[0] === FULL_RANGE) break;
    const points = bound.every(isPointText);
    score += points ? 10 : 4;
    if (i === index.fields.length - 1 && points && index.unique) score += 1000;
    if (!points) break;
  }
  // Of equals, the shorter index.
  return score - index.fields.length / 100;
}

const FULL_RANGE = '[MinKey, MaxKey]';

function isPointText(bound: string): boolean {
  return bound.startsWith('=');
}

/** The conditions a match must meet all of: fields, and what is asked of the elements of arrays. */
interface Conjunct {
  field: string;
  predicate: Predicate | { kind: 'missing' };
  /** True when it is a condition of the query itself, so that satisfying it leaves nothing to test. */
  top: boolean;
}

function conjunctsOf(filter: Filter, prefix = '', top = true): Conjunct[] {
  switch (filter.kind) {
    case 'and':
      return filter.filters.flatMap((part) => conjunctsOf(part, prefix, top));
    case 'or':
      return filter.filters.length === 1 ? conjunctsOf(filter.filters[0]!, prefix, top) : [unplannable];
    case 'field': {
      const field = prefix + filter.field;
      const { predicate } = filter;
      const own: Conjunct[] = [{ field, predicate, top }];
      if (predicate.kind === 'elemMatchObject')
        own.push(...conjunctsOf(predicate.filter, `${field}.`, false));
      return own;
    }
    case 'not':
      if (filter.filter.kind === 'field' && filter.filter.predicate.kind === 'exists') {
        return [{ field: prefix + filter.filter.field, predicate: { kind: 'missing' }, top }];
      }
      return [unplannable];
    default:
      return [unplannable];
  }
}

/** Stands for a condition that no index helps with, and that keeps counts from being taken from keys. */
const unplannable: Conjunct = { field: '', predicate: { kind: 'size', size: 0 }, top: true };

function planIndex(
  index: Index,
  conjuncts: readonly Conjunct[],
  filter: Filter,
  sort: readonly KeyField[],
  hinted: boolean,
): IndexPlan | undefined {
  if (index.partial && !implies(conjuncts, index.partial.filter)) {
    if (hinted)
      throw new CommandError(
        'NoQueryExecutionPlans',
        'error processing query: the hinted partial index does not hold all matches',
      );
    return undefined;
  }
  if (
    index.sparse &&
    !index.fields.some((field) => conjuncts.some((conjunct) => excludesMissing(conjunct, field)))
  ) {
    return undefined;
  }
  const bounds = fieldBounds(index, conjuncts);
  const { ranges, used, exactFields } = rangesOf(index, bounds);
  const order = sortOrder(index, bounds, used, sort, ranges.length);
  if (used === 0 && (sort.length === 0 || !order) && !hinted) {
    // A sparse or partial index that the query implies is smaller than the collection.
    if (!index.sparse && !index.partial) return undefined;
  }
  const covered = conjuncts.every(
    (conjunct) =>
      conjunct.top &&
      index.fields.some((field, i) => i < exactFields && field.path.join('.') === conjunct.field),
  );
  return {
    kind: 'index',
    index,
    ranges: order?.merged || order?.direction !== -1 ? ranges : [...ranges].reverse(),
    direction: order?.direction ?? 1,
    sorted: sort.length === 0 || order !== undefined,
    merged: order?.merged ?? false,
    exact: covered && !index.multikey.includes(true) && !index.partial,
    bounds: describe(index, bounds, used),
    used,
  };
}

function fullIndexScan(index: Index, sort: readonly KeyField[]): IndexPlan {
  return {
    kind: 'index',
    index,
    ranges: [{ low: Buffer.alloc(0), high: undefined, prefixLength: 0 }],
    direction: 1,
    sorted: sort.length === 0,
    merged: false,
    exact: false,
    bounds: describe(index, [], 0),
    used: 0,
  };
}

/** For each field of the index the bounds its conditions give, or undefined where there are none. */
function fieldBounds(index: Index, conjuncts: readonly Conjunct[]): (Bounds | undefined)[] {
  const boundArrays = new Set<string>();
  return index.fields.map((field, i) => {
    const path = field.path.join('.');
    const multikey = index.multikey[i]!;
    // Conditions on two fields of the elements of one array may be met by different elements, which have different keys.
    if (multikey && boundArrays.has(field.path[0]!)) return undefined;
    let bounds: Bounds | undefined;
    for (const conjunct of conjuncts) {
      if (conjunct.field !== path) continue;
      const next = boundsOf(conjunct.predicate);
      if (!next) {
        if (bounds) bounds = { ...bounds, exact: false };
        continue;
      }
      // Likewise two conditions on one array: only one of them can be used.
      if (!bounds) bounds = next;
      else if (!multikey) bounds = intersect(bounds, next);
      else if (isAllPoints(next) && !isAllPoints(bounds)) bounds = { ...next, exact: false };
    }
    if (bounds && multikey) boundArrays.add(field.path[0]!);
    if (bounds && conjuncts.some((conjunct) => conjunct.field === path && !boundsOf(conjunct.predicate))) {
      bounds = { ...bounds, exact: false };
    }
    return bounds && field.descending
      ? { ...bounds, intervals: bounds.intervals.map(turnAround).reverse() }
      : bounds;
  });
}

function isAllPoints(bounds: Bounds): boolean {
  return bounds.intervals.every(({ point }) => point);
}

function rangesOf(
  index: Index,
  bounds: readonly (Bounds | undefined)[],
): { ranges: PlannedRange[]; used: number; exactFields: number } {
  let prefixes: Buffer[] = [Buffer.alloc(0)];
  let used = 0;
  let exactFields = 0;
  let exact = true;
  for (const bound of bounds) {
    if (!bound || (prefixes.length * bound.intervals.length > MAX_RANGES && prefixes.length > 1)) break;
    exact &&= bound.exact;
    if (exact) exactFields = used + 1;
    used += 1;
    if (!isAllPoints(bound)) {
      const ranges = prefixes.flatMap((prefix) =>
        bound.intervals.map(({ low, high }) => ({
          low: edgeBytes(low, prefix)!,
          high: edgeBytes(high, prefix),
          prefixLength: prefix.length,
        })),
      );
      return { ranges, used, exactFields };
    }
    prefixes = prefixes.flatMap((prefix) =>
      bound.intervals.map(({ low }) => Buffer.concat([prefix, low.prefix])),
    );
  }
  const ranges = prefixes.map((prefix) => ({
    low: prefix,
    high: afterPrefix(prefix),
    prefixLength: prefix.length,
  }));
  return { ranges, used, exactFields };
}

function edgeBytes({ prefix, after }: Edge, before: Buffer): Buffer | undefined {
  const whole = before.length === 0 ? prefix : Buffer.concat([before, prefix]);
  return after ? afterPrefix(whole) : whole;
}

/** Whether reading the index gives the order that was asked for, and how to read it. */
function sortOrder(
  index: Index,
  bounds: readonly (Bounds | undefined)[],
  used: number,
  sort: readonly KeyField[],
  ranges: number,
): { direction: 1 | -1; merged: boolean } | undefined {
  if (sort.length === 0) return { direction: 1, merged: false };
  const points = index.fields.map((_, i) => i < used && isAllPoints(bounds[i]!));
  const constant = points.map((point, i) => point && bounds[i]!.intervals.length === 1);
  const inSequence = follow(index, bounds, used, sort, constant);
  if (inSequence) return { direction: inSequence, merged: false };
  if (ranges > MAX_MERGED) return undefined;
  const merged = follow(index, bounds, used, sort, points);
  return merged && { direction: merged, merged: true };
}

/** @param constant fields of one value in each range, which an order may pass over */
function follow(
  index: Index,
  bounds: readonly (Bounds | undefined)[],
  used: number,
  sort: readonly KeyField[],
  constant: readonly boolean[],
): 1 | -1 | undefined {
  let direction: 1 | -1 | undefined;
  let at = 0;
  for (const { path, descending } of sort) {
    const name = path.join('.');
    const fixed = index.fields.findIndex(
      (field, i) => constant[i] && !index.multikey[i] && field.path.join('.') === name,
    );
    if (fixed >= 0 && bounds[fixed]!.intervals.length === 1) continue;
    while (at < index.fields.length && constant[at]) at += 1;
    const field = index.fields[at];
    if (!field || field.path.join('.') !== name) return undefined;
    // Of a document's several keys its place in the order is decided by all, so all must be within reach.
    if (index.multikey[at] && at < used) return undefined;
    const wanted = field.descending === descending ? 1 : -1;
    if (direction !== undefined && direction !== wanted) return undefined;
    direction = wanted;
    at += 1;
  }
  return direction ?? 1;
}

function planUnion(collection: Collection, filter: Filter): Plan | undefined {
  const alternatives =
    filter.kind === 'or'
      ? filter
      : filter.kind === 'and'
        ? filter.filters.find(({ kind }) => kind === 'or')
        : undefined;
  if (alternatives?.kind !== 'or') return undefined;
  const plans: IndexPlan[] = [];
  for (const branch of alternatives.filters) {
    const conjuncts = conjunctsOf(branch);
    const found = collection.indexes
      .map((index) => planIndex(index, conjuncts, branch, [], false))
      .filter((plan) => plan !== undefined)
      .sort((a, b) => rate(b) - rate(a))[0];
    if (!found) return undefined;
    plans.push(found);
  }
  return { kind: 'union', plans, sorted: false };
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
function boundsOf(predicate: Conjunct['predicate']): Bounds | undefined {
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

const ranksByType: Record<string, number> = {
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

function turnAround({ low, high, point }: Interval): Interval {
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

function intersect(a: Bounds, b: Bounds): Bounds {
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

function excludesMissing({ field, predicate }: Conjunct, indexed: KeyField): boolean {
  if (field !== indexed.path.join('.')) return false;
  switch (predicate.kind) {
    case 'missing':
      return false;
    case 'eq':
    case 'gte':
    case 'lte':
      return predicate.value !== null;
    case 'in':
      return predicate.values[0] !== null && !predicate.values.includes(null);
    case 'type':
    case 'exists':
    default:
      return true;
  }
}

/** Whether meeting all conditions means meeting `wanted`. False when that is not plain to see. */
function implies(conjuncts: readonly Conjunct[], wanted: Filter): boolean {
  switch (wanted.kind) {
    case 'and':
      return wanted.filters.every((part) => implies(conjuncts, part));
    case 'or':
      return wanted.filters.some((part) => implies(conjuncts, part));
    case 'field':
      return conjuncts.some(
        ({ field, predicate, top }) => top && field === wanted.field && predicateImplies(predicate, wanted),
      );
    case 'not':
      return (
        wanted.filter.kind === 'field' &&
        wanted.filter.predicate.kind === 'exists' &&
        conjuncts.some(
          ({ field, predicate }) =>
            predicate.kind === 'missing' && field === (wanted.filter as { field: string }).field,
        )
      );
    default:
      return false;
  }
}

function predicateImplies(given: Conjunct['predicate'], wanted: Filter & { kind: 'field' }): boolean {
  const asked = wanted.predicate;
  const single = wanted.path.length === 1;
  switch (given.kind) {
    case 'eq':
      // A value that itself passes makes every document equal to it pass, unless arrays come in between.
      if (given.value === null) return asked.kind === 'eq' && asked.value === null;
      return passesAsValue(given.value, wanted);
    case 'in':
      return (
        given.regexes.length === 0 &&
        given.values.length > 0 &&
        given.values.every((value) =>
          value === null ? asked.kind === 'eq' && asked.value === null : passesAsValue(value, wanted),
        )
      );
    case 'exists':
      return asked.kind === 'exists';
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      if (asked.kind === 'exists') return given.value !== null;
      if (asked.kind === 'type')
        return ['string', 'date', 'objectId', 'bool'].some(
          (type) => asked.types.has(type) && ranksByType[type] === rankOf(given.value),
        );
      const upwards = given.kind === 'gt' || given.kind === 'gte';
      if (asked.kind === 'gt' && given.kind === 'gt')
        return wanted.test(given.value) || equalValues(asked.value, given.value);
      if (asked.kind === 'lt' && given.kind === 'lt')
        return wanted.test(given.value) || equalValues(asked.value, given.value);
      return (
        (upwards
          ? asked.kind === 'gt' || asked.kind === 'gte'
          : asked.kind === 'lt' || asked.kind === 'lte') && wanted.test(given.value)
      );
    }
    case 'type':
      if (asked.kind === 'exists') return true;
      return asked.kind === 'type' && [...given.types].every((type) => asked.types.has(type));
    case 'regex':
      return (
        asked.kind === 'exists' ||
        (single && asked.kind === 'type' && asked.types.has('string') && asked.types.has('regex'))
      );
    default:
      return false;
  }
}

function passesAsValue(value: Bson, wanted: Filter & { kind: 'field' }): boolean {
  if (Array.isArray(value)) return false;
  const { kind } = wanted.predicate;
  if (kind === 'size' || kind === 'elemMatchObject' || kind === 'elemMatchValue') return false;
  return matches({ ...wanted, path: ['value'] }, { value });
}

function describe(index: Index, bounds: readonly (Bounds | undefined)[], used: number): BsonDocument {
  const lines: BsonDocument = {};
  for (const [i, field] of index.fields.entries()) {
    const bound = i < used ? bounds[i] : undefined;
    lines[field.path.join('.')] = bound
      ? bound.intervals.map(({ low, high, point }) =>
          point ? `=${low.prefix.toString('hex')}` : `[${edgeText(low)}, ${edgeText(high)})`,
        )
      : [FULL_RANGE];
  }
  return lines;
}

function edgeText({ prefix, after }: Edge): string {
  return `${after ? 'after ' : ''}${prefix.toString('hex')}`;
}
