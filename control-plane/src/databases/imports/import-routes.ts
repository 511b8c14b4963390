import { MAX_CSV_ROWS } from '../../csv-imports/csv-upload.ts';
import { textStream } from '../../exports/text-stream.ts';
import { defineOperation, HttpResponse, streamBody } from '../../http/operation.ts';
import type { Operation } from '../../http/operation.ts';
import { item } from '../../tenancy/target.ts';
import { databaseTarget } from '../database-routes.ts';
import { importCollection } from './import-model.ts';
import { importRequest, importResponse, toImportResponse } from './import-schema.ts';
import type { ImportService } from './import-service.ts';

const importTarget = item(importCollection, 'import_id');
const tag = 'Databases';
const feature = 'databases';
const READ = { key: 'viewer', user: 'viewer' } as const;

export function importRoutes({
  imports,
  publicUrl,
}: {
  imports: ImportService;
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
      handle: async ({ scope, item: database, body }) =>
        toImportResponse(await imports.begin(scope, database, body), publicUrl),
    }),
    defineOperation({
      id: 'getDatabaseImport',
      method: 'GET',
      path: '/v1/imports/{import_id}',
      ...{ tag, feature },
      summary: 'Get an import',
      description: 'How far it is, and what became of it; for 30 days.',
      access: READ,
      target: importTarget,
      responses: { 200: { description: 'The import', schema: importResponse } },
      handle: ({ item: found }) => toImportResponse(found, publicUrl),
    }),
    defineOperation({
      id: 'exportDatabaseImportErrors',
      method: 'GET',
      path: '/v1/imports/{import_id}/errors',
      ...{ tag, feature },
      summary: 'Export the errors of an import',
      description:
        'A CSV file with a line for each thing that is wrong: the number of the row (from 1, without the header), the key of ' +
        'the column (empty: the row as a whole), and the problem.',
      access: READ,
      target: importTarget,
      responses: { 200: { description: 'The errors', contentType: 'text/csv' } },
      handle: ({ scope, item: found, signal }) =>
        new HttpResponse(200, textStream(imports.errors(scope, found), signal), {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': `attachment; filename="${found._id}.csv"`,
          'Cache-Control': 'no-store',
        }),
    }),
  ];
}
