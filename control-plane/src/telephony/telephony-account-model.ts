import { defineCollection } from '../storage/collection.ts';
import type { TelephonyAccountRecord } from './telephony-account-record.ts';

export const telephonyAccountCollection = defineCollection<TelephonyAccountRecord, 'projects'>({
  name: 'telephony_accounts',
  tenancy: 'projects',
  fields: {
    name: { type: String, required: true },
    provider: { type: String, required: true },
    credentials: { type: String, required: true },
    allowed_countries: { type: [String], default: null },
    max_concurrent_calls: { type: Number },
    calls_per_second: { type: Number },
    daily_spend_limit_amount: { type: String, default: null },
    status: { type: String, required: true },
    last_verified_at: { type: Date, default: null },
    last_error: { type: String, default: null },
    last_callback_at: { type: Date, default: null },
  },
  indexes: [[{ org_id: 1, created_at: -1, _id: -1 }]],
});
