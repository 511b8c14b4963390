import { z } from 'zod';
import type { AnalysisRecord } from '../analyses/analysis-record.ts';
import { listOf } from '../http/list-query.ts';
import { defineOperation, HttpResponse, idSchema, jsonBody, type Operation } from '../http/operation.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { sessionTarget } from '../sessions/session-target.ts';
import type { Collection } from '../storage/collection.ts';
import { item } from '../tenancy/target.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import type { AnalysisResults } from './analysis-results.ts';
import type { AnalysisTrial } from './analysis-trial.ts';
import type { Evidence } from './evidence.ts';
import type { RepeatedAnalyses } from './repeated-analyses.ts';
import type { RuleOutcome } from './rule-runner.ts';

const content = z.record(z.string(), z.unknown()).nullable();

const outcomeFields = {
  rule_name: z.string(),
  source: z.string(),
  structured_json: content,
  evidence: z
    .record(z.string(), z.array(z.number().int()))
    .nullable()
    .meta({
      description:
        'JSON path of a field of `structured_json` to the `turn_index`es of the transcript that it was read from. Only what was found there is listed. Null: none was asked for.',
      example: { '$.satisfied': [3] },
    }),
  body_text: z.string().nullable(),
  tool_invocation: content,
  status: z.string(),
  error: z.string().nullable(),
  llm_id: z.string().nullable(),
};

export const analysisResultResponse = z
  .object({
    id: z.string(),
    session_id: z.string(),
    analysis_id: z.string().nullable(),
    ...outcomeFields,
    ...recordFields,
  })
  .meta({ id: 'AnalysisResult' });

const triedAnalysisResponse = z
  .object({
    session_id: z.string().nullable().meta({ description: 'Null: the transcript was sent along.' }),
    analysis_id: z.string(),
    ...outcomeFields,
  })
  .meta({ id: 'TriedAnalysis' });

const tryBody = z
  .strictObject({
    session_id: z.uuid().optional().meta({ description: 'A session of the same project.' }),
    transcript: z
      .array(z.strictObject({ role: z.enum(['agent', 'caller']), text: z.string().min(1).max(4000) }))
      .min(1)
      .max(500)
      .optional()
      .meta({ description: 'What was said, in order; its places count as `turn_index`.' }),
  })
  .refine((body) => (body.session_id === undefined) !== (body.transcript === undefined), {
    message: 'Send either session_id or transcript',
    path: ['session_id'],
  })
  .meta({
    id: 'TryAnalysisRequest',
    example: { transcript: [{ role: 'caller', text: 'I am happy with the offer.' }] },
  });

const repeatBody = z
  .strictObject({
    analysis_ids: z.array(idSchema('ana')).min(1).max(20).nullable().default(null).meta({
      description:
        'Run whatever their conditions say. Null: the lead analysis and the analyses that follow the session, by their conditions.',
    }),
  })
  .meta({ id: 'RepeatAnalysesRequest' });

export function toAnalysisResultResponse(row: AnalysisResultRecord): z.input<typeof analysisResultResponse> {
  return {
    id: row._id,
    session_id: row.session_id,
    analysis_id: row.analysis_id,
    rule_name: row.rule_name,
    source: row.source,
    ...toOutcome(row),
    llm_id: row.llm_id,
    ...toTimes(row),
  };
}

function toOutcome(outcome: RuleOutcome) {
  return {
    structured_json: outcome.structured_json,
    evidence: toEvidence(outcome.evidence),
    body_text: outcome.body_text,
    tool_invocation: outcome.tool_invocation,
    status: outcome.status,
    error: outcome.error,
  };
}

/** Rows of earlier versions have none. */
function toEvidence(evidence: Evidence | null | undefined): Record<string, number[]> | null {
  return evidence ? Object.fromEntries(evidence.map(({ path, turns }) => [path, turns])) : null;
}

export function analysisResultRoutes({
  results,
  repeats,
  trial,
  analyses,
}: {
  results: AnalysisResults;
  repeats: RepeatedAnalyses;
  trial: AnalysisTrial;
  analyses: Collection<AnalysisRecord>;
}): Operation[] {
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
        const rows = await results.ofSession(item._id);
        return { items: rows.map(toAnalysisResultResponse), total: rows.length };
      },
    }),
    defineOperation({
      id: 'repeatSessionAnalyses',
      method: 'POST',
      path: '/v1/sessions/{session_id}/analyses',
      tag: 'Analyses',
      summary: 'Repeat the analyses of a session',
      description:
        'The rows of the analyses are `pending` until the new results replace them. No webhook is sent. ' +
        '409 while the session or its analyses still run, and where there is no transcript.',
      access: { key: 'editor', user: 'editor' },
      target: sessionTarget,
      body: jsonBody(repeatBody, { optional: true }),
      responses: {
        202: { description: 'The results as they are now', schema: listOf(analysisResultResponse) },
      },
      errors: [402, 409],
      idempotent: {},
      handle: async ({ item, body }) => {
        const rows = await repeats.request(item, body.analysis_ids);
        return new HttpResponse(202, { items: rows.map(toAnalysisResultResponse), total: rows.length });
      },
    }),
    defineOperation({
      id: 'tryAnalysis',
      method: 'POST',
      path: '/v1/analyses/{analysis_id}/try',
      tag: 'Analyses',
      summary: 'Try an analysis',
      description:
        'Runs it over a transcript, whatever its conditions say. Nothing is stored. An analysis that fails says so in `status` and `error`. One of the type `tool` acts: what the tool books is booked.',
      access: { key: 'editor', user: 'editor' },
      target: item(analyses, 'analysis_id'),
      body: jsonBody(tryBody),
      responses: { 200: { description: 'What came of it', schema: triedAnalysisResponse } },
      errors: [402],
      handle: async ({ scope, item: rule, body, signal }) => {
        const { session_id: sessionId, transcript = [] } = body;
        const of = sessionId === undefined ? { transcript } : { sessionId };
        const { outcome, llmId } = await trial.run(scope, rule, of, signal);
        return {
          session_id: sessionId ?? null,
          analysis_id: rule._id,
          rule_name: rule.name,
          source: 'rule',
          ...toOutcome(outcome),
          llm_id: llmId,
        };
      },
    }),
  ];
}
