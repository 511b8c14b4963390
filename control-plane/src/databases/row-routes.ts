import { z } from 'zod';
import { anyOf, listQuery, toPage } from '../http/list-query.ts';
import type { AuditLog } from '../audit/audit-trail.ts';
import { textStream } from '../exports/text-stream.ts';
import { defineOperation, HttpResponse, idSchema, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { item } from '../tenancy/target.ts';
import { databaseCollection, databaseRowCollection } from './database-model.ts';
import { databaseTarget } from './database-routes.ts';
import type { RowStore } from './row-store.ts';
import { rowsAsCsv, rowsAsJson } from './row-export.ts';
import { MAX_FILTER_CHARACTERS } from './row-filters.ts';
import { listRows, MAX_SCANNED, selectRows } from './row-pages.ts';
import {
  createRowRequest,
  patchRowRequest,
  ROW_READ_ONLY,
  rowPageResponse,
  rowResponse,
  toRowResponse,
} from './row-schema.ts';

const rowTarget = item(databaseRowCollection, 'row_id');
const tag = 'Databases';
const feature = 'databases';
const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;

/** What it writes to the audit trail. */
export const ROW_AUDIT = ['database.exported'] as const;

/** Rows that are read, and held, at a time. */
const EXPORT_PAGE = 500;

const selection = {
  session_id: anyOf(z.uuid()).optional(),
  agent_id: anyOf(idSchema('agt')).optional(),
  filter: anyOf(z.string().min(1).max(MAX_FILTER_CHARACTERS))
    .optional()
    .meta({
      description:
        '`<column>:<op>:<value>`, such as `score:gte:50`, up to 10 that must all hold. `eq`, `ne`, `gt`, `gte`, `lt`, `lte` ' +
        'compare; `contains` finds a part of a text in any case, where the other filters leave at most ' +
        `${MAX_SCANNED} rows; \`empty\` is followed by \`true\` or \`false\`.`,
    }),
};
const SORTS = ['created_at', '-created_at', 'updated_at', '-updated_at'];
const { limit, offset, created_after, created_before } = listQuery().shape;

const rowQuery = z.object({
  limit,
  offset,
  created_after,
  created_before,
  ...selection,
  sort: z
    .union([z.enum(SORTS), z.string().regex(/^-?[a-z][a-z0-9_]{0,63}$/, 'must name a column')])
    .default('-created_at')
    .meta({
      description:
        '`created_at`, `updated_at` or a column; prefix `-` for descending order. Rows without a value come last.',
    }),
  cursor: z
    .string()
    .max(2000)
    .optional()
    .meta({ description: '`next_cursor` of the page before. Pages by cursor repeat and skip no row.' }),
});

export function rowRoutes({
  rows,
  audit,
}: {
  rows: RowStore;
  audit: AuditLog<(typeof ROW_AUDIT)[number]>;
}): Operation[] {
  return [
    defineOperation({
      id: 'listDatabaseRows',
      method: 'GET',
      path: '/v1/databases/{database_id}/rows',
      tag,
      feature,
      summary: 'List rows of a database',
      access: READ,
      target: databaseTarget,
      query: rowQuery,
      responses: { 200: { description: 'A page of rows', schema: rowPageResponse } },
      handle: async ({ scope, item: database, query }) => {
        const { next_cursor, ...page } = await listRows(scope, database, query, rows);
        return { ...toPage(page, (row) => toRowResponse(database, row)), next_cursor };
      },
    }),
    defineOperation({
      id: 'exportDatabase',
      method: 'GET',
      path: '/v1/databases/{database_id}/export',
      tag,
      feature,
      summary: 'Export the rows of a database',
      description:
        'All rows that the filters leave, oldest first: as CSV (RFC 4180, UTF-8 with a byte order mark, the labels as its ' +
        'header; texts that a spreadsheet would run begin with an apostrophe), or as JSON with all `items`.',
      access: READ,
      target: databaseTarget,
      query: z.object({
        format: z.enum(['csv', 'json']).default('csv').meta({ description: 'Format of the file.' }),
        created_after,
        created_before,
        ...selection,
      }),
      responses: {
        200: { description: 'The rows', contentType: 'text/csv', alsoAs: ['application/json'] },
      },
      handle: async ({ scope, item: database, query, caller, address, signal }) => {
        const pages = await selectRows(scope, database, query, EXPORT_PAGE, rows);
        await audit.record({ scope, caller, address, action: 'database.exported', target: database._id });
        const [write, type] =
          query.format === 'json' ? [rowsAsJson, 'application/json'] : [rowsAsCsv, 'text/csv; charset=utf-8'];
        return new HttpResponse(200, textStream(write(database, pages), signal), {
          'Content-Type': type,
          'Content-Disposition': `attachment; filename="${database._id}.${query.format}"`,
          'Cache-Control': 'no-store',
        });
      },
    }),
    defineOperation({
      id: 'createDatabaseRow',
      method: 'POST',
      path: '/v1/databases/{database_id}/rows',
      tag,
      feature,
      summary: 'Add a row to a database',
      access: WRITE,
      target: databaseTarget,
      body: jsonBody(createRowRequest, { readOnly: ROW_READ_ONLY }),
      responses: { 201: { description: 'The row', schema: rowResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ item: database, body }) =>
        toRowResponse(database, await rows.create(database, body.values)),
    }),
    defineOperation({
      id: 'updateDatabaseRow',
      method: 'PATCH',
      path: '/v1/databases/{database_id}/rows/{row_id}',
      tag,
      feature,
      summary: 'Update a row of a database',
      access: WRITE,
      target: rowTarget,
      body: patchBody(patchRowRequest, { readOnly: ROW_READ_ONLY }),
      responses: { 200: { description: 'The row', schema: rowResponse } },
      handle: async ({ scope, item: row, body }) => {
        const database = await scope.collection(databaseCollection).get(row.database_id);
        return toRowResponse(database, await rows.update(scope, database, row, body.values));
      },
    }),
    defineOperation({
      id: 'deleteDatabaseRow',
      method: 'DELETE',
      path: '/v1/databases/{database_id}/rows/{row_id}',
      tag,
      feature,
      summary: 'Delete a row of a database',
      access: WRITE,
      target: rowTarget,
      responses: { 204: { description: 'Deleted' } },
      handle: ({ scope, item: row }) => rows.delete(scope, row),
    }),
  ];
}
