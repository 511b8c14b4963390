import { defineCollection } from '../storage/collection.ts';
import type { WsTicketRecord } from './ws-ticket-record.ts';

/** A claim stays repeatable this long after the credential has expired. */
export const CLAIM_REPEAT_SECONDS = 15 * 60;

export const wsTicketCollection = defineCollection<WsTicketRecord, 'none'>({
  name: 'ws_tickets',
  tenancy: 'none',
  fields: {
    kind: { type: String, required: true },
    session_id: { type: String, required: true },
    carrier: { type: String, default: null },
    carrier_call_id: { type: String, default: null },
    origin: { type: String, default: null },
    expires_at: { type: Date, required: true },
    claimed_by: { type: String, default: null },
    claimed_at: { type: Date, default: null },
    leg: { type: Number, default: null },
  },
  indexes: [
    [{ session_id: 1, claimed_by: 1 }],
    [{ expires_at: 1 }, { expireAfterSeconds: CLAIM_REPEAT_SECONDS }],
  ],
});
