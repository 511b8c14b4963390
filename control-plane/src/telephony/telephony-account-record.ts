import type { CarrierName } from '@parley/shared/contracts/session-values';
import { carriers } from '../carriers/carriers.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** An account at a carrier: who may use it, and with what credentials. */
export interface TelephonyAccountRecord extends StoredRecord {
  org_id: string;
  project_ids: string[] | null;
  name: string;
  provider: CarrierName;
  /** Encrypted JSON, by carrier. */
  credentials: string;
  /** ISO 3166 codes that calls and transfers may go to; null = the countries of its numbers. */
  allowed_countries: string[] | null;
  /** At one time, inbound ones included; records of earlier versions have none of these two. */
  max_concurrent_calls?: number;
  /** Outbound ones that begin; may be a fraction. */
  calls_per_second?: number;
  /** Decimal, in the currency of the org; null: no limit. Records of earlier versions have none. */
  daily_spend_limit_amount?: string | null;
  /** `disabled`, `unverified`: it answers no calls and takes no sessions. `invalid`: the carrier refuses the credentials. */
  status: 'unverified' | 'active' | 'invalid' | 'disabled';
  /** When the carrier was last asked about these credentials; null = never. */
  last_verified_at: Date | null;
  last_error: string | null;
  /** When a callback came with a right signature, to the minute. Records of earlier versions have none. */
  last_callback_at?: Date | null;
}

/** What every carrier allows a new account. */
const CALLS_PER_SECOND = 1;

/** How many calls an account may make: what it says itself, else what its carrier's descriptor says. */
export function accountLimits({
  provider,
  max_concurrent_calls = carriers[provider].maxConcurrentCalls,
  calls_per_second = CALLS_PER_SECOND,
}: { provider: CarrierName } & {
  [Limit in 'max_concurrent_calls' | 'calls_per_second']?: TelephonyAccountRecord[Limit] | undefined;
}) {
  return { max_concurrent_calls, calls_per_second };
}
