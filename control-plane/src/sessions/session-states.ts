import {
  LIVE_STATUSES,
  TERMINAL_STATUSES,
  type SessionStatus,
} from '@parley/shared/contracts/session-values';
import type { DialState } from './session-record.ts';

/** A session in one of these is over. */
export type TerminalStatus = Extract<SessionStatus, 'ended' | 'failed' | 'expired' | 'cancelled'>;

/** Which states may follow which. Everything that moves a session goes through this table. */
const NEXT: Readonly<Record<SessionStatus, readonly SessionStatus[]>> = {
  created: ['in_progress', 'expired', 'cancelled', 'failed'],
  queued: ['dialing', 'failed', 'cancelled'],
  // Back to the queue: the carrier has certainly called nobody, and takes the call later.
  dialing: ['queued', 'ringing', 'in_progress', 'failed', 'cancelled'],
  // Inbound calls may be over (a message, a caller who hangs up) before any media flowed.
  ringing: ['in_progress', 'failed', 'cancelled', 'ended'],
  in_progress: ['transferring', 'ended'],
  transferring: ['transferred', 'in_progress', 'ended'],
  transferred: ['ended'],
  ended: [],
  failed: [],
  expired: [],
  cancelled: [],
};

/** The states from which `to` may be reached. */
export function statesBefore(to: SessionStatus): SessionStatus[] {
  return (Object.keys(NEXT) as SessionStatus[]).filter((from) => NEXT[from].includes(to));
}

export function mayMove(from: SessionStatus, to: SessionStatus): boolean {
  return NEXT[from].includes(to);
}

/** States in which a gateway may take the session up: for a first socket, a rejoin, or the return from a transfer. */
export const ADMITTING_STATUSES: readonly SessionStatus[] = [
  'created',
  'dialing',
  'ringing',
  'in_progress',
  'transferring',
];

/**
 * The state of a dial whose session is over. What is on its way at a carrier that has not said what became of it is still
 * looked for, to be hung up.
 */
export function stateAfterEnd(state: DialState): DialState {
  return state === 'sent' || state === 'uncertain' ? state : 'gone';
}

/** Somebody is called, or speaks. */
export const UNDER_WAY_STATUSES: readonly SessionStatus[] = ['dialing', 'ringing', ...LIVE_STATUSES];

export function isLive(status: SessionStatus): boolean {
  return LIVE_STATUSES.includes(status);
}

export function isTerminal(status: SessionStatus): boolean {
  return TERMINAL_STATUSES.includes(status);
}
