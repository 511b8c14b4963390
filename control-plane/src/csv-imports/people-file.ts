import { z } from 'zod';
import { AppError } from '@parley/shared/errors/app-error';
import { queryBoolean } from '../http/list-query.ts';
import { BadCsvError } from './csv-records.ts';
import { peopleColumns } from './people-columns.ts';
import type { PeopleColumns } from './people-columns.ts';

/** Rows that are read before the answer. */
export const MAX_ROWS_AT_ONCE = 5000;

export const importQuery = z.object({
  async: queryBoolean.optional().meta({
    description:
      'Whether the answer comes before the rows are read: it is an import, which tells how far it is and lists every bad row.',
  }),
});

/**
 * Reads a whole CSV file of people once, so that one that breaks off or is too long changes nothing.
 * @throws BadCsvError; AppError 413 `too_large`
 */
export async function checkPeople(
  records: AsyncIterable<string[]>,
  defaultCountry: string | undefined,
): Promise<PeopleColumns> {
  let columns: PeopleColumns | undefined;
  let rows = -1;
  for await (const cells of records) {
    columns ??= peopleColumns(cells, { defaultCountry });
    if (++rows > MAX_ROWS_AT_ONCE)
      throw new AppError(
        413,
        'too_large',
        `The file has more than ${MAX_ROWS_AT_ONCE} rows. Import it with ?async=true.`,
      );
  }
  if (!columns) throw new BadCsvError('It is empty.');
  return columns;
}
