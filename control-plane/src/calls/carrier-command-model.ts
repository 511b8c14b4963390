import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** What a gateway asked the carrier to be told. `_id` is the command's id: it is done once. */
export interface CarrierCommandRecord extends StoredRecord {
  session_id: string;
  action: CarrierCommandData['action'];
  state: 'running' | 'done';
  ok: boolean | null;
  code: string | null;
  /** MongoDB deletes it some time after this. */
  expires_at: Date;
}

export const carrierCommandCollection = defineCollection<CarrierCommandRecord, 'none'>({
  name: 'carrier_commands',
  tenancy: 'none',
  fields: {
    session_id: { type: String, required: true },
    action: { type: String, required: true },
    state: { type: String, required: true },
    ok: { type: Boolean, default: null },
    code: { type: String, default: null },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});
