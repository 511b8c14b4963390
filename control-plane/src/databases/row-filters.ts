import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import type { Filter } from '../tenancy/scope.ts';
import { CELL_CHARACTERS, cellOf, cellsOf, cellsWithValue } from './cells.ts';
import { parseText } from './database-columns.ts';
import type { Column } from './database-columns.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';

const OPS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains', 'empty'] as const;
type Op = (typeof OPS)[number];
export const MAX_FILTERS = 10;
/** Of a filter as a whole; values that are compared are shorter than a cell. */
export const MAX_FILTER_CHARACTERS = 300;

type Condition = Filter<DatabaseRowRecord>;

/** One filter on a column, as a condition on stored rows. */
export interface RowFilter {
  condition: Condition;
  /** No index finds it: the rows that the others leave are read one by one. */
  scans: boolean;
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
  const unmarked = withoutCells(database, column);
  const orUnmarked = (condition: Condition): Condition =>
    unmarked ? ({ $or: [condition, unmarked] } as Condition) : condition;
  if (op === 'empty') {
    if (value !== undefined && !['', 'true', 'false'].includes(value))
      return 'takes true or false after empty';
    if (value === 'false') return found({ cells: { $elemMatch: cellsWithValue(column) } } as Condition);
    return found(orUnmarked({ cells: cellOf(column, null) }));
  }
  if (column.type === 'json') return `can only be asked whether it is empty: ${key} is of type json`;
  if (value === undefined || value === '') return `must have a value after ${op}`;
  if (op === 'contains') {
    if (!TEXTUAL.includes(column.type)) return `cannot contain a text: ${key} is of type ${column.type}`;
    return { condition: { [`values.${key}`]: containing(value) } as Condition, scans: true };
  }
  if (ORDERED.includes(op) && column.type === 'boolean') return `has no order: ${key} is of type boolean`;
  if (value.length >= CELL_CHARACTERS) return `must have a value of less than ${CELL_CHARACTERS} characters`;
  // What is no option, or no whole number, can still be compared with what is.
  const parsed = parseText(TEXTUAL.includes(column.type) ? { type: 'text', options: [] } : column, value);
  if ('msg' in parsed) return `${parsed.msg}: ${key} is of type ${column.type}`;
  const cell = cellOf(column, parsed.value);
  if (op === 'eq') return found({ cells: cell });
  if (op === 'ne')
    return found(orUnmarked({ cells: { $elemMatch: { ...cellsOf(column), $ne: cell } } } as Condition));
  return found({ cells: { $elemMatch: { ...cellsWithValue(column), ...bound(op, cell) } } } as Condition);
}

const TEXTUAL: readonly Column['type'][] = ['text', 'phone', 'enum'];
const ORDERED: readonly Op[] = ['gt', 'gte', 'lt', 'lte'];

function found(condition: Condition): RowFilter {
  return { condition, scans: false };
}

function bound(op: Op, cell: string): Record<string, string> {
  switch (op) {
    // The lower bound of all values of the column is `$gte`; a second lower bound goes beside it.
    case 'gt':
      return { $gt: cell };
    case 'gte':
      return { $gte: cell };
    case 'lt':
      return { $lt: cell };
    default:
      return { $lte: cell };
  }
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
