import type { CallPrices } from '@parley/shared/contracts/call-prices';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** What one session costs, under the session's id. It holds nothing that tells of a person, and stays when the session is erased. */
export interface CostEntryRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string | null;
  /** That made the call. */
  campaign_id: string | null;
  state: 'reserved' | 'booked';
  currency: string;
  /** As they were when the first leg began; null: nothing is counted. */
  prices: CallPrices | null;
  /** By the hand-over from which on they hold, as they were then; of other agents than the first. */
  hand_overs?: { handover_id: string; prices: CallPrices }[];
  /** What its gateway has counted so far. */
  reserved_nano: bigint;
  /** Null until it is booked. */
  amount_nano: bigint | null;
  booked_at: Date | null;
}

export const costEntryCollection = defineCollection<CostEntryRecord, 'project'>({
  name: 'cost_entries',
  tenancy: 'project',
  fields: {
    agent_id: { type: String, default: null },
    campaign_id: { type: String, default: null },
    state: { type: String, enum: ['reserved', 'booked'], required: true },
    currency: { type: String, required: true },
    prices: { type: Object, default: null },
    hand_overs: { type: [Object], default: [] },
    reserved_nano: { type: BigInt, required: true },
    amount_nano: { type: BigInt, default: null },
    booked_at: { type: Date, default: null },
  },
  indexes: [[{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }], [{ campaign_id: 1 }]],
});
