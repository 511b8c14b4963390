import { MEMORY_KINDS, type MemoryKind } from '@parley/shared/contracts/session-values';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** One thing that an agent knows about somebody it speaks with. */
export interface MemoryRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string;
  /** Phone number or `user_identifier`. */
  subject: string;
  kind: MemoryKind;
  content: string;
  source: 'session' | 'api';
  /** The call it was heard in. */
  session_id: string | null;
  /** Never dropped to make room. */
  pinned: boolean;
  /** MongoDB deletes the record some time after this, so reads still check it. */
  expires_at: Date | null;
}

const OF_AGENT = { org_id: 1, project_id: 1, agent_id: 1 } as const;
const NEWEST = { created_at: -1, _id: -1 } as const;

export const memoryCollection = defineCollection<MemoryRecord, 'project'>({
  name: 'memories',
  tenancy: 'project',
  fields: {
    agent_id: { type: String, required: true },
    subject: { type: String, required: true },
    kind: { type: String, enum: MEMORY_KINDS, required: true },
    content: { type: String, required: true },
    source: { type: String, required: true },
    session_id: { type: String, default: null },
    pinned: { type: Boolean, required: true, default: false },
    expires_at: { type: Date, default: null },
  },
  indexes: [
    [{ ...OF_AGENT, ...NEWEST }],
    [{ ...OF_AGENT, updated_at: -1, _id: -1 }],
    [{ ...OF_AGENT, kind: 1, ...NEWEST }],
    // In the order in which a call is told of them.
    [{ ...OF_AGENT, subject: 1, pinned: -1, ...NEWEST }],
    // A person is forgotten by all agents of the project.
    [{ org_id: 1, project_id: 1, subject: 1 }],
    [{ ...OF_AGENT, session_id: 1, ...NEWEST }],
    [{ session_id: 1 }],
    [{ expires_at: 1 }, { expireAfterSeconds: 0 }],
  ],
});
