import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { cellOf, orderText } from './cells.ts';
import { parseValue } from './database-columns.ts';
import type { Column } from './database-columns.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';

type Values = DatabaseRowRecord['values'];

/**
 * Values that a client sent, in the form that is stored; null where there shall be none.
 * @param loc where they stand in the request
 * @throws ValidationError with an entry for each column that is unknown and each value that does not fit
 */
export function checkValues(
  columns: readonly Column[],
  sent: Readonly<Record<string, unknown>>,
  loc: readonly (string | number)[],
): Values {
  const byKey = new Map(columns.map((column) => [column.key, column]));
  const faults: ValidationDetail[] = [];
  const values: Values = {};
  for (const [key, value] of Object.entries(sent)) {
    const column = byKey.get(key);
    if (!column) {
      faults.push({ loc: [...loc, key], msg: 'is no column of this database', type: 'extra_forbidden' });
      continue;
    }
    const parsed = value === null ? { value: null } : parseValue(column, value);
    if ('value' in parsed) values[key] = parsed.value;
    else faults.push({ loc: [...loc, key], ...parsed });
  }
  if (faults.length > 0) throw new ValidationError(faults);
  return values;
}

/** The values of a row, and what it is found and sorted by. */
export function rowContent(
  database: Pick<DatabaseRecord, 'known_keys'>,
  rowId: string,
  given: Values,
): Pick<DatabaseRowRecord, 'values' | 'cells' | 'order'> {
  const values = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const cells: string[] = [];
  const order: Record<string, string> = {};
  // Of every key there ever was: a column that is taken in again finds its rows.
  for (const [key, { type, slot }] of Object.entries(database.known_keys)) {
    cells.push(cellOf({ key, type }, values[key]));
    if (slot !== null) order[`c${slot}`] = orderText(type, values[key], rowId);
  }
  return { values, cells, order };
}

/** Telephone numbers in the values: of whom the row is about. */
export function numbersIn(columns: readonly Column[], values: Readonly<Values>): string[] {
  // The session's own say more than whom it was with: its other end is the project's.
  const named = columns.filter(({ type, source }) => type === 'phone' && source.from !== 'session');
  return named.map(({ key }) => values[key]).filter((value) => typeof value === 'string');
}
