import type { CarrierName } from '@parley/shared/contracts/session-values';
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
  /** `disabled`: it answers no calls and takes no sessions. */
  status: 'unverified' | 'active' | 'invalid' | 'disabled';
  /** When the carrier was last asked about these credentials; null = never. */
  last_verified_at: Date | null;
  last_error: string | null;
}
