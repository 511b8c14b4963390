import type { EmulatedCallEnd } from '../callers/emulated-call.ts';
import type { Rung } from '../callers/telephone.ts';

/** How a call ended, in Telnyx's words. */
export interface TelnyxCause {
  source: EmulatedCallEnd['source'];
  cause: string;
  sip: string;
  /** `hangup_source` */
  by: 'caller' | 'callee' | 'unknown';
}

export const CAUSES = {
  caller: { source: 'caller', cause: 'normal_clearing', sip: '200', by: 'caller' },
  cancelled: { source: 'caller', cause: 'originator_cancel', sip: '487', by: 'caller' },
  api: { source: 'api', cause: 'normal_clearing', sip: '200', by: 'callee' },
  rejected: { source: 'api', cause: 'call_rejected', sip: '603', by: 'callee' },
  busy: { source: 'api', cause: 'user_busy', sip: '486', by: 'callee' },
  target: { source: 'target', cause: 'normal_clearing', sip: '200', by: 'callee' },
  noCommand: { source: 'network', cause: 'timeout', sip: '408', by: 'unknown' },
} as const satisfies Record<string, TelnyxCause>;

/** Of a call that was dialled. */
export const DIALLED = {
  callee: { source: 'caller', cause: 'normal_clearing', sip: '200', by: 'callee' },
  api: { source: 'api', cause: 'normal_clearing', sip: '200', by: 'caller' },
  withdrawn: { source: 'api', cause: 'originator_cancel', sip: '487', by: 'caller' },
  timeLimit: { source: 'network', cause: 'time_limit', sip: '200', by: 'unknown' },
} as const satisfies Record<string, TelnyxCause>;

/** What becomes of a telephone that does not answer. */
export const RUNG: Readonly<Record<Exclude<Rung, 'answered' | 'cancelled'>, TelnyxCause>> = {
  busy: { source: 'caller', cause: 'user_busy', sip: '486', by: 'callee' },
  refused: { source: 'caller', cause: 'call_rejected', sip: '603', by: 'callee' },
  not_in_service: { source: 'network', cause: 'not_found', sip: '404', by: 'unknown' },
  rung_out: { source: 'network', cause: 'timeout', sip: '487', by: 'unknown' },
};

/** How the leg of a transfer ended. */
export const LEG_CAUSES = {
  answered: 'normal_clearing',
  busy: 'user_busy',
  'no-answer': 'timeout',
  failed: 'not_found',
} as const;
