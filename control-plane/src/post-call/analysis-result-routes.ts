import { z } from 'zod';
import { listOf } from '../http/list-query.ts';
import { defineOperation, type Operation } from '../http/operation.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { sessionTarget } from '../sessions/session-target.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import type { AnalysisResults } from './analysis-results.ts';

const content = z.record(z.string(), z.unknown()).nullable();

export const analysisResultResponse = z
  .object({
    id: z.string(),
    session_id: z.string(),
    analysis_id: z.string().nullable(),
    rule_name: z.string(),
    source: z.string(),
    structured_json: content,
    body_text: z.string().nullable(),
    tool_invocation: content,
    status: z.string(),
    error: z.string().nullable(),
    llm_id: z.string().nullable(),
    ...recordFields,
  })
  .meta({ id: 'AnalysisResult' });

export function toAnalysisResultResponse(row: AnalysisResultRecord): z.input<typeof analysisResultResponse> {
  return {
    id: row._id,
    session_id: row.session_id,
    analysis_id: row.analysis_id,
    rule_name: row.rule_name,
    source: row.source,
    structured_json: row.structured_json,
    body_text: row.body_text,
    tool_invocation: row.tool_invocation,
    status: row.status,
    error: row.error,
    llm_id: row.llm_id,
    ...toTimes(row),
  };
}

export function analysisResultRoutes({ analysisResults }: { analysisResults: AnalysisResults }): Operation[] {
  return [
    defineOperation({
      id: 'listSessionAnalyses',
      method: 'GET',
      path: '/v1/sessions/{session_id}/analyses',
      tag: 'Analyses',
      summary: 'List analysis results of a session',
      access: { key: 'viewer', user: 'viewer' },
      target: sessionTarget,
      responses: {
        200: {
          description: 'The results, those of the built-in analysis first',
          schema: listOf(analysisResultResponse),
        },
      },
      handle: async ({ item }) => {
        const rows = await analysisResults.ofSession(item._id);
        return { items: rows.map(toAnalysisResultResponse), total: rows.length };
      },
    }),
  ];
}
