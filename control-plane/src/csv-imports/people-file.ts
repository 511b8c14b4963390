import { AppError } from '@parley/shared/errors/app-error';
import { BadCsvError } from './csv-records.ts';
import { MAX_CSV_ROWS } from './csv-upload.ts';
import { peopleColumns } from './people-columns.ts';
import type { PeopleColumns } from './people-columns.ts';

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
    if (++rows > MAX_CSV_ROWS)
      throw new AppError(413, 'too_large', `The file has more than ${MAX_CSV_ROWS} rows. Split it.`);
  }
  if (!columns) throw new BadCsvError('It is empty.');
  return columns;
}
