import type { SessionRecord } from './session-record.ts';

/** Why no agent took an inbound call, by the rules of its deployment. */
export const TREATMENT_REASONS = ['outside_hours', 'overflow', 'blocked'] as const;
export type TreatmentReason = (typeof TREATMENT_REASONS)[number];

/** What became of such a call. `hangup`: it was refused without an answer. */
export const TREATMENT_ACTIONS = ['hangup', 'message', 'forward'] as const;
export type TreatmentAction = (typeof TREATMENT_ACTIONS)[number];

/** An inbound call that no agent takes: what the rules said when it came. */
export interface SessionTreatment {
  reason: TreatmentReason;
  action: TreatmentAction;
  /** Said by the carrier's own voice; empty: nothing. */
  message: string;
  /** BCP 47 tag. */
  language: string;
  /** E.164, of a forward. */
  forward_to: string | null;
  /** The number that is shown to whom it is sent on to, E.164. */
  caller_id: string;
  /** How the forward went, once it is known. */
  forward_result: 'answered' | 'failed' | null;
}

/** How such a call ends, once it is over at its carrier. */
export function treatmentEnd({
  reason,
  action,
  forward_result: result,
}: SessionTreatment): Partial<SessionRecord> {
  return {
    // Whoever hangs up first when two people have talked: the carrier says that it is over.
    ended_by: action === 'forward' ? 'carrier' : 'system',
    hangup_reason: reason,
    outcome: action === 'hangup' ? 'refused' : action === 'message' ? 'message' : forwardOutcome(result),
  };
}

/**
 * What is to be stored where such a call was closed while the result of its forward was on its way.
 * @returns null where nothing is
 */
export function lateOutcome(session: SessionRecord): Pick<SessionRecord, 'outcome'> | null {
  const { status, erased_at: erasedAt, treatment } = session;
  if (status !== 'ended' || erasedAt !== null || treatment?.action !== 'forward') return null;
  const outcome = forwardOutcome(treatment.forward_result);
  return outcome === session.outcome ? null : { outcome };
}

/** `outcome` of a call that was sent on; null while nobody knows. */
function forwardOutcome(result: SessionTreatment['forward_result']): string | null {
  return result === null ? null : result === 'answered' ? 'forwarded' : 'forward_failed';
}
