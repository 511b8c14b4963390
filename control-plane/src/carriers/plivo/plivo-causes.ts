import type { FailureReason } from '@parley/shared/contracts/session-values';
import type { CarrierEnd } from '../carrier.ts';

/** Plivo's `HangupCauseCode`, for calls that nobody took; after its page on hang-up causes. */
export const PLIVO_FAILURES: Readonly<Record<string, FailureReason>> = {
  0: 'carrier_error',
  1000: 'no_answer',
  1010: 'carrier_error',
  2000: 'invalid_number',
  2030: 'blocked',
  2040: 'blocked',
  2050: 'blocked',
  2070: 'carrier_error',
  3000: 'no_answer',
  3010: 'busy',
  3020: 'rejected',
  3030: 'carrier_error',
  3040: 'invalid_number',
  3050: 'invalid_number',
  3070: 'carrier_error',
  3080: 'carrier_error',
  3090: 'carrier_error',
  3110: 'carrier_error',
  3130: 'blocked',
  3140: 'blocked',
  4000: 'no_answer',
  4010: 'carrier_error',
  5010: 'carrier_error',
  5020: 'carrier_error',
  5030: 'carrier_error',
  6010: 'no_answer',
  6020: 'carrier_error',
  7011: 'carrier_error',
  7012: 'carrier_error',
  7013: 'carrier_error',
  7014: 'carrier_error',
  8011: 'carrier_error',
  8012: 'carrier_error',
  8013: 'carrier_error',
  8014: 'carrier_error',
  9100: 'carrier_error',
};

/** For a callback without a code that is known. */
const BY_STATUS: Readonly<Record<string, FailureReason>> = {
  busy: 'busy',
  'no-answer': 'no_answer',
  timeout: 'no_answer',
  failed: 'carrier_error',
};

/** What the callback of a hang-up says. */
export function plivoEnd(fields: URLSearchParams): CarrierEnd {
  const code = fields.get('HangupCauseCode');
  const byStatus = BY_STATUS[fields.get('CallStatus') ?? ''];
  const cost = fields.get('TotalCost');
  return {
    failure: byStatus ? (PLIVO_FAILURES[code ?? ''] ?? byStatus) : null,
    cause: causeText(code, fields.get('HangupCauseName') ?? fields.get('HangupCause')),
    cost: cost !== null && /^\d+(\.\d+)?$/.test(cost) ? cost : null,
  };
}

/** What the record of a call that is over says. */
export function plivoRecordEnd(record: {
  answer_time?: string | null | undefined;
  hangup_cause_code?: number | string | null | undefined;
  hangup_cause_name?: string | null | undefined;
}): CarrierEnd {
  const code = record.hangup_cause_code == null ? null : String(record.hangup_cause_code);
  return {
    failure: record.answer_time ? null : (PLIVO_FAILURES[code ?? ''] ?? 'carrier_error'),
    cause: causeText(code, record.hangup_cause_name ?? null),
    cost: null,
  };
}

function causeText(code: string | null, name: string | null): string | null {
  return [code, name].filter((part) => part !== null && part !== '').join(' ') || null;
}
