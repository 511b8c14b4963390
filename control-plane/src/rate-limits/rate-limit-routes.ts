import { z } from 'zod';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, idSchema, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { READ_ONLY_FIELDS } from '../http/record-schema.ts';
import { inOrg, item } from '../tenancy/target.ts';
import type { LimitUse } from './limit-use.ts';
import { LIMITED_RESOURCES, rateLimitCollection } from './rate-limit-model.ts';
import type { RateLimitRecord } from './rate-limit-model.ts';
import {
  createRateLimitRequest,
  patchRateLimitRequest,
  RATE_LIMIT_READ_ONLY,
  rateLimitResponse,
  toRateLimitResponse,
} from './rate-limit-schema.ts';
import type { RateLimitService } from './rate-limit-service.ts';

const config = item(rateLimitCollection, 'config_id');
const tag = 'Rate limits';

export function rateLimitRoutes({
  rateLimits,
  use,
}: {
  rateLimits: RateLimitService;
  use: LimitUse;
}): Operation[] {
  const respond = async (limit: RateLimitRecord) => toRateLimitResponse(limit, await use.of(limit));
  return [
    defineOperation({
      ownLimits: false,
      id: 'listRateLimitConfigs',
      method: 'GET',
      path: '/v1/orgs/{org_id}/rate-limit-configs',
      tag,
      summary: 'List rate-limit configs',
      access: { key: 'viewer', user: 'viewer' },
      target: inOrg,
      query: listQuery({
        filters: {
          resource: anyOf(z.enum(LIMITED_RESOURCES)).optional(),
          project_id: anyOf(idSchema('prj')).optional(),
        },
      }),
      responses: { 200: { description: 'A page of configs', schema: listOf(rateLimitResponse) } },
      handle: async ({ scope, query }) => {
        const page = await rateLimits.list(scope, query);
        const items = await Promise.all(page.items.map(respond));
        return toPage({ ...page, items }, (item) => item);
      },
    }),
    defineOperation({
      ownLimits: false,
      id: 'createRateLimitConfig',
      method: 'POST',
      path: '/v1/orgs/{org_id}/rate-limit-configs',
      tag,
      summary: 'Create a rate-limit config',
      access: { key: 'admin', user: 'admin' },
      target: inOrg,
      body: jsonBody(createRateLimitRequest, { readOnly: READ_ONLY_FIELDS }),
      responses: { 201: { description: 'The config', schema: rateLimitResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, body }) => respond(await rateLimits.create(scope, caller, body)),
    }),
    defineOperation({
      ownLimits: false,
      id: 'getRateLimitConfig',
      method: 'GET',
      path: '/v1/rate-limit-configs/{config_id}',
      tag,
      summary: 'Get a rate-limit config',
      access: { key: 'admin', user: 'admin' },
      target: config,
      responses: { 200: { description: 'The config', schema: rateLimitResponse } },
      handle: ({ item: found }) => respond(found),
    }),
    defineOperation({
      ownLimits: false,
      id: 'updateRateLimitConfig',
      method: 'PATCH',
      path: '/v1/rate-limit-configs/{config_id}',
      tag,
      summary: 'Update a rate-limit config',
      access: { key: 'admin', user: 'admin' },
      target: config,
      body: patchBody(patchRateLimitRequest, { readOnly: RATE_LIMIT_READ_ONLY }),
      responses: { 200: { description: 'The config', schema: rateLimitResponse } },
      handle: async ({ scope, item: found, body }) => respond(await rateLimits.update(scope, found, body)),
    }),
    defineOperation({
      ownLimits: false,
      id: 'deleteRateLimitConfig',
      method: 'DELETE',
      path: '/v1/rate-limit-configs/{config_id}',
      tag,
      summary: 'Delete a rate-limit config',
      description: "The installation's default applies again.",
      access: { key: 'admin', user: 'admin' },
      target: config,
      responses: { 204: { description: 'Deleted' } },
      handle: ({ scope, item: found }) => rateLimits.delete(scope, found),
    }),
  ];
}
