import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import type { Filter } from '../tenancy/scope.ts';
import { CELL_CHARACTERS, cellOf, cellsOf, cellsWithValue, orderEqual, orderWithValue } from './cells.ts';
import type { OrderRange } from './cells.ts';
import { parseText } from './database-columns.ts';
import type { Column } from './database-columns.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';

const OPS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'empty'] as const;
type Op = (typeof OPS)[number];
export const MAX_FILTERS = 10;
/** Of a filter as a whole; values that are compared are shorter than a cell. */
export const MAX_FILTER_CHARACTERS = 300;

export type Condition = Filter<DatabaseRowRecord>;

/** One filter on a column, as a condition on stored rows. */
export interface RowFilter {
  condition: Condition;
  /** No index finds it: the rows that the others leave are read one by one. */
  scans: boolean;
  /** The same as ranges of one ordered field, whose index counts them by its keys alone; null: there is none. */
  ranges: readonly Condition[] | null;
}

/**
 * Reads filters of the form `<column>:<op>:<value>`; `empty` may go without a value.
 * @throws ValidationError with an entry for each that says nothing about this database
 */
export function parseFilters(database: DatabaseRecord, texts: readonly string[]): RowFilter[] {
  const faults: ValidationDetail[] = [];
  if (texts.length > MAX_FILTERS)
    faults.push({
      loc: ['query', 'filter'],
      msg: `must be given at most ${MAX_FILTERS} times`,
      type: 'too_long',
    });
  const filters: RowFilter[] = [];
  for (const text of texts) {
    const parsed = parseFilter(database, text);
    if (typeof parsed === 'string')
      faults.push({ loc: ['query', 'filter'], msg: parsed, type: 'value_error' });
    else filters.push(parsed);
  }
  if (faults.length > 0) throw new ValidationError(faults);
  return filters;
}

/** @returns a sentence that says what is wrong, where something is */
function parseFilter(database: DatabaseRecord, text: string): RowFilter | string {
  const [, key, name, value] = /^([^:]*):([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
  const op = OPS.find((one) => one === name);
  if (key === undefined || op === undefined)
    return `must be <column>:<op>:<value>, with one of ${OPS.join(', ')}`;
  const column = database.columns.find((one) => one.key === key);
  if (!column) return 'must name a column of this database';
  const find = finderOf(database, column);
  if (op === 'empty') {
    if (value !== undefined && !['', 'true', 'false'].includes(value))
      return 'takes true or false after empty';
    return value === 'false' ? find.filled() : find.empty();
  }
  if (column.type === 'json') return `can only be asked whether it is empty: ${key} is of type json`;
  if (value === undefined || value === '') return `must have a value after ${op}`;
  if (op === 'contains') {
    if (!TEXTUAL.includes(column.type)) return `cannot contain a text: ${key} is of type ${column.type}`;
    return { condition: { [`values.${key}`]: containing(value) } as Condition, scans: true, ranges: null };
  }
  if (ORDERED.includes(op) && column.type === 'boolean') return `has no order: ${key} is of type boolean`;
  if (value.length >= CELL_CHARACTERS) return `must have a value of less than ${CELL_CHARACTERS} characters`;
  // What is no option, or no whole number, can still be compared with what is.
  const parsed = parseText(TEXTUAL.includes(column.type) ? { type: 'text', options: [] } : column, value);
  if ('msg' in parsed) return `${parsed.msg}: ${key} is of type ${column.type}`;
  return find.compared(op, parsed.value);
}

const TEXTUAL: readonly Column['type'][] = ['text', 'phone', 'enum'];
const ORDERED: readonly Op[] = ['gt', 'gte', 'lt', 'lte'];

/** How the values of one column are found. */
interface Finder {
  empty(): RowFilter;
  filled(): RowFilter;
  compared(op: Exclude<Op, 'contains' | 'empty'>, value: unknown): RowFilter;
}

function finderOf(database: DatabaseRecord, column: Column): Finder {
  const { slot } = database.known_keys[column.key]!;
  const unmarked = withoutCells(database, column);
  return slot === null
    ? byCells(column, unmarked)
    : byOrder(column, `order.c${slot}`, { always: unmarked === null });
}

/** @param always every row has the field; else one without it has no value */
function byOrder(column: Column, field: string, { always }: { always: boolean }): Finder {
  const { type } = column;
  const within = (range: Partial<OrderRange>): Condition => ({ [field]: range }) as Condition;
  const outside = (range: Partial<OrderRange>): Condition => ({ [field]: { $not: range } }) as Condition;
  const one = (range: OrderRange): RowFilter => ({
    condition: within(range),
    scans: false,
    ranges: [within(range)],
  });
  return {
    empty: () =>
      always
        ? one(orderEqual(type, null))
        : { condition: outside(orderWithValue(type)), scans: false, ranges: null },
    filled: () => one(orderWithValue(type)),
    compared(op, value) {
      const [all, equal] = [orderWithValue(type), orderEqual(type, value)];
      switch (op) {
        case 'eq':
          // The index of cells has equal ones in the order of their creation.
          return {
            ...one(equal),
            condition: { cells: cellOf(column, value), [field]: equal } as Condition,
          };
        case 'ne': {
          const [below, above] = [{ $gte: '', $lt: equal.$gte }, { $gte: equal.$lt }];
          return {
            condition: outside(equal),
            scans: false,
            ranges: always ? [within(below), within(above)] : null,
          };
        }
        case 'gt':
          return one({ $gte: equal.$lt, $lt: all.$lt });
        case 'gte':
          return one({ $gte: equal.$gte, $lt: all.$lt });
        case 'lt':
          return one({ $gte: all.$gte, $lt: equal.$gte });
        case 'lte':
          return one({ $gte: all.$gte, $lt: equal.$lt });
      }
    },
  };
}

/** @param unmarked rows without a value that have no cell of the column, either */
function byCells(column: Column, unmarked: Condition | null): Finder {
  const found = (condition: object): RowFilter => ({
    condition: condition as Condition,
    scans: false,
    ranges: null,
  });
  const orUnmarked = (condition: object): object => (unmarked ? { $or: [condition, unmarked] } : condition);
  return {
    empty: () => found(orUnmarked({ cells: cellOf(column, null) })),
    filled: () => found({ cells: { $elemMatch: cellsWithValue(column) } }),
    compared(op, value) {
      const cell = cellOf(column, value);
      if (op === 'eq') return found({ cells: cell });
      if (op === 'ne') return found(orUnmarked({ cells: { $elemMatch: { ...cellsOf(column), $ne: cell } } }));
      return found({ cells: { $elemMatch: { ...cellsWithValue(column), [`$${op}`]: cell } } });
    },
  };
}

function containing(text: string): { $regex: string; $options: string } {
  return { $regex: text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&'), $options: 'i' };
}

/** Rows that were made before the column was, and say nothing of it; null: there are none. */
export function withoutCells(database: DatabaseRecord, column: Pick<Column, 'key'>): Condition | null {
  const { since } = database.known_keys[column.key]!;
  if (since <= database.created_at) return null;
  return { created_at: { $lt: since }, cells: { $not: { $elemMatch: cellsOf(column) } } } as Condition;
}
