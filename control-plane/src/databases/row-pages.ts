import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import { TOTAL_LIMIT } from '../storage/list.ts';
import type { ListPage } from '../storage/list.ts';
import type { Filter, Scope, ScopedCollection } from '../tenancy/scope.ts';
import { databaseRowCollection } from './database-model.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';
import { decodeCursor, encodeCursor } from './row-cursor.ts';
import type { RowCursor } from './row-cursor.ts';
import { parseFilters } from './row-filters.ts';
import type { RowFilter } from './row-filters.ts';
import { segmentsOf } from './row-order.ts';
import type { RowStore } from './row-store.ts';

/** Rows that may be read one by one for a page. */
export const MAX_SCANNED = 50_000;
/** Counting stops here where no index has the answer, and rows are read for it. */
export const READ_TOTAL_LIMIT = 1000;

type Row = DatabaseRowRecord;
type Rows = ScopedCollection<Row>;

/** Which rows, whatever their order. */
export type RowSelection = Pick<ListInput, 'created_after' | 'created_before'> &
  AnyOf<Row, 'session_id' | 'agent_id'> & { filter?: string[] | undefined };

export type RowList = RowSelection & ListInput & { cursor?: string | undefined };

export type RowPage = ListPage<Row> & { next_cursor: string | null };

/** Who counts rows by the keys of an index. */
export type RangeCounter = Pick<RowStore, 'countRange'>;

/**
 * A page of the rows of a database. Pages by cursor neither repeat nor skip a row that stays as it is, in any order.
 * @throws ValidationError for filters and orders that the database does not have, or that would read too many rows
 */
export async function listRows(
  scope: Scope,
  database: DatabaseRecord,
  list: RowList,
  counter: RangeCounter,
): Promise<RowPage> {
  const rows = scope.collection(databaseRowCollection);
  const selected = await select(rows, database, list, counter);
  const segments = segmentsOf(database, list.sort);
  if (segments.scans) await checkScan(selected, ['query', 'sort']);
  if (list.offset > 0 && (list.cursor !== undefined || segments.ofColumn))
    throw invalid(
      ['query', 'offset'],
      'must be 0 with a cursor or a sort by column: pages go on by `next_cursor`',
    );
  const cursor = list.cursor === undefined ? null : decodeCursor(list.cursor, list.sort);
  const [counted, found] = await Promise.all([
    cursor ?? totalOf(database, selected),
    read(rows, selected.filter, segments.list, cursor, list.offset, list.limit + 1),
  ]);
  const { total, capped } = counted;
  const shown = found.slice(0, list.limit);
  const last = shown.at(-1);
  const next_cursor =
    last && found.length > list.limit
      ? encodeCursor({ sort: list.sort, total, capped, segment: last.segment, position: last.position })
      : null;
  const items = shown.map(({ row }) => row);
  return { items, total, ...(capped && { total_capped: true as const }), next_cursor };
}

/**
 * All selected rows, oldest first, page by page: so much is held at a time, however slow the reader is.
 * @throws ValidationError, before the first page
 */
export async function selectRows(
  scope: Scope,
  database: DatabaseRecord,
  selection: RowSelection,
  pageSize: number,
  counter: RangeCounter,
): Promise<AsyncGenerator<Row[], void, undefined>> {
  const rows = scope.collection(databaseRowCollection);
  const { filter } = await select(rows, database, selection, counter);
  const { list } = segmentsOf(database, 'created_at');
  return (async function* pages() {
    let cursor: RowCursor | null = null;
    for (;;) {
      const found: Found[] = await read(rows, filter, list, cursor, 0, pageSize);
      if (found.length > 0) yield found.map(({ row }) => row);
      const last = found.at(-1);
      if (!last || found.length < pageSize) return;
      cursor = {
        ...{ sort: 'created_at', total: 0, capped: false },
        ...{ segment: last.segment, position: last.position },
      };
    }
  })();
}

interface Found {
  row: Row;
  segment: number;
  position: (string | number)[];
}

interface Selected {
  filter: Filter<Row>;
  /** All rows of the database. */
  unfiltered: boolean;
  /** Whether an index counts them by its keys. */
  keyed: boolean;
  /** How many there are, up to `limit`. */
  count(limit: number): Promise<number>;
}

async function select(
  rows: Rows,
  database: DatabaseRecord,
  selection: RowSelection,
  counter: RangeCounter,
): Promise<Selected> {
  const { session_id, agent_id } = selection;
  const times = commonFilter({ ...selection, limit: 1, offset: 0, sort: '' });
  const own = { ...times, ...equalities({ session_id, agent_id }) };
  const filters = parseFilters(database, selection.filter ?? []);
  const indexed = selectedBy(
    rows,
    database,
    own,
    filters.filter(({ scans }) => !scans),
    counter,
  );
  const scanned = filters.filter(({ scans }) => scans).map(({ condition }) => condition);
  if (scanned.length === 0) return indexed;
  await checkScan(indexed, ['query', 'filter']);
  const filter = { $and: [indexed.filter, ...scanned] } as Filter<Row>;
  return { filter, unfiltered: false, keyed: false, count: (limit) => rows.count(filter, { limit }) };
}

function selectedBy(
  rows: Rows,
  database: DatabaseRecord,
  own: object,
  filters: readonly RowFilter[],
  counter: RangeCounter,
): Selected {
  const all = { database_id: database._id, ...own };
  const filter = { $and: [all, ...filters.map(({ condition }) => condition)] } as Filter<Row>;
  const owned = Object.keys(own).length > 0;
  const ranges = !owned && filters.length === 1 ? filters[0]!.ranges : null;
  if (ranges)
    return {
      ...{ filter, unfiltered: false, keyed: true },
      async count(limit) {
        let counted = 0;
        for (const range of ranges)
          if (counted < limit) counted += await counter.countRange(database, range, limit - counted);
        return counted;
      },
    };
  // One field decides, instead of the many cells besides.
  const conditions = filters.map(({ condition, ranges }) => (ranges?.length === 1 ? ranges[0]! : condition));
  const counted = { $and: [all, ...conditions] } as Filter<Row>;
  return {
    filter,
    unfiltered: filters.length === 0 && !owned,
    keyed: filters.length === 0,
    count: (limit) => rows.count(counted, { limit }),
  };
}

/** @throws ValidationError `too_many_rows` */
async function checkScan(selected: Selected, loc: string[]): Promise<void> {
  if ((await selected.count(MAX_SCANNED + 1)) <= MAX_SCANNED) return;
  throw invalid(
    loc,
    `would read more than ${MAX_SCANNED} rows one by one: add filters that leave fewer`,
    'too_many_rows',
  );
}

async function totalOf(
  database: DatabaseRecord,
  { unfiltered, keyed, count }: Selected,
): Promise<{ total: number; capped: boolean }> {
  const most = keyed ? TOTAL_LIMIT : READ_TOTAL_LIMIT;
  // Counting stops there anyway.
  const total = unfiltered && database.row_count > most ? database.row_count : await count(most + 1);
  return total > most ? { total: most, capped: true } : { total, capped: false };
}

async function read(
  rows: Rows,
  filter: Filter<Row>,
  segments: ReturnType<typeof segmentsOf>['list'],
  cursor: RowCursor | null,
  skip: number,
  limit: number,
): Promise<Found[]> {
  const found: Found[] = [];
  for (let at = cursor?.segment ?? 0; at < segments.length && found.length < limit; at++) {
    const segment = segments[at]!;
    const after = cursor && at === cursor.segment ? [segment.after(cursor.position)] : [];
    const page = await rows.find({ $and: [filter, segment.filter, ...after] } as Filter<Row>, {
      sort: segment.sort,
      skip,
      limit: limit - found.length,
    });
    found.push(...page.map((row) => ({ row, segment: at, position: segment.positionOf(row) })));
  }
  return found;
}
