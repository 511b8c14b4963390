import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';
import { parseText } from './database-columns.ts';
import type { Column } from './database-columns.ts';
import type { Problem } from '../imports/import-kind.ts';
import { BadCsvError } from '../csv-imports/csv-records.ts';

/** Names that a sentence lists. */
const MOST_NAMED = 10;

/**
 * The columns that the cells of a file are for, by the keys or the labels in its header.
 * @throws BadCsvError for names that the database does not have, and for a column that is named twice
 */
export function columnsOf({ columns }: Pick<DatabaseRecord, 'columns'>, header: readonly string[]): Column[] {
  const names = header.map((name) => name.trim());
  const found = names.map(
    (name) => columns.find(({ key }) => key === name) ?? columns.find(({ label }) => label === name),
  );
  const unknown = names.filter((_, n) => !found[n]);
  if (unknown.length > 0)
    throw new BadCsvError(
      `The header names columns that the database does not have: ${listed(unknown)}. Use their keys or labels.`,
    );
  const known = found as Column[];
  const again = known.filter((column, n) => known.indexOf(column) !== n);
  if (again.length > 0)
    throw new BadCsvError(`The header names columns twice: ${listed(again.map(({ key }) => key))}.`);
  return known;
}

/** The values of a record, or all that is wrong with it. An empty cell is no value. */
export function valuesOf(
  columns: readonly Column[],
  cells: readonly string[],
): { values: DatabaseRowRecord['values'] } | { problems: Problem[] } {
  if (cells.length !== columns.length)
    return {
      problems: [{ column: '', msg: `has ${cells.length} cells, and the header has ${columns.length}` }],
    };
  const values: DatabaseRowRecord['values'] = {};
  const problems: Problem[] = [];
  for (const [n, column] of columns.entries()) {
    if (cells[n] === '') continue;
    const parsed = parseText(column, cells[n]!);
    if ('value' in parsed) values[column.key] = parsed.value;
    else problems.push({ column: column.key, msg: parsed.msg });
  }
  return problems.length > 0 ? { problems } : { values };
}

function listed(names: readonly string[]): string {
  const some = names.slice(0, MOST_NAMED).map((name) => JSON.stringify(name.slice(0, 64)));
  return names.length > MOST_NAMED
    ? `${some.join(', ')} and ${names.length - MOST_NAMED} more`
    : some.join(', ');
}
