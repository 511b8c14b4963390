import type { LiveEvent } from '@parley/shared/contracts/live-events';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** Something that happened in a session. `_id` is the event's id, so that storing it twice is impossible. */
export interface SessionEventRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  session_id: string;
  /**
   * Rises within a session. A gateway's event `i` is stored as `(i + 1) * INDEX_STEP`, which leaves room between two
   * of them for what the control plane itself has to tell.
   */
  index: number;
  at: Date;
  /** From the answer; 0 before it. */
  offset_ms: number;
  type: string;
  data: Record<string, unknown>;
}

export const INDEX_STEP = 10;

export const sessionEventCollection = defineCollection<SessionEventRecord, 'project'>({
  name: 'session_events',
  tenancy: 'project',
  fields: {
    session_id: { type: String, required: true },
    index: { type: Number, required: true },
    at: { type: Date, required: true },
    offset_ms: { type: Number, required: true },
    type: { type: String, required: true },
    // Whatever the gateway tells, kept whole; keys may be a tenant's.
    data: { type: Object, default: {} },
  },
  indexes: [[{ session_id: 1, index: 1 }, { unique: true }], [{ session_id: 1, type: 1, index: 1 }]],
});

/** An event as clients get it. */
export function toEvent(
  event: Pick<SessionEventRecord, '_id' | 'index' | 'at' | 'offset_ms' | 'type' | 'data'>,
): LiveEvent & { index: number } {
  return {
    id: event._id,
    index: event.index,
    at: event.at.toISOString(),
    offset_ms: event.offset_ms,
    type: event.type,
    data: event.data,
  };
}
