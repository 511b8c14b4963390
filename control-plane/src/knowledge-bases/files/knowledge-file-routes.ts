import type { AuditLog } from '../../audit/audit-trail.ts';
import { listOf, toPage } from '../../http/list-query.ts';
import { defineOperation, jsonBody, streamBody } from '../../http/operation.ts';
import type { Operation } from '../../http/operation.ts';
import { item } from '../../tenancy/target.ts';
import { invalid } from '../../http/validation.ts';
import { knowledgeBaseCollection } from '../knowledge-base-model.ts';
import { NO_EMBEDDING } from '../search/embedders.ts';
import type { KnowledgeSearch } from '../search/knowledge-search.ts';
import { knowledgeFileCollection } from './knowledge-file-model.ts';
import {
  addFileRequest,
  chunkQuery,
  chunkResponse,
  fileQuery,
  knowledgeFileResponse,
  searchRequest,
  searchResponse,
  TEXT_LIMIT_BYTES,
  toChunkResponse,
  toFileResponse,
  toSearchResponse,
  uploadFileRequest,
} from './knowledge-file-schema.ts';
import type { KnowledgeFileService } from './knowledge-file-service.ts';

/** What it writes to the audit trail. */
export const KNOWLEDGE_FILE_AUDIT = ['knowledge_file.added', 'knowledge_file.deleted'] as const;

const base = item(knowledgeBaseCollection, 'kb_id');
const file = item(knowledgeFileCollection, 'file_id');
const tag = 'Knowledge bases';
const feature = 'knowledge_bases';
const viewer = { key: 'viewer', user: 'viewer' } as const;
const editor = { key: 'editor', user: 'editor' } as const;

export function knowledgeFileRoutes({
  knowledgeFiles,
  search,
  audit,
}: {
  knowledgeFiles: KnowledgeFileService;
  search: Pick<KnowledgeSearch, 'search'>;
  audit: AuditLog<(typeof KNOWLEDGE_FILE_AUDIT)[number]>;
}): Operation[] {
  return [
    defineOperation({
      id: 'listKnowledgeFiles',
      method: 'GET',
      path: '/v1/knowledge-bases/{kb_id}/files',
      ...{ tag, feature },
      summary: 'List documents of a knowledge base',
      access: viewer,
      target: base,
      query: fileQuery,
      responses: { 200: { description: 'A page of documents', schema: listOf(knowledgeFileResponse) } },
      handle: async ({ scope, item: found, query }) =>
        toPage(await knowledgeFiles.list(scope, found, query), toFileResponse),
    }),
    defineOperation({
      id: 'addKnowledgeFile',
      method: 'POST',
      path: '/v1/knowledge-bases/{kb_id}/files',
      ...{ tag, feature },
      summary: 'Add a document to a knowledge base',
      description:
        'A file of at most 50 MiB (pdf, docx, txt, md, html, csv, json), a text, or an address. The answer comes before the document is read: its `status` tells when it is found.',
      access: editor,
      target: base,
      body: [
        jsonBody(addFileRequest, { limitBytes: TEXT_LIMIT_BYTES }),
        streamBody({ contentTypes: ['multipart/form-data'], described: uploadFileRequest }),
      ],
      responses: { 202: { description: 'The document', schema: knowledgeFileResponse } },
      errors: [400, 409],
      idempotent: {},
      async handle({ scope, caller, item: found, address, body }) {
        const added =
          'headers' in body
            ? await knowledgeFiles.upload(scope, found, body)
            : await knowledgeFiles.add(scope, found, body);
        await audit.record({ scope, caller, address, action: 'knowledge_file.added', target: added._id });
        return toFileResponse(added);
      },
    }),
    defineOperation({
      id: 'getKnowledgeFile',
      method: 'GET',
      path: '/v1/knowledge-files/{file_id}',
      ...{ tag, feature },
      summary: 'Get a document',
      access: viewer,
      target: file,
      responses: { 200: { description: 'The document', schema: knowledgeFileResponse } },
      handle: ({ item: found }) => toFileResponse(found),
    }),
    defineOperation({
      id: 'deleteKnowledgeFile',
      method: 'DELETE',
      path: '/v1/knowledge-files/{file_id}',
      ...{ tag, feature },
      summary: 'Delete a document',
      description: 'It is found no more at once.',
      access: editor,
      target: file,
      responses: { 204: { description: 'Deleted' } },
      async handle({ scope, caller, item: found, address }) {
        await knowledgeFiles.delete(scope, found);
        await audit.record({ scope, caller, address, action: 'knowledge_file.deleted', target: found._id });
      },
    }),
    defineOperation({
      id: 'reprocessKnowledgeFile',
      method: 'POST',
      path: '/v1/knowledge-files/{file_id}/reprocess',
      ...{ tag, feature },
      summary: 'Read a document anew',
      access: editor,
      target: file,
      responses: { 202: { description: 'The document', schema: knowledgeFileResponse } },
      handle: async ({ scope, item: found }) => toFileResponse(await knowledgeFiles.reprocess(scope, found)),
    }),
    defineOperation({
      id: 'listKnowledgeChunks',
      method: 'GET',
      path: '/v1/knowledge-files/{file_id}/chunks',
      ...{ tag, feature },
      summary: 'List passages of a document',
      access: viewer,
      target: file,
      query: chunkQuery,
      responses: {
        200: { description: 'A page of passages, in their order', schema: listOf(chunkResponse) },
      },
      handle: async ({ scope, item: found, query }) =>
        toPage(await knowledgeFiles.chunks(scope, found, query), toChunkResponse),
    }),
    defineOperation({
      id: 'searchKnowledgeBase',
      method: 'POST',
      path: '/v1/knowledge-bases/{kb_id}/search',
      ...{ tag, feature },
      summary: 'Search a knowledge base',
      access: viewer,
      target: base,
      body: jsonBody(searchRequest),
      responses: { 200: { description: 'The passages that fit best', schema: searchResponse } },
      handle: async ({ item: found, body: { query, mode, top_k: topK, min_score: minScore } }) => {
        if (mode === 'vector' && found.embedding === NO_EMBEDDING)
          throw invalid(
            ['body', 'mode'],
            'requires an embedding model, and this base has none',
            'not_available',
          );
        return toSearchResponse(await search.search([found], { query, topK, minScore, mode }));
      },
    }),
  ];
}
