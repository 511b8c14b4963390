import type { FailureReason } from '@parley/shared/contracts/session-values';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { RetryRule } from './campaign-model.ts';
import { RETRIED_OUTCOMES } from './campaign-model.ts';
import type { ContactEvent } from './campaign-states.ts';
import type { ContactOutcome, SkipReason } from './contact-model.ts';

/** The part of a session by which an attempt is judged. */
export type AttemptedSession = Pick<
  SessionRecord,
  'status' | 'started_at' | 'failure_reason' | 'hangup_reason' | 'answered_by' | 'outcome' | 'ended_by'
>;

const UNREACHED: readonly string[] = [
  'no_answer',
  'busy',
  'rejected',
  'invalid_number',
] satisfies (FailureReason & ContactOutcome)[];

/** Faults of carriers, gateways, models and of our own: not of the person who was called. */
const TECHNICAL: readonly string[] = [
  ...(['carrier_error', 'media_timeout', 'stt_error', 'llm_error', 'tts_error'] as const),
  ...(['flow_loop', 'internal'] as const),
] satisfies FailureReason[];

/** What the call of a session that is over came to. */
export function outcomeOf(session: AttemptedSession): ContactOutcome {
  const { status, failure_reason, started_at } = session;
  if (status === 'cancelled') return 'cancelled';
  if (status === 'ended' && started_at !== null) return metMachine(session) ? 'voicemail' : 'answered';
  return failure_reason !== null && UNREACHED.includes(failure_reason)
    ? (failure_reason as ContactOutcome)
    : 'failed';
}

/** Whether a call was taken out of the queue, to be ordered again as the campaign is now. */
export function isTakenBack({ status, ended_by, failure_reason, hangup_reason }: AttemptedSession): boolean {
  return status === 'cancelled' && ended_by === 'system' && failure_reason === null && hangup_reason === null;
}

function metMachine({ answered_by, outcome, hangup_reason }: AttemptedSession): boolean {
  return [answered_by, outcome, hangup_reason].includes('voicemail');
}

/** Whether a call failed for technical reasons, before somebody answered or after. */
export function isTechnical({ failure_reason }: Pick<SessionRecord, 'failure_reason'>): boolean {
  return failure_reason !== null && TECHNICAL.includes(failure_reason);
}

/** What becomes of a contact behind an attempt. */
export type AfterAttempt =
  | { event: Extract<ContactEvent, 'complete' | 'fail' | 'cancel'> }
  | { event: 'retry'; delayMinutes: number }
  | { event: 'skip'; reason: SkipReason };

/**
 * What becomes of a contact whose attempt is over.
 * @param round how often it was called since it was added or called for again
 * @param campaign `over`: nobody is called again; `cancelled`: for it was cancelled
 */
export function afterAttempt(
  session: AttemptedSession,
  rule: RetryRule,
  round: number,
  campaign: 'open' | 'over' | 'cancelled',
): AfterAttempt {
  const outcome = outcomeOf(session);
  if (outcome === 'cancelled')
    return campaign === 'over' ? { event: 'skip', reason: 'campaign_ended' } : { event: 'cancel' };
  if (session.failure_reason === 'blocked') return { event: 'skip', reason: 'suppressed' };
  if (session.failure_reason === 'missing_variable' && session.started_at === null)
    return { event: 'skip', reason: 'missing_variable' };
  const again = (RETRIED_OUTCOMES as readonly ContactOutcome[]).includes(outcome) && isIn(rule, outcome);
  if (again && campaign === 'open' && round < rule.max_attempts) {
    const { delays_minutes: delays } = rule;
    return { event: 'retry', delayMinutes: delays[Math.min(round, delays.length) - 1]! };
  }
  return { event: outcome === 'answered' || outcome === 'voicemail' ? 'complete' : 'fail' };
}

function isIn({ retry_on }: RetryRule, outcome: ContactOutcome): boolean {
  return (retry_on as readonly ContactOutcome[]).includes(outcome);
}
