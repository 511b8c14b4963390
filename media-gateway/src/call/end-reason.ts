import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Gone } from '../participants/participant.ts';

/** The agent ends a call that worked. */
export const AGENT_ENDS: CallEndReason = { ended_by: 'agent', hangup_reason: 'agent_hangup' };

/** Why a call ends whose far end is gone. */
export function reasonOf({ by, lost }: Gone): CallEndReason {
  if (by === 'caller') return { ended_by: 'caller', hangup_reason: 'caller_hangup' };
  if (lost) return { ended_by: 'carrier', hangup_reason: 'carrier_hangup' };
  return { ended_by: 'carrier', failure_reason: 'carrier_error' };
}
