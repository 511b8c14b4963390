import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** What can be limited. */
export const LIMITED_RESOURCES = [
  'api_requests',
  'session_starts',
  'concurrent_sessions',
  'tool_calls',
] as const;
export type LimitedResource = (typeof LIMITED_RESOURCES)[number];

export interface RateLimitRecord extends StoredRecord {
  org_id: string;
  /** Null: the org as a whole. */
  project_id: string | null;
  /** Null: every agent of it. Records of earlier versions have none. */
  agent_id?: string | null;
  /** Null: every telephony account, and what has none. Records of earlier versions have none. */
  telephony_account_id?: string | null;
  resource: LimitedResource;
  limit: number;
  /** Null for concurrency. */
  window_seconds: number | null;
  /** Within one second. */
  burst: number | null;
  enabled: boolean;
}

export const rateLimitCollection = defineCollection<RateLimitRecord, 'shared'>({
  name: 'rate_limit_configs',
  tenancy: 'shared',
  fields: {
    agent_id: { type: String, default: null },
    telephony_account_id: { type: String, default: null },
    resource: { type: String, required: true },
    limit: { type: Number, required: true },
    window_seconds: { type: Number, default: null },
    burst: { type: Number, default: null },
    enabled: { type: Boolean, required: true, default: true },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, agent_id: 1, telephony_account_id: 1, resource: 1 }, { unique: true }],
    [{ org_id: 1, created_at: -1, _id: -1 }],
  ],
  droppedIndexes: ['org_id_1_project_id_1_resource_1'],
});
