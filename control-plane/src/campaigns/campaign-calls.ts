import type { SessionAgent } from '../sessions/session-agent.ts';
import type { Overrides } from '../sessions/session-overrides.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { CallingWindows } from './campaign-model.ts';

/** A call to be dialled, as campaigns order it. */
export interface CampaignCall {
  /** Of the session that the call will be: ordered again, it is the same call. */
  sessionId: string;
  scope: { orgId: string; projectId: string };
  agent: SessionAgent;
  kind: 'single' | 'campaign';
  /** E.164. */
  to: string;
  numberIds: readonly string[];
  variables: Record<string, string>;
  overrides: Overrides | null;
  analysisIds: string[] | null;
  campaignId: string;
  contactId: string;
  attemptNumber: number;
  contactTimezone: string | null;
  callingHours: CallingWindows | null;
  notBefore: Date | null;
  source: 'api' | 'webhook' | 'campaign';
}

/** What campaigns ask of dialling. */
export interface CampaignCalls {
  /**
   * Stores the call as a queued session; it is dialled when there is a place for it.
   * @throws PaymentRequiredError, ConflictError (no number can be called from), TooManyRequestsError `queue_full`,
   *   ValidationError for a required variable without a value
   */
  queue(call: CampaignCall): Promise<SessionRecord>;
  /**
   * Looks whether there could be such a call now.
   * @throws ConflictError (no number can be called from), ValidationError for a required variable without a value
   */
  check(call: Omit<CampaignCall, 'sessionId'>): Promise<void>;
  /**
   * Takes back what is queued and was not sent to a carrier.
   * @param where.anew it is ordered again: such a session ends by `system`, without a reason
   * @returns how many that were
   */
  withdraw(where: { campaignId: string; anew?: boolean }): Promise<number>;
}
