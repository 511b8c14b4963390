import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Carrier, CarrierRequest } from './carrier.ts';

/** The account at a carrier that a callback is of. */
export interface CalledAccount {
  _id: string;
  provider: CarrierName;
  /** A disabled one answers no calls; those that run go on. */
  status: 'unverified' | 'active' | 'invalid' | 'disabled';
}

/** A callback that may be trusted, and what it is about. */
export interface TrustedCallback {
  carrier: Carrier;
  account: CalledAccount;
  request: CarrierRequest;
}

/** How a call ends by the carrier's word, with nothing to analyse. */
export function carrierVerdict(nowMs: number, how: Partial<SessionRecord>) {
  const now = new Date(nowMs);
  return {
    ...how,
    ended_at: now,
    closed_by: 'carrier' as const,
    post_call_status: 'skipped' as const,
    post_call_finished_at: now,
  };
}
