import type { Turn } from '@parley/shared/contracts/turn';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/**
 * What is to be done once a call is over: one job for each session, whose `_id` is the session's, and at most one that
 * repeats its analyses (`repeatId`).
 */
export interface PostCallJobRecord extends StoredRecord {
  status: 'pending' | 'done' | 'failed';
  run_at: Date;
  attempts: number;
  /** Those of former runs of a repetition; absent in jobs of earlier versions. */
  attempts_before?: number;
  lease_until: Date;
  /** What was said, where it is kept nowhere else; gone once the job has run. */
  turns: Turn[] | null;
  /** Of a repetition: which; null for all that follow the session. */
  analysis_ids: string[] | null;
}

const REPEAT = '/repeat';

/** Id of the job that repeats the analyses of a session. */
export function repeatId(sessionId: string): string {
  return `${sessionId}${REPEAT}`;
}

/** What a job is about. */
export function toTask({ _id }: Pick<PostCallJobRecord, '_id'>): { sessionId: string; repeats: boolean } {
  const repeats = _id.endsWith(REPEAT);
  return { sessionId: repeats ? _id.slice(0, -REPEAT.length) : _id, repeats };
}

export const postCallJobCollection = defineCollection<PostCallJobRecord, 'none'>({
  name: 'post_call_jobs',
  tenancy: 'none',
  fields: {
    status: { type: String, required: true },
    run_at: { type: Date, required: true },
    attempts: { type: Number, default: 0 },
    attempts_before: { type: Number, default: 0 },
    lease_until: { type: Date, required: true },
    turns: { type: [Object], default: null },
    analysis_ids: { type: [String], default: null },
  },
  indexes: [[{ status: 1, run_at: 1 }]],
});
