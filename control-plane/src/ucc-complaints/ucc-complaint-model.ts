import type { CarrierName } from '@parley/shared/contracts/session-values';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import { COMPLAINT_STATES, type ComplaintState } from './complaint-states.ts';

/** A complaint about an unsolicited call (UCC). What the carrier has not told is null. */
export interface UccComplaintRecord extends StoredRecord {
  org_id: string;
  telephony_account_id: string;
  provider: CarrierName;
  /** The carrier's id of it, unique within the account. */
  reference_id: string;
  status: ComplaintState;
  from_number: string | null;
  /** Who complains. */
  to_number: string | null;
  /** As the carrier writes it. */
  initiation_date: string | null;
  complaint_category: string | null;
  call_uuid: string | null;
  opt_in_proof_url: string | null;
  rejection_reason: string | null;
  /** The carrier's, or computed. */
  deadline_at: Date;
  /** The carrier's own word in its last callback. */
  last_callback_status: string | null;
  last_callback_at: Date | null;
  /** Encrypted JSON of the fields that are not known here. It may hold anything, and is never shown. */
  raw: string | null;
}

const NEWEST = { created_at: -1, _id: -1 } as const;

export const uccComplaintCollection = defineCollection<UccComplaintRecord, 'org'>({
  name: 'ucc_complaints',
  tenancy: 'org',
  fields: {
    telephony_account_id: { type: String, required: true },
    provider: { type: String, required: true },
    reference_id: { type: String, required: true },
    status: { type: String, enum: COMPLAINT_STATES, required: true },
    from_number: { type: String, default: null },
    to_number: { type: String, default: null },
    initiation_date: { type: String, default: null },
    complaint_category: { type: String, default: null },
    call_uuid: { type: String, default: null },
    opt_in_proof_url: { type: String, default: null },
    rejection_reason: { type: String, default: null },
    deadline_at: { type: Date, required: true },
    last_callback_status: { type: String, default: null },
    last_callback_at: { type: Date, default: null },
    raw: { type: String, default: null },
  },
  indexes: [
    [{ telephony_account_id: 1, reference_id: 1 }, { unique: true }],
    [{ org_id: 1, ...NEWEST }],
    [{ org_id: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, deadline_at: -1, _id: -1 }],
    [{ org_id: 1, status: 1, ...NEWEST }],
    [{ org_id: 1, from_number: 1, ...NEWEST }],
    [{ org_id: 1, to_number: 1, ...NEWEST }],
    [{ org_id: 1, telephony_account_id: 1, ...NEWEST }],
    // Those whose deadline has passed.
    [{ status: 1, deadline_at: 1 }],
  ],
});
