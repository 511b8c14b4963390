import type { Collection, Index } from '../storage/catalog.ts';
import { equalValues } from '../bson/compare.ts';
import { conjunctsOf, type Conjunct } from './conjuncts.ts';
import { CommandError } from '../errors.ts';
import type { Filter } from '../matching/filter.ts';
import { excludesMissing, implies } from './implication.ts';
import { boundsOf, intersect, isAllPoints, turnAround, type Bounds, type Edge } from './index-bounds.ts';
import { afterPrefix, encodeKeyPart, type KeyField } from '../storage/index-keys.ts';
import type { KeyRange, Store } from '../storage/store.ts';
import { isDocument, toNumber, type Bson, type BsonDocument } from '../bson/values.ts';

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
  /** The field of the index with which an order begins that it has behind others; keys can be sorted without documents. */
  orderFrom: number | undefined;
}

interface PlannedRange extends KeyRange {
  /** Bytes of the key that are the same for the whole range. */
  prefixLength: number;
}

const MAX_RANGES = 5000;

const MAX_MERGED = 200;

export interface PlanRequest {
  filter: Filter;
  sort: readonly KeyField[];
  hint: Bson | undefined;
  /** How many documents are wanted at most. */
  limit: number | undefined;
  /** Only how many there are is wanted. */
  counting?: boolean;
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
  // No other index leads to fewer than the ids that are given.
  const byId = planIndex(collection.indexes[0]!, conjuncts, filter, sort, false);
  if (byId && rate(byId) >= FINDS_ONE) return byId;
  const plans: IndexPlan[] = byId ? [byId] : [];
  for (const index of collection.indexes.slice(1)) {
    const plan = planIndex(index, conjuncts, filter, sort, false);
    if (plan) plans.push(plan);
  }
  const bounded = plans.filter(({ used }) => used > 0);
  const union = bounded.length === 0 ? planUnion(collection, filter) : undefined;
  if (union) return union;
  return plans.length > 0 ? choose(store, collection, plans, request) : scan;
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

/** How far keys are counted to compare indexes, step by step: narrow ones cost little to find out. */
const COUNT_STEPS = [100, 1000, 5000];
/** So many keys are sorted in the time in which one document is read. */
const KEYS_A_DOCUMENT = 20;
/** Of the keys that are counted for one choice: some milliseconds. */
const MAX_COUNTED = 500_000;

/**
 * The index that leads to the fewest documents. Where an order is asked for, one that has it may stop early: then
 * sorting what a narrower one finds must be worth it.
 */
function choose(
  store: Store,
  collection: Collection,
  plans: readonly IndexPlan[],
  { sort, limit, counting }: PlanRequest,
): IndexPlan {
  const rated = plans.map((plan) => ({ plan, score: rate(plan) })).sort((a, b) => b.score - a.score);
  const best = rated[0]!.plan;
  if (rated[0]!.score >= FINDS_ONE) return best;
  // Its keys are counted instead of documents: nothing else can be cheaper.
  const exact = counting ? rated.find(({ plan }) => plan.exact) : undefined;
  if (exact) return exact.plan;
  const inOrder = sort.length === 0 ? undefined : rated.find(({ plan }) => plan.sorted)?.plan;
  const first = inOrder ?? best;
  const known = boundFields(first);
  const others = plans.filter(
    (plan) => plan !== first && boundFields(plan).some((one) => !known.includes(one)),
  );
  if (others.length === 0) return first;
  // What has the conditions of another and more leads to no more documents.
  const rivals = (inOrder ? others : [first, ...others]).filter(
    (plan, _, all) => !all.some((other) => hasMore(boundFields(other), boundFields(plan))),
  );
  for (const step of COUNT_STEPS) {
    let [plan, keys] = [first, step];
    for (const rival of rivals) {
      const fewer = countKeys(store, rival, keys);
      if (fewer < keys) [plan, keys] = [rival, fewer];
    }
    if (keys === step) continue;
    if (!inOrder || plan.sorted || keys <= 10 * (limit ?? Infinity)) return plan;
    // In order, a match comes every so many keys, and as many matches as are wanted have to be met.
    // Where the keys can be sorted by themselves, documents are read of those alone that are wanted.
    const met = Math.ceil(
      plan.orderFrom === undefined ? keys ** 2 / limit! : keys + keys ** 2 / (KEYS_A_DOCUMENT * limit!),
    );
    if (met > MAX_COUNTED || store.count(collection) < met) return inOrder;
    return countKeys(store, inOrder, met) < met ? inOrder : plan;
  }
  return first;
}

function hasMore(fields: readonly string[], than: readonly string[]): boolean {
  return fields.length > than.length && than.every((field) => fields.includes(field));
}

function boundFields({ index, used }: IndexPlan): string[] {
  return index.fields.slice(0, used).map(({ path }) => path.join('.'));
}

/** Keys of a plan's ranges, or `limit` if there are that many. */
function countKeys(store: Store, { index, ranges }: IndexPlan, limit: number): number {
  let keys = 0;
  for (const range of ranges) {
    keys += store.countKeys(index, range, limit - keys);
    if (keys >= limit) return limit;
  }
  return keys;
}

/** What a unique index scores whose fields are all given. */
const FINDS_ONE = 1000;

function rate(plan: IndexPlan): number {
  const { index, bounds } = plan;
  let score = plan.sorted ? 3 : 0;
  for (const [i, field] of index.fields.entries()) {
    const bound = bounds[field.path.join('.')] as string[];
    if (bound[0] === FULL_RANGE) break;
    const points = bound.every(isPointText);
    score += points ? 10 : 4;
    if (i === index.fields.length - 1 && points && index.unique) score += FINDS_ONE;
    if (!points) break;
  }
  // Of equals, the shorter index.
  return score - index.fields.length / 100;
}

const FULL_RANGE = '[MinKey, MaxKey]';

function isPointText(bound: string): boolean {
  return bound.startsWith('=');
}

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
    exact: covered && oneKeyEach(index, bounds),
    bounds: describe(index, bounds, used),
    used,
    orderFrom: orderWithin(index, sort),
  };
}

/** Where an index without arrays has the fields of an order one behind another, as they are or all turned around. */
function orderWithin({ fields, multikey }: Index, sort: readonly KeyField[]): number | undefined {
  const [first] = sort;
  if (!first || multikey.includes(true)) return undefined;
  const isSame = (a: KeyField | undefined, b: KeyField) => a?.path.join('.') === b.path.join('.');
  const from = fields.findIndex((field) => isSame(field, first));
  if (from < 0) return undefined;
  const turned = fields[from]!.descending !== first.descending;
  const follows = sort.every((one, at) => {
    const field = fields[from + at];
    return isSame(field, one) && (field!.descending !== one.descending) === turned;
  });
  return follows ? from : undefined;
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
    orderFrom: undefined,
  };
}

/** Whether no document has two keys within the bounds: of an array, one element is asked for. */
function oneKeyEach(index: Index, bounds: readonly (Bounds | undefined)[]): boolean {
  const arrays = index.fields.map((_, i) => i).filter((i) => index.multikey[i]);
  if (arrays.length === 0) return true;
  const [only] = arrays;
  const bound = bounds[only!];
  if (arrays.length > 1 || index.fields[only!]!.path.length > 1 || !bound?.exact) return false;
  // Null is also what is missing.
  const none = encodeKeyPart(null, index.fields[only!]!.descending);
  const [interval, ...more] = bound.intervals;
  return more.length === 0 && interval?.point === true && !interval.low.prefix.equals(none);
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
      else bounds = { ...(isAllPoints(next) && !isAllPoints(bounds) ? next : bounds), exact: false };
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
