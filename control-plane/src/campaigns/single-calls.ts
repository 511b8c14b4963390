import { newId, uuidV7 } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionAgent } from '../sessions/session-agent.ts';
import { storedOverrides } from '../sessions/session-overrides.ts';
import type { Overrides } from '../sessions/session-overrides.ts';
import type { NewRecord, Scope } from '../tenancy/scope.ts';
import { addTo, countedOf, noCounters } from './campaign-counters.ts';
import { campaignCollection } from './campaign-model.ts';
import type { CampaignRecord, RetryRule } from './campaign-model.ts';
import { attemptCollection, contactCollection } from './contact-model.ts';
import type { ContactAttempts } from './contact-attempts.ts';

/** A call that was asked for by itself. */
export interface SingleCall {
  /** Its version chosen, the overrides not yet on top. */
  agent: SessionAgent;
  /** E.164. */
  to: string;
  name: string | null;
  externalId: string | null;
  timezone: string | null;
  /** Numbers that the call may come from; none: the agent's, else the project's first active one. */
  numberIds: readonly string[];
  variables: Record<string, string>;
  overrides: Overrides | null;
  /** null: the agent's. */
  analysisIds: string[] | null;
  /** null: one attempt. */
  retry: RetryRule | null;
  /** null: now. */
  startAt: Date | null;
  source: 'api' | 'webhook';
  /** `usr_…`, `key_…`, or the agent whose webhook asked. */
  createdBy: string;
}

const ONCE: RetryRule = {
  max_attempts: 1,
  delays_minutes: [30, 120],
  retry_on: ['no_answer', 'busy', 'failed'],
};
const NO_BREAKER = { enabled: false, failure_percent: 50, window_seconds: 300, min_calls: 20 };

/** Calls by themselves: each is a campaign with one contact. */
export class SingleCalls {
  readonly #attempts: ContactAttempts;
  readonly #clock: Clock;

  constructor(deps: { attempts: ContactAttempts; clock: Clock }) {
    this.#attempts = deps.attempts;
    this.#clock = deps.clock;
  }

  /**
   * Makes a campaign of kind `single`, running or scheduled, and queues the call that is for now; one that is for later
   * must be possible now. What it throws leaves nothing behind.
   * @throws PaymentRequiredError; ConflictError `invalid_state` (agent archived, no usable number, account disabled);
   *   TooManyRequestsError `queue_full`; ValidationError (variables, models)
   */
  async createSingle(
    scope: Scope,
    call: SingleCall,
  ): Promise<{ campaignId: string; contactId: string; sessionId: string | null; queuedAt: Date }> {
    const { agent, startAt } = call;
    const now = new Date(this.#clock.now());
    const isLater = startAt !== null && startAt > now;
    const campaignId = newId('cmp', now.getTime());
    const progress = isLater
      ? { ...WAITING, due_at: startAt }
      : { ...CALLED, last_session_id: uuidV7(now.getTime()), queued_at: now };
    const counted = countedOf({ ...progress, ...NOBODY_REACHED });
    // Before its campaign: without that it is nobody's to call, and the campaign is counted from its beginning.
    const contact = await scope.collection(contactCollection).insert({
      _id: newId('cct', now.getTime()),
      campaign_id: campaignId,
      ...{ phone_number: call.to, unique_number: null, name: call.name, external_id: call.externalId },
      ...{ timezone: call.timezone, variables: call.variables },
      ...{ outcome: null, skip_reason: null, goal_status: null, next_attempt_at: null, deferred: false },
      ...{ ...progress, ...NOBODY_REACHED },
      ...{ revision: 0, counted, counted_batch: 0, uncounted: false, removed: false },
    });
    const counters = noCounters();
    addTo(counters, counted, 1);
    const campaign: NewRecord<CampaignRecord> = {
      _id: campaignId,
      name: agent.name,
      kind: 'single',
      agent_id: agent.agent_id,
      // A call that is for later is had by the version of then.
      agent_version: isLater ? null : agent.version,
      phone_number_ids: [...call.numberIds],
      status: isLater ? 'scheduled' : 'running',
      ...{ start_at: startAt, end_at: null, calling_hours: null, retry: call.retry ?? ONCE },
      ...{ max_concurrent: 1, calls_per_second: 1, circuit_breaker: NO_BREAKER, max_cost_amount: null },
      ...{ variables: {}, skip_suppressed: false, deduplicate: false, pause_reason: null },
      ...{ started_at: isLater ? null : now, finished_at: null, resumed_at: null },
      ...{ created_by: call.createdBy, source: call.source, recipient_list_id: null },
      ...{ overrides: storedOverrides(call.overrides), analysis_ids: call.analysisIds },
      ...{ counters, counted_batches: 0, counting: null, active: true },
    };
    try {
      const stored = await scope.collection(campaignCollection).insert(campaign);
      await (isLater
        ? this.#attempts.check(stored, agent, contact)
        : this.#attempts.place(stored, agent, contact));
    } catch (error) {
      await scope.collection(attemptCollection).deleteMany({ contact_id: contact._id });
      await scope.collection(contactCollection).delete({ _id: contact._id });
      await scope.collection(campaignCollection).delete({ _id: campaignId });
      throw error;
    }
    return {
      campaignId,
      contactId: contact._id,
      sessionId: contact.last_session_id,
      queuedAt: now,
    };
  }
}

const WAITING = {
  status: 'pending',
  ...{ attempts_made: 0, round_attempts: 0, last_session_id: null, queued_at: null },
} as const;
const CALLED = { status: 'queued', attempts_made: 1, round_attempts: 1, due_at: null } as const;
const NOBODY_REACHED = { answered_count: 0, voicemail_count: 0 };
