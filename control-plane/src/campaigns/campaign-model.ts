import type { z } from 'zod';
import type { windowsSchema } from '@parley/shared/contracts/agent-config';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { CountedContact, Counters } from './campaign-counters.ts';
import { CAMPAIGN_STATUSES } from './campaign-states.ts';
import type { CampaignStatus } from './campaign-states.ts';

export type CallingWindows = z.output<typeof windowsSchema>;

/** `batch`: made by a client, with many contacts. `single`: one call, with its one contact. */
export const CAMPAIGN_KINDS = ['batch', 'single'] as const;

/** Why a campaign is paused. */
export const PAUSE_REASONS = [
  'user',
  'redial',
  'circuit_breaker',
  'budget',
  'insufficient_balance',
  'agent_unavailable',
  'number_unavailable',
] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

/** Outcomes of an attempt after which a contact may be called again. */
export const RETRIED_OUTCOMES = ['no_answer', 'busy', 'failed', 'voicemail', 'rejected'] as const;

export interface RetryRule {
  max_attempts: number;
  /** Between the attempts; the last one repeats. */
  delays_minutes: number[];
  retry_on: (typeof RETRIED_OUTCOMES)[number][];
}

export interface CircuitBreakerRule {
  enabled: boolean;
  failure_percent: number;
  window_seconds: number;
  min_calls: number;
}

/** Calls to a list of people. */
export interface CampaignRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  name: string;
  kind: (typeof CAMPAIGN_KINDS)[number];
  agent_id: string;
  /** Null: as the agent's traffic says. */
  agent_version: number | null;
  /** Empty: the agent's. */
  phone_number_ids: string[];
  status: CampaignStatus;
  start_at: Date | null;
  end_at: Date | null;
  calling_hours: CallingWindows | null;
  retry: RetryRule;
  max_concurrent: number;
  calls_per_second: number;
  circuit_breaker: CircuitBreakerRule;
  max_cost_amount: string | null;
  variables: Record<string, string>;
  skip_suppressed: boolean;
  deduplicate: boolean;
  pause_reason: PauseReason | null;
  started_at: Date | null;
  finished_at: Date | null;
  created_by: string;
  /** Whose calls they are: those of `api` and `webhook` were started one by one. */
  source: 'api' | 'webhook' | 'campaign';
  /** What the calls have otherwise than the agent, as JSON (`Overrides`); null: nothing. */
  overrides: string | null;
  /** Analyses of the calls; null: the agent's. */
  analysis_ids: string[] | null;
  /** The list whose people were made contacts last. */
  recipient_list_id: string | null;
  /** When it was last resumed: the circuit breaker looks no further back. */
  resumed_at: Date | null;

  /** Kept by `CampaignCounters` alone. */
  counters: Counters;
  /** Number of the last batch of contacts that was counted. */
  counted_batches: number;
  /** The batch whose contacts are not marked yet; null: all are. */
  counting: { contacts: CountedContact[] } | null;
  /** Whether it has something to be done: contacts to call, or calls of it whose end is to be awaited. */
  active: boolean;
}

export const campaignCollection = defineCollection<CampaignRecord, 'project'>({
  name: 'campaigns',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    kind: { type: String, enum: CAMPAIGN_KINDS, required: true },
    agent_id: { type: String, required: true },
    agent_version: { type: Number, default: null },
    phone_number_ids: { type: [String], default: [] },
    status: { type: String, enum: CAMPAIGN_STATUSES, required: true },
    start_at: { type: Date, default: null },
    end_at: { type: Date, default: null },
    calling_hours: { type: Object, default: null },
    retry: { type: Object, required: true },
    max_concurrent: { type: Number, required: true },
    calls_per_second: { type: Number, required: true },
    circuit_breaker: { type: Object, required: true },
    max_cost_amount: { type: String, default: null },
    // Keys are the tenant's: read and written whole, never by path.
    variables: { type: Object, default: {} },
    skip_suppressed: { type: Boolean, default: true },
    deduplicate: { type: Boolean, default: true },
    pause_reason: { type: String, default: null },
    started_at: { type: Date, default: null },
    finished_at: { type: Date, default: null },
    created_by: { type: String, required: true },
    source: { type: String, default: 'campaign' },
    overrides: { type: String, default: null },
    analysis_ids: { type: [String], default: null },
    recipient_list_id: { type: String, default: null },
    resumed_at: { type: Date, default: null },
    counters: { type: Object, required: true },
    counted_batches: { type: Number, default: 0 },
    counting: { type: Object, default: null },
    active: { type: Boolean, default: false },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, kind: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, kind: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, kind: 1, name: 1, _id: 1 }],
    [{ org_id: 1, project_id: 1, kind: 1, status: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, kind: 1, agent_id: 1, created_at: -1, _id: -1 }],
    // What keeps an agent or a number in place.
    [{ org_id: 1, project_id: 1, agent_id: 1, status: 1 }],
    [{ org_id: 1, project_id: 1, phone_number_ids: 1, status: 1 }],
    [{ org_id: 1, project_id: 1, recipient_list_id: 1, status: 1 }],
    [{ org_id: 1, project_id: 1, status: 1 }],
    // What there is to do.
    [{ active: 1, _id: 1 }, { partialFilterExpression: { active: true } }],
  ],
});
