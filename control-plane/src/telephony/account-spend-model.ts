import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** What the calls of an account have cost on one day; beside it, under a session's id, that it has been counted. */
export interface AccountSpendRecord extends StoredRecord {
  org_id: string;
  amount_nano: bigint;
  expires_at: Date;
}

export const accountSpendCollection = defineCollection<AccountSpendRecord, 'org'>({
  name: 'account_spends',
  tenancy: 'org',
  fields: {
    amount_nano: { type: BigInt, required: true },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ expires_at: 1 }, { expireAfterSeconds: 0 }], [{ org_id: 1 }]],
});
