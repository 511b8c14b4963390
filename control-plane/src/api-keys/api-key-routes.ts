import { z } from 'zod';
import type { Clock } from '@parley/shared/time/clock';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { READ_ONLY_FIELDS } from '../http/record-schema.ts';
import { inProject, item } from '../tenancy/target.ts';
import {
  apiKeyResponse,
  createApiKeyRequest,
  createdApiKeyResponse,
  toApiKeyResponse,
} from './api-key-schema.ts';
import { apiKeyCollection } from './api-key-model.ts';
import type { ApiKeyService } from './api-key-service.ts';

export function apiKeyRoutes({ apiKeys, clock }: { apiKeys: ApiKeyService; clock: Clock }): Operation[] {
  return [
    defineOperation({
      id: 'createApiKey',
      method: 'POST',
      path: '/v1/projects/{project_id}/api-keys',
      tag: 'API keys',
      summary: 'Create a project API key',
      description: 'The key itself is returned only once, in this response.',
      access: { key: 'admin', user: 'admin' },
      target: inProject,
      body: jsonBody(createApiKeyRequest, { readOnly: READ_ONLY_FIELDS }),
      responses: { 201: { description: 'The key and its record', schema: createdApiKeyResponse } },
      errors: [409],
      idempotent: { secrets: ['key'] },
      async handle({ scope, caller, body, address }) {
        const { record, key } = await apiKeys.create(scope, caller, body, { address });
        return { ...toApiKeyResponse(record, clock.now()), key };
      },
    }),
    defineOperation({
      id: 'listApiKeys',
      method: 'GET',
      path: '/v1/projects/{project_id}/api-keys',
      tag: 'API keys',
      summary: 'List project API keys',
      access: { key: 'editor', user: 'editor' },
      target: inProject,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: { status: anyOf(z.enum(['active', 'expired', 'revoked'])).optional() },
      }),
      responses: { 200: { description: 'A page of keys', schema: listOf(apiKeyResponse) } },
      async handle({ scope, query }) {
        return toPage(await apiKeys.list(scope, query), (record) => toApiKeyResponse(record, clock.now()));
      },
    }),
    defineOperation({
      id: 'revokeApiKey',
      method: 'DELETE',
      path: '/v1/projects/{project_id}/api-keys/{key_id}',
      tag: 'API keys',
      summary: 'Revoke a project API key',
      description:
        'Takes effect within five seconds. Keys created with this key are revoked too. Revoking twice is 204. A project keeps its ' +
        'newest thousand revoked keys in the list.',
      access: { key: 'admin', user: 'admin' },
      target: item(apiKeyCollection, 'key_id'),
      responses: { 204: { description: 'Revoked' } },
      async handle({ scope, caller, params, address }) {
        await apiKeys.revoke(scope, caller, params.key_id, { address });
      },
    }),
  ];
}
