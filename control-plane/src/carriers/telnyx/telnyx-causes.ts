import type { FailureReason } from '@parley/shared/contracts/session-values';
import type { CarrierEnd } from '../carrier.ts';

/** Telnyx's `hangup_cause`, after its description of `call.hangup`; null for those of calls that were answered. */
export const TELNYX_FAILURES: Readonly<Record<string, FailureReason | null>> = {
  normal_clearing: null,
  time_limit: null,
  call_rejected: 'rejected',
  originator_cancel: 'no_answer',
  timeout: 'no_answer',
  no_answer: 'no_answer',
  user_busy: 'busy',
  not_found: 'invalid_number',
  unspecified: 'carrier_error',
};

/** Errors of a request to dial that are about the number. */
export const TELNYX_REFUSALS: Readonly<Record<string, FailureReason>> = {
  10002: 'invalid_number',
  10016: 'invalid_number',
};

export function telnyxEnd(cause: string | undefined, sip: string | undefined): CarrierEnd {
  return {
    failure: TELNYX_FAILURES[cause ?? ''] ?? null,
    cause: [cause, sip].filter(Boolean).join(' ') || null,
    cost: null,
  };
}
