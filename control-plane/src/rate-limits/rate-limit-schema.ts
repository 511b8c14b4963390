import { z } from 'zod';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { LIMIT_ACTIONS, LIMITED_RESOURCES } from './rate-limit-model.ts';
import type { RateLimitRecord } from './rate-limit-model.ts';

const writable = {
  limit: z.number().int().min(1).max(1_000_000),
  window_seconds: z.number().int().min(1).max(86_400).nullable().default(null),
  burst: z.number().int().min(1).max(1_000_000).nullable().default(null),
  enabled: z.boolean().default(true),
  action: z.enum(LIMIT_ACTIONS).default('reject').meta({
    description:
      'What becomes of what is over the limit: `reject` answers 429. `queue`, of `outbound_dials` and `concurrent_outbound` alone, lets the call wait for its turn. Calls of campaigns wait in either case.',
  }),
};

export const createRateLimitRequest = z
  .strictObject({
    project_id: idSchema('prj').nullable().optional(),
    agent_id: idSchema('agt').nullable().optional().meta({
      description: 'Only what concerns this agent. Its project is that of the agent.',
    }),
    telephony_account_id: idSchema('tel').nullable().optional().meta({
      description: 'Only calls of this telephony account.',
    }),
    resource: z.enum(LIMITED_RESOURCES),
    ...writable,
  })
  .meta({ id: 'CreateRateLimitConfigRequest' });

export const patchRateLimitRequest = patchOf(writable).meta({ id: 'PatchRateLimitConfigRequest' });

export const RATE_LIMIT_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'agent_id',
  'telephony_account_id',
  'resource',
  'used',
  'created_at',
  'updated_at',
] as const;

export const rateLimitResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    project_id: z.string().nullable().meta({ description: 'Null: the whole org.' }),
    agent_id: z.string().nullable().meta({ description: 'Null: every agent.' }),
    telephony_account_id: z
      .string()
      .nullable()
      .meta({ description: 'Null: every telephony account, and what has none.' }),
    resource: z.enum(LIMITED_RESOURCES),
    limit: z.number().int(),
    window_seconds: z.number().int().nullable(),
    burst: z.number().int().nullable(),
    action: z.enum(LIMIT_ACTIONS),
    enabled: z.boolean(),
    used: z
      .number()
      .int()
      .min(0)
      .nullable()
      .meta({
        description:
          'How much of it is used: in the present window, or at this time. A refused attempt counts, too. Null: it is not enabled, its ' +
          'calls wait (`queue`) for their turn by a pace instead of a window, or the counters cannot be reached.',
        example: 12,
      }),
    ...recordFields,
  })
  .meta({ id: 'RateLimitConfig' });

/** @param used how much of it is used now; null: that is not known */
export function toRateLimitResponse(
  record: RateLimitRecord,
  used: number | null,
): z.infer<typeof rateLimitResponse> {
  return {
    id: record._id,
    org_id: record.org_id,
    project_id: record.project_id,
    agent_id: record.agent_id ?? null,
    telephony_account_id: record.telephony_account_id ?? null,
    resource: record.resource,
    limit: record.limit,
    window_seconds: record.window_seconds,
    burst: record.burst,
    action: record.action ?? 'reject',
    enabled: record.enabled,
    used,
    ...toTimes(record),
  };
}
