import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** A tool call that was run for a gateway. `_id` is a digest of the session and the request. */
export interface ToolRunRecord extends StoredRecord {
  session_id: string;
  /** `ToolCallAnswer` as JSON; null while it runs, and for ever when the process died. */
  answer: string | null;
  expires_at: Date;
}

export const toolRunCollection = defineCollection<ToolRunRecord, 'none'>({
  name: 'tool_runs',
  tenancy: 'none',
  fields: {
    session_id: { type: String, required: true },
    answer: { type: String, default: null },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ session_id: 1 }], [{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});
