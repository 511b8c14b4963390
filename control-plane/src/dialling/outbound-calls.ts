import type { CallingWindows } from '../calling-hours/calling-windows.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { Overrides } from '../sessions/session-overrides.ts';
import type { SessionConsult, SessionRecord } from '../sessions/session-record.ts';

/** One call that somebody wants made. */
export interface OutboundOrder {
  scope: { orgId: string; projectId: string };
  /** Of the session that the call becomes, so that it can be ordered again; a new one without it. */
  sessionId?: string;
  /** As it will run, its version chosen. */
  agent: SessionAgent;
  kind: 'single' | 'campaign' | 'transfer';
  /** E.164. */
  to: string;
  /** Numbers that may be shown, in rotation; none: the agent's, else the project's first active one. */
  numberIds: readonly string[];
  variables: Record<string, string>;
  overrides: Overrides | null;
  /** null: the agent's. */
  analysisIds: string[] | null;
  campaignId: string | null;
  contactId: string | null;
  attemptNumber: number;
  contactTimezone: string | null;
  /** The campaign's; null: the agent's. */
  callingHours: CallingWindows | null;
  notBefore: Date | null;
  /** Calls of `api` and `webhook` count in the installation's limit on dials of clients. */
  source: 'api' | 'webhook' | 'campaign' | 'transfer';
  /** Of a call to whom a caller is to be transferred to. */
  consult?: ConsultOrder;
}

/** A call to whom a caller is to be transferred to. */
export interface ConsultOrder {
  /** Of the caller. */
  parentId: string;
  consult: SessionConsult;
  /** At which the two can be connected: the caller's. */
  accountId: string;
  /** The number that is shown instead of ours; null: ours. */
  callerId: string | null;
  ringTimeoutSeconds: number;
}

/** Calls that the platform makes. */
export interface OutboundCalls {
  /**
   * Stores a call that waits for its turn, and wakes who dials.
   * @throws PaymentRequiredError; ConflictError `invalid_state` (agent archived, no usable number, account disabled);
   *   TooManyRequestsError `queue_full`, `rate_limited`, `concurrency_limit`; ValidationError (variables, models);
   *   MongoServerError 11000 for a `sessionId` that there is already
   */
  queue(order: OutboundOrder): Promise<SessionRecord>;

  /**
   * Looks whether there could be such a call now, whatever else waits.
   * @throws ConflictError `invalid_state` (agent archived, no usable number, account disabled); ValidationError for a
   *   required variable without a value
   */
  check(order: OutboundOrder): Promise<void>;

  /**
   * Cancels the calls of a campaign that wait, and those on their way that nobody has answered where `ringing` says so.
   * @param where.anew they are ordered again: of the session then nobody says why it was cancelled
   * @returns how many were cancelled
   */
  withdraw(where: { campaignId: string; ringing?: boolean; anew?: boolean }): Promise<number>;
}

/** Told of sessions that were dialled. May be told again, also of what it was told of long ago. */
export interface DialFollower {
  answered(session: SessionRecord): Promise<void>;
  ended(session: SessionRecord): Promise<void>;
}

/** What stands for or against one call now. */
export type GateVerdict =
  | {
      pass: true;
      /** Held until the call ends. */
      places?: readonly { bucket: string; limit: number }[];
      paces?: readonly { scope: string; perSecond: number }[];
    }
  /** Not before: ms since the epoch. The wait does not count as time in the queue, unless `counts` says so. */
  | { pass: false; until: number; counts?: boolean }
  | { pass: false; end: { status: 'failed' | 'cancelled'; failure_reason: string } };

/** A condition on a call, asked each time before it is taken up. */
export interface DialGate {
  readonly name: string;
  check(session: SessionRecord, nowMs: number): Promise<GateVerdict>;
  /**
   * Told that the call is taken up, before another one is looked at: for gates that count. They are asked right before;
   * the others may be asked up to a second ahead.
   */
  taken?(session: SessionRecord): Promise<void>;
}
