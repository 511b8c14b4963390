import { textStream } from '../exports/text-stream.ts';
import { defineOperation, HttpResponse } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { item } from '../tenancy/target.ts';
import { importCollection } from './import-model.ts';
import { importResponse, toImportResponse } from './import-response.ts';
import type { ImportService } from './import-service.ts';

const importTarget = item(importCollection, 'import_id');
const tag = 'Imports';
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
      id: 'getImport',
      method: 'GET',
      path: '/v1/imports/{import_id}',
      tag,
      summary: 'Get an import',
      description: 'How far it is, and what became of it; for 30 days.',
      access: READ,
      target: importTarget,
      responses: { 200: { description: 'The import', schema: importResponse } },
      handle: ({ item: found }) => toImportResponse(found, publicUrl),
    }),
    defineOperation({
      id: 'exportImportErrors',
      method: 'GET',
      path: '/v1/imports/{import_id}/errors',
      tag,
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
