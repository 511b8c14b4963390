import { BYTE_ORDER_MARK, csvLine } from '../exports/csv.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';
import { toRowResponse } from './row-schema.ts';

type Pages = AsyncIterable<DatabaseRowRecord[]>;

/** Header of the labels, then a record for each row: RFC 4180, UTF-8 with a byte order mark. */
export async function* rowsAsCsv(database: DatabaseRecord, pages: Pages): AsyncGenerator<string> {
  const { columns } = database;
  yield BYTE_ORDER_MARK + csvLine(columns.map(({ label }) => label));
  for await (const rows of pages)
    yield rows.map(({ values }) => csvLine(columns.map(({ key }) => values[key]))).join('');
}

/** `{"items": […]}`, rows as the list shows them. */
export async function* rowsAsJson(database: DatabaseRecord, pages: Pages): AsyncGenerator<string> {
  let separator = '{"items":[\n';
  for await (const rows of pages) {
    yield separator + rows.map((row) => JSON.stringify(toRowResponse(database, row))).join(',\n');
    separator = ',\n';
  }
  yield separator === ',\n' ? '\n]}' : '{"items":[]}';
}
