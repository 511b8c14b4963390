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
import { segmentsOf } from './row-order.ts';

/** Rows that may be read one by one for a page. */
export const MAX_SCANNED = 50_000;

type Row = DatabaseRowRecord;
type Rows = ScopedCollection<Row>;

/** Which rows, whatever their order. */
export type RowSelection = Pick<ListInput, 'created_after' | 'created_before'> &
  AnyOf<Row, 'session_id' | 'agent_id'> & { filter?: string[] | undefined };

export type RowList = RowSelection & ListInput & { cursor?: string | undefined };

export type RowPage = ListPage<Row> & { next_cursor: string | null };

/**
 * A page of the rows of a database. Pages by cursor neither repeat nor skip a row that stays as it is, in any order.
 * @throws ValidationError for filters and orders that the database does not have, or that would read too many rows
 */
export async function listRows(scope: Scope, database: DatabaseRecord, list: RowList): Promise<RowPage> {
  const rows = scope.collection(databaseRowCollection);
  const { filter, unfiltered } = await selected(rows, database, list);
  const segments = segmentsOf(database, list.sort);
  if (segments.scans) await checkScan(rows, filter, ['query', 'sort']);
  if (list.offset > 0 && (list.cursor !== undefined || segments.ofColumn))
    throw invalid(
      ['query', 'offset'],
      'must be 0 with a cursor or a sort by column: pages go on by `next_cursor`',
    );
  const cursor = list.cursor === undefined ? null : decodeCursor(list.cursor, list.sort);
  const [total, found] = await Promise.all([
    cursor?.total ?? totalOf(rows, database, filter, unfiltered),
    read(rows, filter, segments.list, cursor, list.offset, list.limit + 1),
  ]);
  const shown = found.slice(0, list.limit);
  const last = shown.at(-1);
  const next_cursor =
    last && found.length > list.limit
      ? encodeCursor({ sort: list.sort, total, segment: last.segment, position: last.position })
      : null;
  const items = shown.map(({ row }) => row);
  return total > TOTAL_LIMIT
    ? { items, total: TOTAL_LIMIT, total_capped: true, next_cursor }
    : { items, total, next_cursor };
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
): Promise<AsyncGenerator<Row[], void, undefined>> {
  const rows = scope.collection(databaseRowCollection);
  const { filter } = await selected(rows, database, selection);
  const { list } = segmentsOf(database, 'created_at');
  return (async function* pages() {
    let cursor: RowCursor | null = null;
    for (;;) {
      const found: Found[] = await read(rows, filter, list, cursor, 0, pageSize);
      if (found.length > 0) yield found.map(({ row }) => row);
      const last = found.at(-1);
      if (!last || found.length < pageSize) return;
      cursor = { sort: 'created_at', total: 0, segment: last.segment, position: last.position };
    }
  })();
}

interface Found {
  row: Row;
  segment: number;
  position: (string | number)[];
}

async function selected(
  rows: Rows,
  database: DatabaseRecord,
  selection: RowSelection,
): Promise<{ filter: Filter<Row>; unfiltered: boolean }> {
  const { session_id, agent_id } = selection;
  const times = commonFilter({ ...selection, limit: 1, offset: 0, sort: '' });
  const own = { ...times, ...equalities({ session_id, agent_id }) };
  const filters = parseFilters(database, selection.filter ?? []);
  const conditions = (scans: boolean) =>
    filters.filter((one) => one.scans === scans).map(({ condition }) => condition);
  const indexed = { $and: [{ database_id: database._id, ...own }, ...conditions(false)] } as Filter<Row>;
  const scanned = conditions(true);
  if (scanned.length > 0) await checkScan(rows, indexed, ['query', 'filter']);
  return {
    filter: scanned.length > 0 ? ({ $and: [indexed, ...scanned] } as Filter<Row>) : indexed,
    unfiltered: filters.length === 0 && Object.keys(own).length === 0,
  };
}

/** @throws ValidationError `too_many_rows` */
async function checkScan(rows: Rows, filter: Filter<Row>, loc: string[]): Promise<void> {
  if ((await rows.count(filter, { limit: MAX_SCANNED + 1 })) <= MAX_SCANNED) return;
  throw invalid(
    loc,
    `would read more than ${MAX_SCANNED} rows one by one: add filters that leave fewer`,
    'too_many_rows',
  );
}

function totalOf(
  rows: Rows,
  database: DatabaseRecord,
  filter: Filter<Row>,
  unfiltered: boolean,
): Promise<number> | number {
  // Counting stops there anyway.
  if (unfiltered && database.row_count > TOTAL_LIMIT) return TOTAL_LIMIT + 1;
  return rows.count(filter, { limit: TOTAL_LIMIT + 1 });
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
