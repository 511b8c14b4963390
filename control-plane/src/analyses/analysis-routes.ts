import { z } from 'zod';
import { anyOf, listOf, listQuery, queryBoolean, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inProject, item } from '../tenancy/target.ts';
import { analysisCollection } from './analysis-model.ts';
import {
  ANALYSIS_READ_ONLY,
  analysisResponse,
  createAnalysisRequest,
  patchAnalysisRequest,
  toAnalysisResponse,
} from './analysis-schema.ts';
import type { AnalysisService } from './analysis-service.ts';

const analysis = item(analysisCollection, 'analysis_id');
const tag = 'Analyses';

export function analysisRoutes({ analyses }: { analyses: AnalysisService }): Operation[] {
  return [
    defineOperation({
      id: 'listAnalyses',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/analyses',
      tag,
      summary: 'List analyses',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: {
          type: anyOf(z.enum(['structured', 'text', 'tool'])).optional(),
          enabled: queryBoolean.optional(),
        },
      }),
      responses: { 200: { description: 'A page of analyses', schema: listOf(analysisResponse) } },
      handle: async ({ scope, query }) => toPage(await analyses.list(scope, query), toAnalysisResponse),
    }),
    defineOperation({
      id: 'createAnalysis',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/analyses',
      tag,
      summary: 'Create an analysis',
      access: { key: 'editor', user: 'editor' },
      target: inProject,
      body: jsonBody(createAnalysisRequest, { readOnly: ANALYSIS_READ_ONLY }),
      responses: { 201: { description: 'The analysis', schema: analysisResponse } },
      idempotent: {},
      handle: async ({ scope, body }) => toAnalysisResponse(await analyses.create(scope, body)),
    }),
    defineOperation({
      id: 'getAnalysis',
      method: 'GET',
      path: '/v1/analyses/{analysis_id}',
      tag,
      summary: 'Get an analysis',
      access: { key: 'viewer', user: 'viewer' },
      target: analysis,
      responses: { 200: { description: 'The analysis', schema: analysisResponse } },
      handle: ({ item: found }) => toAnalysisResponse(found),
    }),
    defineOperation({
      id: 'updateAnalysis',
      method: 'PATCH',
      path: '/v1/analyses/{analysis_id}',
      tag,
      summary: 'Update an analysis',
      access: { key: 'editor', user: 'editor' },
      target: analysis,
      body: patchBody(patchAnalysisRequest, { readOnly: [...ANALYSIS_READ_ONLY, 'type'] }),
      responses: { 200: { description: 'The analysis', schema: analysisResponse } },
      handle: async ({ scope, item: found, body }) =>
        toAnalysisResponse(await analyses.update(scope, found, body)),
    }),
    defineOperation({
      id: 'deleteAnalysis',
      method: 'DELETE',
      path: '/v1/analyses/{analysis_id}',
      tag,
      summary: 'Delete an analysis',
      description: 'The analysis is detached from every agent; its results are kept.',
      access: { key: 'editor', user: 'editor' },
      target: analysis,
      responses: { 204: { description: 'Deleted' } },
      handle: ({ scope, caller, item: found }) => analyses.delete(scope, caller, found),
    }),
  ];
}
