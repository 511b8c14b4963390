import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** What is set aside for something that runs. */
export interface WalletHold {
  amount: bigint;
  at: Date;
}

/** A change of the balance. */
export interface WalletChange {
  /** Kind and reference: what makes it one change, however often it is asked for. */
  id: string;
  kind: 'top_up' | 'call' | 'speech' | 'voice_clone' | 'chat';
  /** Of the top-up, the session, the speech, the voice, or the answer of a language model. */
  reference: string;
  /** In 10⁻⁹ of the currency; less than zero for what was spent. */
  amount_nano: bigint;
  at: Date;
}

/**
 * The money of one org, under the org's id. Each change of it is one write to this record, which also notes the change
 * in `pending` until the ledger has it: so the ledger and `pending` together always come to the balance.
 */
export interface WalletRecord extends StoredRecord {
  org_id: string;
  mode: 'unlimited' | 'prepaid';
  currency: string;
  balance_nano: bigint;
  /** The sum of `holds`. */
  reserved_nano: bigint;
  low_balance_nano: bigint | null;
  /** By id of the session, or of what else is to be paid. One that is gone is settled: nobody pays twice. */
  holds: Record<string, WalletHold>;
  pending: WalletChange[];
  /** Rises with each change of the balance. */
  revision: number;
}

export const walletCollection = defineCollection<WalletRecord, 'org'>({
  name: 'wallets',
  tenancy: 'org',
  fields: {
    mode: { type: String, required: true },
    currency: { type: String, required: true },
    balance_nano: { type: BigInt, required: true },
    reserved_nano: { type: BigInt, required: true },
    low_balance_nano: { type: BigInt, default: null },
    holds: { type: Object, default: {} },
    pending: { type: Array, default: [] },
    revision: { type: Number, required: true },
  },
  indexes: [[{ org_id: 1 }]],
});

/** One line of the history of a wallet. Nothing in the program changes or deletes one. */
export interface WalletEntryRecord extends StoredRecord {
  org_id: string;
  kind: WalletChange['kind'];
  reference: string;
  amount_nano: bigint;
  currency: string;
}

export const walletEntryCollection = defineCollection<WalletEntryRecord, 'org'>({
  name: 'wallet_entries',
  tenancy: 'org',
  fields: {
    kind: { type: String, required: true },
    reference: { type: String, required: true },
    amount_nano: { type: BigInt, required: true },
    currency: { type: String, required: true },
  },
  indexes: [[{ org_id: 1, created_at: -1, _id: -1 }]],
});
