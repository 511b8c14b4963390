import { z } from 'zod';
import { tenantJsonSchema } from '../http/json-schema.ts';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import type { AnalysisRecord } from './analysis-record.ts';

const runWhenShape = {
  channels: z
    .array(z.enum(['web', 'telephony']))
    .min(1)
    .max(2)
    .nullable(),
  directions: z
    .array(z.enum(['web', 'inbound', 'outbound']))
    .min(1)
    .max(3)
    .nullable(),
  min_duration_seconds: z.number().int().min(0).max(14_400).nullable(),
  outcomes: z.array(z.string().min(1).max(60)).min(1).max(50).nullable(),
};
const runWhen = z.strictObject({
  channels: runWhenShape.channels.default(null),
  directions: runWhenShape.directions.default(null),
  min_duration_seconds: runWhenShape.min_duration_seconds.default(null),
  outcomes: runWhenShape.outcomes.default(null),
});

const name = z.string().trim().min(1).max(120).meta({ example: 'Satisfaction' });
const prompt = z.string().min(1).max(8000);
const llmId = z.string().min(1).max(120).nullable();
const samplePercent = z.number().int().min(1).max(100);

const writable = {
  name,
  prompt,
  output_schema: tenantJsonSchema.nullable().default(null),
  tool_id: idSchema('tol').nullable().default(null),
  llm_id: llmId.default(null),
  run_when: runWhen.prefault({}),
  sample_percent: samplePercent.default(100),
  enabled: z.boolean().default(true),
};

export const createAnalysisRequest = z
  .strictObject({ ...writable, type: z.enum(['structured', 'text', 'tool']) })
  .meta({ id: 'CreateAnalysisRequest' });

export const patchAnalysisRequest = patchOf(writable).meta({ id: 'PatchAnalysisRequest' });

export const ANALYSIS_READ_ONLY = ['id', 'org_id', 'project_id', 'created_at', 'updated_at'] as const;

export const analysisResponse = z
  .object({
    id: z.string().meta({ example: 'ana_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    type: z.enum(['structured', 'text', 'tool']),
    prompt: z.string(),
    output_schema: z.record(z.string(), z.unknown()).nullable(),
    tool_id: z.string().nullable(),
    llm_id: z.string().nullable(),
    run_when: z.object(runWhenShape),
    sample_percent: z.number().int(),
    enabled: z.boolean(),
    ...recordFields,
  })
  .meta({ id: 'Analysis' });

export function toAnalysisResponse(analysis: AnalysisRecord): z.infer<typeof analysisResponse> {
  const { output_schema: schema } = analysis;
  return {
    id: analysis._id,
    org_id: analysis.org_id,
    project_id: analysis.project_id,
    name: analysis.name,
    type: analysis.type,
    prompt: analysis.prompt,
    output_schema: schema === null ? null : (JSON.parse(schema) as Record<string, unknown>),
    tool_id: analysis.tool_id,
    llm_id: analysis.llm_id,
    run_when: analysis.run_when,
    sample_percent: analysis.sample_percent,
    enabled: analysis.enabled,
    ...toTimes(analysis),
  };
}
