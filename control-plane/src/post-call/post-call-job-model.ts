import type { Turn } from '@parley/shared/contracts/turn';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** What is to be done once a call is over. `_id` is the session's id: there is one job for one session. */
export interface PostCallJobRecord extends StoredRecord {
  status: 'pending' | 'done' | 'failed';
  run_at: Date;
  attempts: number;
  lease_until: Date;
  /** What was said, where it is kept nowhere else; gone once the job has run. */
  turns: Turn[] | null;
}

export const postCallJobCollection = defineCollection<PostCallJobRecord, 'none'>({
  name: 'post_call_jobs',
  tenancy: 'none',
  fields: {
    status: { type: String, required: true },
    run_at: { type: Date, required: true },
    attempts: { type: Number, default: 0 },
    lease_until: { type: Date, required: true },
    turns: { type: [Object], default: null },
  },
  indexes: [[{ status: 1, run_at: 1 }]],
});
