import type { CarrierName } from '@parley/shared/contracts/session-values';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export const NUMBER_STATUSES = [
  'provisioning',
  'active',
  'suspended',
  'releasing',
  'released',
  'failed',
] as const;

export interface PhoneNumberRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  telephony_account_id: string;
  provider: CarrierName;
  /** E.164. */
  phone_number: string;
  /** The number from its provisioning until it is released, else null: such a number exists once in the installation. */
  active_number: string | null;
  country: string;
  type: 'local' | 'mobile' | 'national' | 'toll_free';
  label: string;
  origin: 'bought' | 'imported';
  capabilities: string[];
  /** Whether calls are made from it; records of earlier versions have none of these two. */
  outbound_enabled?: boolean;
  /** Calls made from it in a day; null: as many as its account allows. */
  daily_call_limit?: number | null;
  status: (typeof NUMBER_STATUSES)[number];
  /** Why it is not active. */
  status_reason?: string | null;
  /** Decimal amount of `currency`; null where the carrier does not tell. */
  monthly_amount?: string | null;
  currency?: string | null;
  /** Of a number that is bought: when the last order left, and how many did; null before the first. */
  order?: { sent_at: Date | null; tries: number } | null;
  /** When something is to be done at the carrier, or looked at; null: nothing. */
  due_at?: Date | null;
  purchased_at?: Date | null;
  released_at: Date | null;
}

export const phoneNumberCollection = defineCollection<PhoneNumberRecord, 'project'>({
  name: 'phone_numbers',
  tenancy: 'project',
  fields: {
    telephony_account_id: { type: String, required: true },
    provider: { type: String, required: true },
    phone_number: { type: String, required: true },
    active_number: { type: String, default: null },
    country: { type: String, required: true },
    type: { type: String, required: true },
    label: { type: String, default: '' },
    origin: { type: String, required: true },
    capabilities: { type: [String], default: ['voice'] },
    outbound_enabled: { type: Boolean, default: true },
    daily_call_limit: { type: Number, default: null },
    status: { type: String, required: true },
    status_reason: { type: String, default: null },
    monthly_amount: { type: String, default: null },
    currency: { type: String, default: null },
    order: { type: Object, default: null },
    due_at: { type: Date, default: null },
    purchased_at: { type: Date, default: null },
    released_at: { type: Date, default: null },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }],
    [{ active_number: 1 }, { unique: true, partialFilterExpression: { active_number: { $type: 'string' } } }],
    [{ telephony_account_id: 1, status: 1 }],
    [{ due_at: 1 }, { partialFilterExpression: { due_at: { $type: 'date' } } }],
  ],
});
