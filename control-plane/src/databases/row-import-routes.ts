import { z } from 'zod';
import { MAX_CSV_ROWS } from '../csv-imports/csv-upload.ts';
import { defineOperation, streamBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { importResponse, toImportResponse } from '../imports/import-response.ts';
import { databaseTarget } from './database-routes.ts';
import type { RowImports } from './row-imports.ts';

const tag = 'Databases';
const feature = 'databases';

const importRequest = z
  .strictObject({ file: z.file().meta({ description: 'The CSV file, with its name.' }) })
  .meta({ id: 'ImportDatabaseRowsRequest' });

export function rowImportRoutes({
  imports,
  publicUrl,
}: {
  imports: RowImports;
  publicUrl: string;
}): Operation[] {
  return [
    defineOperation({
      id: 'importDatabaseRows',
      method: 'POST',
      path: '/v1/databases/{database_id}/import',
      ...{ tag, feature },
      summary: 'Import rows into a database',
      description:
        `A CSV file (UTF-8, or UTF-16 with a byte order mark; comma, semicolon or tab) of at most 20 MiB and ${MAX_CSV_ROWS} rows. ` +
        'Its header has the keys or the labels of columns; an empty cell is no value. The answer comes before the rows ' +
        'are read: the import tells how far it is, and which rows could not be imported.',
      access: { key: 'editor', user: 'editor' },
      target: databaseTarget,
      body: streamBody({ contentTypes: ['multipart/form-data'], described: importRequest }),
      responses: { 202: { description: 'The import', schema: importResponse } },
      errors: [400, 409],
      handle: async ({ scope, item: database, caller, body }) =>
        toImportResponse(await imports.begin(scope, database, caller, body), publicUrl),
    }),
  ];
}
