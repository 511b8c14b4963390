import { decodeDocument, decodeFields } from '../bson/bson-decoder.ts';
import type { Collection } from '../storage/catalog.ts';
import { CommandError } from '../errors.ts';
import { fieldsOf, type Filter } from '../matching/filter.ts';
import { keyPartEnd, sortKey, type KeyField } from '../storage/index-keys.ts';
import { matches, type MatchDetails } from '../matching/matcher.ts';
import { planQuery, type IndexPlan, type Plan } from './planner.ts';
import type { KeyRange, Row, Store } from '../storage/store.ts';
import type { Bson, BsonDocument } from '../bson/values.ts';

/** A document that matched, decoded and as stored. */
export interface Found {
  rowId: number;
  bytes: Uint8Array;
  document: BsonDocument;
  /** The element that `$` stands for, if an array was met on the way to the match. */
  position: number | undefined;
}

export interface Query {
  filter: Filter;
  sort: readonly KeyField[];
  hint?: Bson | undefined;
  skip?: number;
  /** Undefined for all. */
  limit?: number | undefined;
  /** Only the number of matches is wanted: `limit` of them are enough. */
  counting?: boolean;
}

/** How a query went, for explain. */
export interface QueryStats {
  keysExamined: number;
  documentsExamined: number;
}

/** Sorting what no index has in order is done in memory; more than this is refused, as MongoDB refuses it. */
const MAX_SORT_BYTES = 100 * 1024 * 1024;
/** So many keys are sorted without their documents. */
const MAX_SORTED_KEYS = 50_000;

/**
 * The documents a query finds, in order. What has been read ahead is forgotten by `pause`, so that a cursor which waits
 * for its client goes on where it was and sees documents as they are then.
 */
export class QueryRun {
  readonly plan: Plan;
  readonly stats: QueryStats = { keysExamined: 0, documentsExamined: 0 };
  readonly #store: Store;
  readonly #collection: Collection;
  readonly #query: Query;
  readonly #decode: (bytes: Uint8Array) => BsonDocument;
  readonly #scans: RowScan[] = [];
  readonly #results: Iterator<Found>;

  /** @param decode what the filter needs of a document at least, and the caller of the documents found */
  constructor(
    store: Store,
    collection: Collection,
    query: Query,
    decode: (bytes: Uint8Array) => BsonDocument = decodeDocument,
  ) {
    this.#store = store;
    this.#collection = collection;
    this.#query = query;
    this.#decode = decode;
    const wanted = query.limit === undefined ? undefined : query.limit + (query.skip ?? 0);
    this.plan = planQuery(store, collection, {
      filter: query.filter,
      sort: query.sort,
      hint: query.hint,
      limit: wanted,
      counting: query.counting ?? false,
    });
    this.#results = this.#run(wanted);
  }

  next(): Found | undefined {
    const { value, done } = this.#results.next();
    return done ? undefined : value;
  }

  *[Symbol.iterator](): Generator<Found> {
    for (let found = this.next(); found; found = this.next()) yield found;
  }

  /** @throws CommandError QueryPlanKilled, on the next read, if the collection or index is gone by then */
  pause(): void {
    for (const scan of this.#scans) scan.forget();
  }

  *#run(wanted: number | undefined): Generator<Found> {
    const { skip = 0, limit } = this.#query;
    if (limit === 0) return;
    const source = this.plan.sorted
      ? this.#matching(wanted)
      : (this.#sortedByKeys(wanted) ?? this.#sorted(wanted));
    let seen = 0;
    for (const found of source) {
      seen += 1;
      if (seen <= skip) continue;
      yield found;
      if (limit !== undefined && seen >= skip + limit) return;
    }
  }

  *#matching(wanted: number | undefined): Generator<Found> {
    const chunk = wanted === undefined ? 64 : Math.min(wanted, 64);
    // An index can lead to one document by several keys.
    const { plan } = this;
    const repeats = plan.kind === 'union' || (plan.kind === 'index' && plan.index.multikey.includes(true));
    const seen = repeats ? new Set<number>() : undefined;
    for (const row of this.#rows(chunk)) {
      if (seen) {
        if (seen.has(row.rowId)) continue;
        seen.add(row.rowId);
      }
      const found = this.#match(row);
      if (found) yield found;
    }
  }

  #match({ rowId, bytes }: Row): Found | undefined {
    this.stats.documentsExamined += 1;
    const document = this.#decode(bytes);
    const details: MatchDetails = { position: undefined };
    if (!matches(this.#query.filter, document, details)) return undefined;
    return { rowId, bytes, document, position: details.position };
  }

  /**
   * Sorts what the index has, and reads documents until there are as many as are wanted; undefined where its keys do
   * not have the order, or are too many.
   */
  #sortedByKeys(wanted: number | undefined): Iterable<Found> | undefined {
    const { plan } = this;
    if (wanted === undefined || plan.kind !== 'index' || plan.orderFrom === undefined) return undefined;
    const { index, orderFrom, ranges } = plan;
    const before = index.fields.slice(0, orderFrom);
    const entries: { rowId: number; order: Uint8Array }[] = [];
    for (const range of ranges) {
      for (const { key, rowId } of this.#store.keysInRange(index, range, MAX_SORTED_KEYS + 1)) {
        let from: number | undefined = 0;
        for (const { descending } of before) if (from !== undefined) from = keyPartEnd(key, from, descending);
        if (from === undefined || entries.length === MAX_SORTED_KEYS) return undefined;
        entries.push({ rowId, order: key.subarray(from) });
      }
    }
    this.stats.keysExamined += entries.length;
    const turned = index.fields[orderFrom]!.descending !== this.#query.sort[0]!.descending;
    entries.sort((a, b) => (turned ? Buffer.compare(b.order, a.order) : Buffer.compare(a.order, b.order)));
    return this.#matchingRows(entries);
  }

  *#matchingRows(ids: readonly { rowId: number }[]): Generator<Found> {
    for (const { rowId } of ids) {
      if (!this.#store.catalog.current(this.#collection))
        throw new CommandError('QueryPlanKilled', 'the collection was dropped');
      const row = this.#store.rowOf(this.#collection, rowId);
      const found = row && this.#match(row);
      if (found) yield found;
    }
  }

  /** Keeps only as many as are wanted while it reads. */
  *#sorted(wanted: number | undefined): Generator<Found> {
    const { sort } = this.#query;
    type Entry = Found & { sortKey: Buffer };
    let entries: Entry[] = [];
    let bytes = 0;
    const order = (a: Entry, b: Entry) => Buffer.compare(a.sortKey, b.sortKey);
    const trim = () => {
      entries.sort(order);
      if (wanted !== undefined && entries.length > wanted) entries = entries.slice(0, wanted);
      bytes = entries.reduce((sum, entry) => sum + entry.bytes.length, 0);
    };
    const room = wanted === undefined ? Infinity : Math.max(2 * wanted, 256);
    for (const found of this.#matching(undefined)) {
      entries.push({ ...found, sortKey: sortKey(found.document, sort) });
      bytes += found.bytes.length;
      if (entries.length >= room || bytes > MAX_SORT_BYTES) trim();
      if (bytes > MAX_SORT_BYTES) {
        throw new CommandError(
          'QueryExceededMemoryLimitNoDiskUseAllowed',
          `Sort exceeded memory limit of ${MAX_SORT_BYTES} bytes`,
        );
      }
    }
    trim();
    yield* entries;
  }

  *#rows(chunk: number): Generator<Row> {
    const { plan } = this;
    switch (plan.kind) {
      case 'collection':
        yield* this.#read(new CollectionScan(this.#store, this.#collection, plan.direction, chunk));
        return;
      case 'index':
        yield* plan.merged ? this.#mergedRows(plan, chunk) : this.#indexRows(plan, chunk);
        return;
      case 'union':
        for (const part of plan.plans) yield* this.#indexRows(part, chunk);
    }
  }

  *#read(scan: RowScan): Generator<Row> {
    this.#scans.push(scan);
    for (let row = scan.next(); row; row = scan.next()) yield row;
    this.#scans.splice(this.#scans.indexOf(scan), 1);
  }

  *#indexRows(plan: IndexPlan, chunk: number): Generator<Row> {
    for (const range of plan.ranges) {
      for (const row of this.#read(new IndexScan(this.#store, this.#collection, plan, range, chunk))) {
        this.stats.keysExamined += 1;
        yield row;
      }
    }
  }

  /** Reads all ranges side by side. Each has its own prefix, after which the keys are in the order wanted. */
  *#mergedRows(plan: IndexPlan, chunk: number): Generator<Row> {
    const sources = plan.ranges.map((range) => {
      const scan = new IndexScan(this.#store, this.#collection, plan, range, Math.min(chunk, 16));
      this.#scans.push(scan);
      return { scan, prefixLength: range.prefixLength, head: scan.next() };
    });
    for (;;) {
      let first: (typeof sources)[number] | undefined;
      for (const source of sources) {
        if (!source.head) continue;
        if (!first) {
          first = source;
          continue;
        }
        const order = Buffer.compare(
          source.head.key!.subarray(source.prefixLength),
          first.head!.key!.subarray(first.prefixLength),
        );
        if (order * plan.direction < 0) first = source;
      }
      if (!first) return;
      this.stats.keysExamined += 1;
      yield first.head!;
      first.head = first.scan.next();
    }
  }
}

/** Reads rows in chunks that grow, so that one row costs little and many cost little each. */
abstract class RowScan {
  protected readonly store: Store;
  protected readonly collection: Collection;
  #rows: Row[] = [];
  #at = 0;
  #last: Row | undefined;
  #chunk: number;
  #ended = false;

  constructor(store: Store, collection: Collection, chunk: number) {
    this.store = store;
    this.collection = collection;
    this.#chunk = chunk;
  }

  protected abstract read(after: Row | undefined, limit: number): Row[];

  next(): Row | undefined {
    if (this.#at === this.#rows.length) {
      if (this.#ended) return undefined;
      if (!this.store.catalog.current(this.collection))
        throw new CommandError('QueryPlanKilled', 'the collection was dropped');
      this.#rows = this.read(this.#last, this.#chunk);
      this.#at = 0;
      this.#ended = this.#rows.length < this.#chunk;
      this.#chunk = Math.min(this.#chunk * 2, 256);
      if (this.#rows.length === 0) return undefined;
    }
    this.#last = this.#rows[this.#at++]!;
    return this.#last;
  }

  forget(): void {
    if (this.#at < this.#rows.length) this.#ended = false;
    this.#rows = [];
    this.#at = 0;
  }
}

class CollectionScan extends RowScan {
  readonly #direction: 1 | -1;

  constructor(store: Store, collection: Collection, direction: 1 | -1, chunk: number) {
    super(store, collection, chunk);
    this.#direction = direction;
  }

  protected read(after: Row | undefined, limit: number): Row[] {
    return this.store.rowsInOrder(this.collection, this.#direction, after?.rowId, limit);
  }
}

class IndexScan extends RowScan {
  readonly #plan: IndexPlan;
  readonly #range: KeyRange;

  constructor(store: Store, collection: Collection, plan: IndexPlan, range: KeyRange, chunk: number) {
    super(store, collection, chunk);
    this.#plan = plan;
    this.#range = range;
  }

  protected read(after: Row | undefined, limit: number): Row[] {
    const { index, direction } = this.#plan;
    if (!this.store.catalog.current(this.collection)?.indexes.some(({ id }) => id === index.id)) {
      throw new CommandError('QueryPlanKilled', `the index '${index.name}' was dropped`);
    }
    return this.store.rowsByIndex(this.collection, index, this.#range, direction, after, limit);
  }
}

/** Decodes what decides whether a document is found, and where in the order; undefined: all of it may. */
export function decidingFields({ filter, sort }: Query): ((bytes: Uint8Array) => BsonDocument) | undefined {
  const fields = fieldsOf(filter);
  if (!fields) return undefined;
  const all = new Set([...fields, ...sort.map(({ path }) => path[0]!)]);
  return (bytes) => decodeFields(bytes, all);
}

/** How many documents match: taken from the keys of an index alone where they decide, else from the fields that do. */
export function countMatches(store: Store, collection: Collection, query: Query): number {
  const { skip = 0, limit = Infinity } = query;
  const enough = skip + limit;
  // With a hint it is what the index holds, which may be less, and the index has to exist.
  const everything =
    query.hint === undefined && query.filter.kind === 'and' && query.filter.filters.length === 0;
  let count: number;
  if (everything) {
    count = store.count(collection);
  } else {
    const run = new QueryRun(
      store,
      collection,
      { ...query, skip: 0, limit: enough, counting: true },
      decidingFields(query),
    );
    count = 0;
    if (run.plan.kind === 'index' && run.plan.exact) {
      for (const range of run.plan.ranges) {
        if (count >= enough) break;
        count += store.countKeys(run.plan.index, range, Math.min(enough - count, Number.MAX_SAFE_INTEGER));
      }
    } else {
      for (const _ of run) count += 1;
    }
  }
  return Math.max(0, Math.min(count - skip, limit));
}
