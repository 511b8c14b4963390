import { z } from 'zod';
import { idSchema } from '../http/operation.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { LIMITED_RESOURCES } from './rate-limit-model.ts';
import type { RateLimitRecord } from './rate-limit-model.ts';

const limit = z.number().int().min(1).max(1_000_000);
const windowSeconds = z.number().int().min(1).max(86_400).nullable();
const burst = z.number().int().min(1).max(1_000_000).nullable();

export const createRateLimitRequest = z
  .strictObject({
    project_id: idSchema('prj').nullable().optional(),
    agent_id: z.null().optional(),
    telephony_account_id: z.null().optional(),
    resource: z.enum(LIMITED_RESOURCES),
    limit,
    window_seconds: windowSeconds.default(null),
    burst: burst.default(null),
    action: z.literal('reject').default('reject'),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'CreateRateLimitConfigRequest' });

export const patchRateLimitRequest = z
  .strictObject({
    limit: limit.optional(),
    window_seconds: windowSeconds.optional(),
    burst: burst.optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'PatchRateLimitConfigRequest' });

export const RATE_LIMIT_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'agent_id',
  'telephony_account_id',
  'resource',
  'action',
  'created_at',
  'updated_at',
] as const;

export const rateLimitResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    project_id: z.string().nullable().meta({ description: 'Null: the whole org.' }),
    agent_id: z.string().nullable(),
    telephony_account_id: z.string().nullable(),
    resource: z.enum(LIMITED_RESOURCES),
    limit: z.number().int(),
    window_seconds: z.number().int().nullable(),
    burst: z.number().int().nullable(),
    action: z.literal('reject'),
    enabled: z.boolean(),
    ...recordFields,
  })
  .meta({ id: 'RateLimitConfig' });

export function toRateLimitResponse(record: RateLimitRecord): z.infer<typeof rateLimitResponse> {
  return {
    id: record._id,
    org_id: record.org_id,
    project_id: record.project_id,
    agent_id: null,
    telephony_account_id: null,
    resource: record.resource,
    limit: record.limit,
    window_seconds: record.window_seconds,
    burst: record.burst,
    action: 'reject',
    enabled: record.enabled,
    ...toTimes(record),
  };
}
