import { z } from 'zod';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, idSchema, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { item } from '../tenancy/target.ts';
import { databaseCollection, databaseRowCollection } from './database-model.ts';
import { databaseTarget } from './database-routes.ts';
import type { RowStore } from './row-store.ts';
import { listRows } from './row-pages.ts';
import {
  createRowRequest,
  patchRowRequest,
  ROW_READ_ONLY,
  rowResponse,
  toRowResponse,
} from './row-schema.ts';

const rowTarget = item(databaseRowCollection, 'row_id');
const tag = 'Databases';
const feature = 'databases';
const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;

export function rowRoutes({ rows }: { rows: RowStore }): Operation[] {
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
      query: listQuery({
        filters: {
          session_id: anyOf(z.uuid()).optional(),
          agent_id: anyOf(idSchema('agt')).optional(),
        },
      }),
      responses: { 200: { description: 'A page of rows', schema: listOf(rowResponse) } },
      handle: async ({ scope, item: database, query }) =>
        toPage(await listRows(scope, database, query), (row) => toRowResponse(database, row)),
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
