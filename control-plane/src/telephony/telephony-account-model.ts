import type { CarrierName } from '@parley/shared/contracts/session-values';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** An account at a carrier: who may use it, and with what credentials. */
export interface TelephonyAccountRecord extends StoredRecord {
  org_id: string;
  project_ids: string[] | null;
  name: string;
  provider: CarrierName;
  /** Encrypted JSON, by carrier. */
  credentials: string;
  region: string | null;
  max_concurrent_calls: number;
  calls_per_second: number;
  /** ISO 3166 codes that calls and transfers may go to; null = the countries of its numbers. */
  allowed_countries: string[] | null;
  status: 'unverified' | 'active' | 'invalid' | 'disabled';
  last_verified_at: Date | null;
  last_error: string | null;
}

export const telephonyAccountCollection = defineCollection<TelephonyAccountRecord, 'projects'>({
  name: 'telephony_accounts',
  tenancy: 'projects',
  fields: {
    name: { type: String, required: true },
    provider: { type: String, required: true },
    credentials: { type: String, required: true },
    region: { type: String, default: null },
    max_concurrent_calls: { type: Number, default: 10 },
    calls_per_second: { type: Number, default: 1 },
    allowed_countries: { type: [String], default: null },
    status: { type: String, required: true },
    last_verified_at: { type: Date, default: null },
    last_error: { type: String, default: null },
  },
  indexes: [[{ org_id: 1, created_at: -1, _id: -1 }]],
});
