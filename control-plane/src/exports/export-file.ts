import { HttpResponse } from '../http/operation.ts';
import { BYTE_ORDER_MARK, csvLine } from './csv.ts';
import { textStream } from './text-stream.ts';

export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** What an answer with such a file is described by. */
export const EXPORT_RESPONSES = {
  200: { description: 'The records', contentType: 'text/csv', alsoAs: ['application/jsonl'] },
} as const;

type Page = readonly Readonly<Record<string, unknown>>[];
type Pages = AsyncIterable<Page> | Iterable<Page>;

/**
 * Records as a file that is written while it is read: CSV with a header of the columns, or an object a line.
 * @param name of the file, without its ending
 */
export function exportFile(
  { columns, format, name }: { columns: readonly string[]; format: ExportFormat; name: string },
  pages: Pages,
  signal: AbortSignal,
): HttpResponse {
  return new HttpResponse(200, textStream(written(columns, format, pages), signal), {
    'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl; charset=utf-8',
    'Content-Disposition': `attachment; filename="${name}.${format}"`,
    'Cache-Control': 'no-store',
  });
}

async function* written(
  columns: readonly string[],
  format: ExportFormat,
  pages: Pages,
): AsyncGenerator<string> {
  if (format === 'csv') yield BYTE_ORDER_MARK + csvLine(columns);
  for await (const page of pages)
    yield page
      .map((record) =>
        format === 'csv' ? csvLine(columns.map((name) => record[name])) : `${JSON.stringify(record)}\n`,
      )
      .join('');
}
