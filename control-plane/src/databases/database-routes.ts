import { z } from 'zod';
import { anyOf, listOf, listQuery, queryInteger, toPage } from '../http/list-query.ts';
import { defineOperation, idSchema, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { pageOf } from '../storage/memory-page.ts';
import { inProject, item, within } from '../tenancy/target.ts';
import { databaseCollection } from './database-model.ts';
import {
  attachDatabaseAgentRequest,
  createDatabaseRequest,
  DATABASE_READ_ONLY,
  databaseAgentResponse,
  databaseResponse,
  patchDatabaseRequest,
  toDatabaseResponse,
} from './database-schema.ts';
import type { DatabaseService } from './database-service.ts';

/** The database that a path names. */
export const databaseTarget = item(databaseCollection, 'database_id');
/** Whether it is attached is the handler's to say: one that is not is 404, too. */
const attachedAgent = within(databaseTarget, 'agent_id', ({ item: database }, agentId) =>
  database.agent_ids.includes(agentId),
);
const tag = 'Databases';
const feature = 'databases';
const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;

export function databaseRoutes({ databases }: { databases: DatabaseService }): Operation[] {
  return [
    defineOperation({
      id: 'listDatabases',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/databases',
      tag,
      feature,
      summary: 'List databases',
      access: READ,
      target: inProject,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: { kind: anyOf(z.enum(['auto', 'custom'])).optional() },
      }),
      responses: { 200: { description: 'A page of databases', schema: listOf(databaseResponse) } },
      handle: async ({ scope, query }) => toPage(await databases.list(scope, query), toDatabaseResponse),
    }),
    defineOperation({
      id: 'createDatabase',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/databases',
      tag,
      feature,
      summary: 'Create a database',
      description:
        'A table of calls. Once agents are attached, each of their sessions becomes a row when its analyses are done: ' +
        'every column is filled from its source. A value that is not of the type of its column is left out.',
      access: WRITE,
      target: inProject,
      body: jsonBody(createDatabaseRequest, { readOnly: DATABASE_READ_ONLY }),
      responses: { 201: { description: 'The database', schema: databaseResponse } },
      idempotent: {},
      handle: async ({ scope, body }) => toDatabaseResponse(await databases.create(scope, body)),
    }),
    defineOperation({
      id: 'getDatabase',
      method: 'GET',
      path: '/v1/databases/{database_id}',
      tag,
      feature,
      summary: 'Get a database',
      access: READ,
      target: databaseTarget,
      responses: { 200: { description: 'The database', schema: databaseResponse } },
      handle: ({ item: database }) => toDatabaseResponse(database),
    }),
    defineOperation({
      id: 'updateDatabase',
      method: 'PATCH',
      path: '/v1/databases/{database_id}',
      tag,
      feature,
      summary: 'Update a database',
      description:
        '`columns` replaces all of them. A key keeps its type. Values of a column that is left out are kept, and shown ' +
        'again when a column has its key again.',
      access: WRITE,
      target: databaseTarget,
      body: patchBody(patchDatabaseRequest, { readOnly: DATABASE_READ_ONLY }),
      responses: { 200: { description: 'The database', schema: databaseResponse } },
      handle: async ({ scope, item: database, body }) =>
        toDatabaseResponse(await databases.update(scope, database, body)),
    }),
    defineOperation({
      id: 'deleteDatabase',
      method: 'DELETE',
      path: '/v1/databases/{database_id}',
      tag,
      feature,
      summary: 'Delete a database',
      description: 'Deletes its rows, too.',
      access: WRITE,
      target: databaseTarget,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: ({ scope, item: database }) => databases.delete(scope, database),
    }),
    defineOperation({
      id: 'listDatabaseAgents',
      method: 'GET',
      path: '/v1/databases/{database_id}/agents',
      tag,
      feature,
      summary: 'List agents of a database',
      access: READ,
      target: databaseTarget,
      query: z.object({
        limit: queryInteger(1, 200).default(50),
        offset: queryInteger(0, 100_000).default(0),
      }),
      responses: { 200: { description: 'A page of agents', schema: listOf(databaseAgentResponse) } },
      handle: ({ item: database, query }) =>
        toPage(pageOf(database.agent_ids, query), (agent_id) => ({ agent_id })),
    }),
    defineOperation({
      id: 'attachDatabaseAgent',
      method: 'POST',
      path: '/v1/databases/{database_id}/agents',
      tag,
      feature,
      summary: 'Attach an agent to a database',
      description: 'Sessions that end from now on become rows.',
      access: WRITE,
      target: databaseTarget,
      body: jsonBody(attachDatabaseAgentRequest),
      responses: { 200: { description: 'The agent', schema: databaseAgentResponse } },
      idempotent: {},
      handle: async ({ scope, item: database, body }) => {
        await databases.attach(scope, database, body.agent_id);
        return { agent_id: body.agent_id };
      },
    }),
    defineOperation({
      id: 'detachDatabaseAgent',
      method: 'DELETE',
      path: '/v1/databases/{database_id}/agents/{agent_id}',
      tag,
      feature,
      summary: 'Detach an agent from a database',
      description: 'Its rows stay.',
      access: WRITE,
      target: attachedAgent,
      params: { agent_id: idSchema('agt') },
      responses: { 204: { description: 'Detached' } },
      errors: [409],
      handle: ({ scope, item: database, params }) => databases.detach(scope, database, params.agent_id),
    }),
  ];
}
