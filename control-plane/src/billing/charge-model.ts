import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export const CHARGE_KINDS = ['chat', 'speech', 'voice_clone'] as const;
export type ChargeKind = (typeof CHARGE_KINDS)[number];

/** What was used outside of calls and paid for by the installation. Nothing in it tells of a person. */
export interface ChargeRecord extends StoredRecord {
  org_id: string;
  kind: ChargeKind;
  amount_nano: bigint;
  currency: string;
}

export const chargeCollection = defineCollection<ChargeRecord, 'org'>({
  name: 'charges',
  tenancy: 'org',
  fields: {
    kind: { type: String, enum: CHARGE_KINDS, required: true },
    amount_nano: { type: BigInt, required: true },
    currency: { type: String, required: true },
  },
  indexes: [[{ org_id: 1, created_at: 1 }]],
});
