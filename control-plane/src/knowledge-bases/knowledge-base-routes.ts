import type { AuditLog } from '../audit/audit-trail.ts';
import { listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inProject, item } from '../tenancy/target.ts';
import { knowledgeBaseCollection } from './knowledge-base-model.ts';
import {
  createKnowledgeBaseRequest,
  KNOWLEDGE_BASE_READ_ONLY,
  knowledgeBaseResponse,
  patchKnowledgeBaseRequest,
  toKnowledgeBaseResponse,
} from './knowledge-base-schema.ts';
import type { KnowledgeBaseService } from './knowledge-base-service.ts';

/** What it writes to the audit trail: its documents go with it. */
export const KNOWLEDGE_BASE_AUDIT = ['knowledge_base.deleted'] as const;

const base = item(knowledgeBaseCollection, 'kb_id');
const tag = 'Knowledge bases';
const feature = 'knowledge_bases';

export function knowledgeBaseRoutes({
  knowledgeBases,
  audit,
}: {
  knowledgeBases: KnowledgeBaseService;
  audit: AuditLog<(typeof KNOWLEDGE_BASE_AUDIT)[number]>;
}): Operation[] {
  return [
    defineOperation({
      id: 'listKnowledgeBases',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/knowledge-bases',
      tag,
      feature,
      summary: 'List knowledge bases',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query: listQuery({ sortable: ['name'], q: true }),
      responses: { 200: { description: 'A page of knowledge bases', schema: listOf(knowledgeBaseResponse) } },
      handle: async ({ scope, query }) =>
        toPage(await knowledgeBases.list(scope, query), toKnowledgeBaseResponse),
    }),
    defineOperation({
      id: 'createKnowledgeBase',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/knowledge-bases',
      tag,
      feature,
      summary: 'Create a knowledge base',
      access: { key: 'editor', user: 'editor' },
      target: inProject,
      body: jsonBody(createKnowledgeBaseRequest, { readOnly: KNOWLEDGE_BASE_READ_ONLY }),
      responses: { 201: { description: 'The knowledge base', schema: knowledgeBaseResponse } },
      idempotent: {},
      handle: async ({ scope, body }) => toKnowledgeBaseResponse(await knowledgeBases.create(scope, body)),
    }),
    defineOperation({
      id: 'getKnowledgeBase',
      method: 'GET',
      path: '/v1/knowledge-bases/{kb_id}',
      tag,
      feature,
      summary: 'Get a knowledge base',
      access: { key: 'viewer', user: 'viewer' },
      target: base,
      responses: { 200: { description: 'The knowledge base', schema: knowledgeBaseResponse } },
      handle: ({ item: found }) => toKnowledgeBaseResponse(found),
    }),
    defineOperation({
      id: 'updateKnowledgeBase',
      method: 'PATCH',
      path: '/v1/knowledge-bases/{kb_id}',
      tag,
      feature,
      summary: 'Update a knowledge base',
      access: { key: 'editor', user: 'editor' },
      target: base,
      body: patchBody(patchKnowledgeBaseRequest, {
        readOnly: [...KNOWLEDGE_BASE_READ_ONLY, 'embedding', 'languages', 'chunking'],
      }),
      responses: { 200: { description: 'The knowledge base', schema: knowledgeBaseResponse } },
      handle: async ({ scope, item: found, body }) =>
        toKnowledgeBaseResponse(await knowledgeBases.update(scope, found, body)),
    }),
    defineOperation({
      id: 'deleteKnowledgeBase',
      method: 'DELETE',
      path: '/v1/knowledge-bases/{kb_id}',
      tag,
      feature,
      summary: 'Delete a knowledge base',
      access: { key: 'editor', user: 'editor' },
      target: base,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      async handle({ scope, caller, item: found, address }) {
        await knowledgeBases.delete(scope, caller, found);
        await audit.record({ scope, caller, address, action: 'knowledge_base.deleted', target: found._id });
      },
    }),
  ];
}
