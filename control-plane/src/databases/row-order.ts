import { invalid } from '../http/validation.ts';
import type { Filter } from '../tenancy/scope.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';
import { withoutCells } from './row-filters.ts';

type Row = DatabaseRowRecord;
type Position = (string | number)[];

/** A part of an order that one query gives. */
export interface Segment {
  filter: Filter<Row>;
  sort: Record<string, 1 | -1>;
  positionOf(row: Row): Position;
  /** What comes behind a position. @throws ValidationError for one that is not of this segment */
  after(position: Position): Filter<Row>;
}

export interface RowOrder {
  list: Segment[];
  ofColumn: boolean;
  /** No index has it: rows are sorted in memory. */
  scans: boolean;
}

/**
 * The order of `sort`: a column, or a time of the rows. Rows without a value come last, whichever the direction.
 * @throws ValidationError for what is no such column
 */
export function segmentsOf(database: DatabaseRecord, sort: string): RowOrder {
  const direction = sort.startsWith('-') ? -1 : 1;
  const name = sort.replace(/^-/, '');
  if (name === 'created_at' || name === 'updated_at')
    return { list: [byTime(name, direction, {})], ofColumn: false, scans: false };
  const column = database.columns.find(({ key }) => key === name);
  if (!column)
    throw invalid(['query', 'sort'], 'must be created_at, updated_at or a column of this database');
  if (column.type === 'json') throw invalid(['query', 'sort'], `has no order: ${name} is of type json`);
  const { slot } = database.known_keys[name]!;
  if (slot === null) return { list: unindexed(name, direction), ofColumn: true, scans: true };
  const unmarked = withoutCells(database, column);
  return {
    list: [
      ordered(slot, direction, { $gt: '', $lt: '~' }),
      ordered(slot, 1, { $gte: '~' }),
      ...(unmarked ? [byTime('created_at', -1, unmarked)] : []),
    ],
    ofColumn: true,
    scans: false,
  };
}

/** By the field that holds the column's values in their order. */
function ordered(slot: number, direction: 1 | -1, range: Record<string, string>): Segment {
  const field = `order.c${slot}`;
  return {
    filter: { [field]: range } as Filter<Row>,
    sort: { [field]: direction },
    positionOf: (row) => [row.order[`c${slot}`]!],
    after: (position) =>
      ({ [field]: { [direction === 1 ? '$gt' : '$lt']: text(position[0]) } }) as Filter<Row>,
  };
}

function byTime(field: 'created_at' | 'updated_at', direction: 1 | -1, filter: Filter<Row>): Segment {
  const [beyond, from] = direction === 1 ? ['$gt', '$gte'] : ['$lt', '$lte'];
  return {
    filter,
    sort: { [field]: direction, _id: direction },
    positionOf: (row) => [row[field].getTime(), row._id],
    after: ([ms, id]) => {
      const time = new Date(typeof ms === 'number' ? ms : NaN);
      if (Number.isNaN(time.getTime())) throw foreign();
      return {
        [field]: { [from]: time },
        $or: [{ [field]: { [beyond]: time } }, { [field]: time, _id: { [beyond]: text(id) } }],
      } as Filter<Row>;
    },
  };
}

/** By the values as they are stored: the one type of a column has one order. */
function unindexed(key: string, direction: 1 | -1): Segment[] {
  const field = `values.${key}`;
  const beyond = direction === 1 ? '$gt' : '$lt';
  return [
    {
      filter: { [field]: { $ne: null } } as Filter<Row>,
      sort: { [field]: direction, _id: direction },
      positionOf: (row) => {
        const value = row.values[key];
        return [typeof value === 'boolean' ? Number(value) : (value as string | number), row._id];
      },
      after: ([value, id]) => {
        if (value === undefined) throw foreign();
        return {
          $or: [{ [field]: { [beyond]: value } }, { [field]: value, _id: { [beyond]: text(id) } }],
        } as Filter<Row>;
      },
    },
    byTime('created_at', -1, { [field]: null } as Filter<Row>),
  ];
}

function text(value: string | number | undefined): string {
  if (typeof value !== 'string') throw foreign();
  return value;
}

function foreign() {
  return invalid(['query', 'cursor'], 'must be the `next_cursor` of a page');
}
