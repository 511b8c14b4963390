import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** One call of a tool in a session, put together from what its gateway told. `_id` is that of its first event. */
export interface ToolCallRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  session_id: string;
  agent_id: string | null;
  /** Null for the built-in tools and those of a client. */
  tool_id: string | null;
  tool_name: string;
  /** Who runs it; null when an earlier version told of it. */
  kind: string | null;
  /** The language model's own name for this call; only within one session, and not always unique there. */
  tool_call_id: string;
  /** As the model wrote them, cut to a length; null when the start was never told. */
  arguments: string | null;
  /** Null while it runs, and for ever when its call broke off. */
  ok: boolean | null;
  /** How it ended; null while it runs. See `TOOL_OUTCOMES`. */
  outcome: string | null;
  /** HTTP status of a webhook. */
  status: number | null;
  code: string | null;
  result: string | null;
  duration_ms: number | null;
  /** From the answer of the call to the start of the tool, in milliseconds. */
  offset_ms: number;
  /** The event that told of its end, so that the same one counts once. */
  finished_event_id: string | null;
}

const text = { type: String, default: null };
const number = { type: Number, default: null };
const TENANT = { org_id: 1, project_id: 1 } as const;

export const toolCallCollection = defineCollection<ToolCallRecord, 'project'>({
  name: 'tool_calls',
  tenancy: 'project',
  fields: {
    session_id: { type: String, required: true },
    agent_id: text,
    tool_id: text,
    tool_name: { type: String, required: true },
    kind: text,
    outcome: text,
    tool_call_id: { type: String, required: true },
    arguments: text,
    ok: { type: Boolean, default: null },
    status: number,
    code: text,
    result: text,
    duration_ms: number,
    offset_ms: { type: Number, required: true },
    finished_event_id: text,
  },
  indexes: [
    [{ ...TENANT, created_at: -1, _id: -1 }],
    [{ ...TENANT, updated_at: -1, _id: -1 }],
    [{ ...TENANT, agent_id: 1, created_at: -1, _id: -1 }],
    [{ ...TENANT, tool_id: 1, created_at: -1, _id: -1 }],
    [{ ...TENANT, ok: 1, created_at: -1, _id: -1 }],
    [{ session_id: 1, tool_call_id: 1 }],
  ],
});
