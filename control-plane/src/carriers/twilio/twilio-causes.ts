import type { FailureReason } from '@parley/shared/contracts/session-values';
import type { CarrierEnd } from '../carrier.ts';

/**
 * Final statuses. Twilio names no hang-up cause: the status and the SIP code have to do.
 * @see https://www.twilio.com/docs/voice/api/call-resource#call-status-values
 */
export const TWILIO_FAILURES: Readonly<Record<string, FailureReason | null>> = {
  completed: null,
  busy: 'busy',
  'no-answer': 'no_answer',
  canceled: 'no_answer',
  failed: 'carrier_error',
};

/** What the SIP code of a call that is busy or failed says besides. */
export const TWILIO_SIP_FAILURES: Readonly<Record<string, FailureReason>> = {
  404: 'invalid_number',
  408: 'no_answer',
  480: 'no_answer',
  484: 'invalid_number',
  486: 'busy',
  600: 'busy',
  603: 'rejected',
};

/** Errors of a request to dial that are about the number. */
export const TWILIO_REFUSALS: Readonly<Record<number, FailureReason>> = {
  21211: 'invalid_number',
  21214: 'invalid_number',
  21215: 'blocked',
  21216: 'blocked',
  21217: 'invalid_number',
};

export function isFinal(status: string): boolean {
  return Object.hasOwn(TWILIO_FAILURES, status);
}

/** @param sip null where none is known, as in the record of a call */
export function twilioEnd(status: string, sip: string | null): CarrierEnd {
  const byStatus = TWILIO_FAILURES[status] ?? null;
  const told = status === 'busy' || status === 'failed';
  return {
    failure: told ? (TWILIO_SIP_FAILURES[sip ?? ''] ?? byStatus) : byStatus,
    cause: [status, sip].filter((part) => part !== null).join(' '),
    cost: null,
  };
}
