import { defineCollection } from '../storage/collection.ts';
import type { LeasedRecord } from '../jobs/leased-jobs.ts';

export const REPLAY_STATUSES = ['queued', 'running', 'completed', 'failed'] as const;
export type ReplayStatus = (typeof REPLAY_STATUSES)[number];

/** A conversation that took place, held again in writing with a version of its agent. */
export interface ReplayRecord extends LeasedRecord {
  org_id: string;
  project_id: string;
  /** The one that is held again. */
  session_id: string;
  agent_id: string;
  /** The version that answers this time. */
  agent_version: number;
  status: ReplayStatus;
  error: string | null;
  /** The session of the repetition. */
  replay_session_id: string | null;
  /** What is compared, as JSON (`ReplayedTurn[]`); null until it is completed. */
  turns: string | null;
  created_by: string;
  started_at: Date | null;
  ended_at: Date | null;
}

const text = { type: String, default: null };
const date = { type: Date, default: null };
const OF_SESSION = { org_id: 1, project_id: 1, session_id: 1 } as const;

export const replayCollection = defineCollection<ReplayRecord, 'project'>({
  name: 'session_replays',
  tenancy: 'project',
  fields: {
    session_id: { type: String, required: true },
    agent_id: { type: String, required: true },
    agent_version: { type: Number, required: true },
    status: { type: String, enum: REPLAY_STATUSES, required: true },
    error: text,
    replay_session_id: text,
    turns: text,
    created_by: { type: String, required: true },
    started_at: date,
    ended_at: date,
    run_at: date,
    lease_until: { type: Date, required: true, default: new Date(0) },
    attempts: { type: Number, required: true, default: 0 },
    failures: { type: Number, required: true, default: 0 },
  },
  indexes: [
    [{ ...OF_SESSION, created_at: -1, _id: -1 }],
    [{ ...OF_SESSION, updated_at: -1, _id: -1 }],
    [{ session_id: 1 }],
    [{ replay_session_id: 1 }],
    [{ run_at: 1 }],
  ],
});
