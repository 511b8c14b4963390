import { z } from 'zod';
import { windowsSchema } from '@parley/shared/contracts/agent-config';
import { overridesSchema } from '../agents/agent-overrides.ts';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { maybeTime, recordFields, time, timestamp, toTimes } from '../http/record-schema.ts';
import { variablesSchema } from '../http/value-schemas.ts';
import { readOverrides } from '../sessions/session-overrides.ts';
import { COUNTERS } from './campaign-counters.ts';
import { CAMPAIGN_KINDS, PAUSE_REASONS, RETRIED_OUTCOMES } from './campaign-model.ts';
import type { CampaignRecord } from './campaign-model.ts';
import { CAMPAIGN_STATUSES } from './campaign-states.ts';
import { CONTACT_OUTCOMES } from './contact-model.ts';

export const campaignStatus = z.enum(CAMPAIGN_STATUSES);
export const campaignKind = z.enum(CAMPAIGN_KINDS);

const instant = z.iso.datetime({ offset: true }).meta({ example: '2026-01-31T09:30:00.000Z' });

/** How often a contact is called, and when again. */
export const retryFields = {
  max_attempts: z.number().int().min(1).max(10).default(3),
  delays_minutes: z.array(z.number().int().min(1).max(10_080)).min(1).max(10).default([30, 120]),
  retry_on: z
    .array(z.enum(RETRIED_OUTCOMES))
    .max(RETRIED_OUTCOMES.length)
    .default(['no_answer', 'busy', 'failed']),
};
const breakerFields = {
  enabled: z.boolean().default(true),
  failure_percent: z.number().int().min(1).max(100).default(50),
  window_seconds: z.number().int().min(30).max(3600).default(300),
  min_calls: z.number().int().min(1).max(1000).default(20),
};

const retryRule = z.strictObject(retryFields).prefault({});
const circuitBreaker = z.strictObject(breakerFields).prefault({});
const callingHours = windowsSchema.nullable();

const writable = {
  name: z.string().trim().min(1).max(120).meta({ example: 'Renewals in March' }),
  agent_id: idSchema('agt'),
  agent_version: z.number().int().min(1).nullable().default(null),
  phone_number_ids: z
    .array(idSchema('phn'))
    .max(50)
    .refine((ids) => new Set(ids).size === ids.length, 'must not repeat')
    .default([]),
  start_at: instant.nullable().default(null),
  end_at: instant.nullable().default(null),
  calling_hours: callingHours.default(null),
  retry: retryRule,
  max_concurrent: z.number().int().min(1).max(500).default(5),
  calls_per_second: z.number().min(0.1).max(20).default(1),
  circuit_breaker: circuitBreaker,
  max_cost_amount: z
    .string()
    .regex(/^\d{1,12}(\.\d{1,6})?$/, 'must be a decimal amount such as "1.25"')
    .nullable()
    .default(null),
  variables: variablesSchema.default({}),
  overrides: overridesSchema.nullable().default(null),
  skip_suppressed: z.boolean().default(true),
  deduplicate: z.boolean().default(true),
};

export const createCampaignRequest = z
  .strictObject({
    ...writable,
    recipient_list_id: idSchema('rcl').nullable().default(null).meta({
      description: 'Recipient list whose people become contacts at once; null: contacts are added later.',
    }),
  })
  .meta({ id: 'CreateCampaignRequest' });
export type NewCampaign = Omit<z.output<typeof createCampaignRequest>, 'recipient_list_id'>;

export const patchCampaignRequest = patchOf(writable, ['calling_hours', 'overrides']).meta({
  id: 'PatchCampaignRequest',
});
export type CampaignPatch = z.output<typeof patchCampaignRequest>;

/** What may be changed while contacts are called. */
export const RUNNING_FIELDS = ['max_concurrent', 'calls_per_second', 'end_at'] as const;

export const CAMPAIGN_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'kind',
  'status',
  'counters',
  'pause_reason',
  'recipient_list_id',
  'started_at',
  'finished_at',
  'created_by',
  'created_at',
  'updated_at',
] as const;

const count = z.number().int().min(0);

export const campaignResponse = z
  .object({
    id: z.string().meta({ example: 'cmp_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    kind: campaignKind,
    agent_id: z.string(),
    agent_version: z.number().int().nullable(),
    phone_number_ids: z.array(z.string()),
    status: campaignStatus,
    start_at: maybeTime,
    end_at: maybeTime,
    calling_hours: callingHours,
    retry: z.object(retryFields),
    max_concurrent: z.number().int(),
    calls_per_second: z.number(),
    circuit_breaker: z.object(breakerFields),
    max_cost_amount: z.string().nullable(),
    variables: z.record(z.string(), z.string()),
    overrides: overridesSchema.nullable(),
    recipient_list_id: z.string().nullable(),
    skip_suppressed: z.boolean(),
    deduplicate: z.boolean(),
    counters: z.object(
      Object.fromEntries(COUNTERS.map((name) => [name, count])) as Record<
        (typeof COUNTERS)[number],
        typeof count
      >,
    ),
    pause_reason: z.enum(PAUSE_REASONS).nullable(),
    started_at: maybeTime,
    finished_at: maybeTime,
    created_by: z.string(),
    ...recordFields,
  })
  .meta({ id: 'Campaign' });

const attemptCount = z.number().int().min(0);

export const campaignOutcomesResponse = z
  .object({
    interval_seconds: attemptCount
      .nullable()
      .meta({ description: 'Length of each stretch; null: no attempt is over yet.', example: 300 }),
    items: z.array(
      z.object({
        from: timestamp.meta({ description: 'Its first instant.' }),
        to: timestamp.meta({ description: 'Not part of it.' }),
        attempts: attemptCount.meta({ description: 'Attempts that ended in it.' }),
        outcomes: z
          .array(z.object({ outcome: z.enum(CONTACT_OUTCOMES), attempts: attemptCount }))
          .meta({ description: 'By what they came to; what did not occur is left out.' }),
      }),
    ),
  })
  .meta({ id: 'CampaignOutcomes' });

export function toCampaignResponse(campaign: CampaignRecord): z.input<typeof campaignResponse> {
  return {
    id: campaign._id,
    org_id: campaign.org_id,
    project_id: campaign.project_id,
    name: campaign.name,
    kind: campaign.kind,
    agent_id: campaign.agent_id,
    agent_version: campaign.agent_version,
    phone_number_ids: campaign.phone_number_ids,
    status: campaign.status,
    start_at: time(campaign.start_at),
    end_at: time(campaign.end_at),
    calling_hours: campaign.calling_hours,
    retry: campaign.retry,
    max_concurrent: campaign.max_concurrent,
    calls_per_second: campaign.calls_per_second,
    circuit_breaker: campaign.circuit_breaker,
    max_cost_amount: campaign.max_cost_amount,
    variables: campaign.variables,
    overrides: readOverrides(campaign.overrides),
    recipient_list_id: campaign.recipient_list_id ?? null,
    skip_suppressed: campaign.skip_suppressed,
    deduplicate: campaign.deduplicate,
    counters: campaign.counters,
    pause_reason: campaign.pause_reason,
    started_at: time(campaign.started_at),
    finished_at: time(campaign.finished_at),
    created_by: campaign.created_by,
    ...toTimes(campaign),
  };
}
