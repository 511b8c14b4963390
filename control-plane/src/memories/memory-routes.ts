import { z } from 'zod';
import { agentTarget } from '../agents/agent-target.ts';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { item } from '../tenancy/target.ts';
import { memoryCollection } from './memory-model.ts';
import {
  createMemoryRequest,
  deletedMemoriesResponse,
  MEMORY_READ_ONLY,
  memoryKind,
  memoryResponse,
  memorySubject,
  patchMemoryRequest,
  toMemoryResponse,
} from './memory-schema.ts';
import type { MemoryService } from './memory-service.ts';

const memory = item(memoryCollection, 'memory_id');
const tag = 'Memories';
const feature = 'memories';

export function memoryRoutes({ memories }: { memories: MemoryService }): Operation[] {
  return [
    defineOperation({
      id: 'listMemories',
      method: 'GET',
      path: '/v1/agents/{agent_id}/memories',
      tag,
      feature,
      summary: 'List memories of an agent',
      access: { key: 'viewer', user: 'viewer' },
      target: agentTarget,
      query: listQuery({
        filters: {
          subject: anyOf(memorySubject).optional(),
          kind: anyOf(memoryKind).optional(),
          session_id: anyOf(z.uuid()).optional(),
        },
      }),
      responses: { 200: { description: 'A page of memories', schema: listOf(memoryResponse) } },
      handle: async ({ scope, item: found, query }) =>
        toPage(await memories.list(scope, found._id, query), toMemoryResponse),
    }),
    defineOperation({
      id: 'createMemory',
      method: 'POST',
      path: '/v1/agents/{agent_id}/memories',
      tag,
      feature,
      summary: 'Create a memory',
      access: { key: 'editor', user: 'editor' },
      target: agentTarget,
      body: jsonBody(createMemoryRequest, { readOnly: MEMORY_READ_ONLY }),
      responses: { 201: { description: 'The memory', schema: memoryResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, item: found, body }) =>
        toMemoryResponse(await memories.create(scope, found._id, body)),
    }),
    defineOperation({
      id: 'forgetMemories',
      method: 'DELETE',
      path: '/v1/agents/{agent_id}/memories',
      tag,
      feature,
      summary: 'Delete all memories of a person',
      access: { key: 'admin', user: 'admin' },
      target: agentTarget,
      query: z.object({ subject: memorySubject }),
      responses: { 200: { description: 'The number of deleted records', schema: deletedMemoriesResponse } },
      handle: async ({ scope, caller, item: found, query, address }) => ({
        deleted: await memories.forget(scope, caller, found._id, query.subject, { address }),
      }),
    }),
    defineOperation({
      id: 'updateMemory',
      method: 'PATCH',
      path: '/v1/memories/{memory_id}',
      tag,
      feature,
      summary: 'Update a memory',
      access: { key: 'editor', user: 'editor' },
      target: memory,
      body: patchBody(patchMemoryRequest, { readOnly: [...MEMORY_READ_ONLY, 'subject', 'kind'] }),
      responses: { 200: { description: 'The memory', schema: memoryResponse } },
      handle: async ({ scope, item: found, body }) =>
        toMemoryResponse(await memories.update(scope, found, body)),
    }),
    defineOperation({
      id: 'deleteMemory',
      method: 'DELETE',
      path: '/v1/memories/{memory_id}',
      tag,
      feature,
      summary: 'Delete a memory',
      access: { key: 'editor', user: 'editor' },
      target: memory,
      responses: { 204: { description: 'Deleted' } },
      handle: ({ scope, item: found }) => memories.delete(scope, found),
    }),
  ];
}
