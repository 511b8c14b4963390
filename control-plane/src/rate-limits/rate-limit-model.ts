import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** What can be limited. */
export const LIMITED_RESOURCES = [
  'api_requests',
  'session_starts',
  'concurrent_sessions',
  'tool_calls',
  'outbound_dials',
  'concurrent_outbound',
] as const;
export type LimitedResource = (typeof LIMITED_RESOURCES)[number];
/** Those of which there are so many at one time, and not in a window. */
export const CONCURRENT_RESOURCES: readonly LimitedResource[] = [
  'concurrent_sessions',
  'concurrent_outbound',
];
/** Those whose work can wait. */
export const QUEUED_RESOURCES: readonly LimitedResource[] = ['outbound_dials', 'concurrent_outbound'];

/** What becomes of what is over a limit. */
export const LIMIT_ACTIONS = ['reject', 'queue'] as const;
export type LimitAction = (typeof LIMIT_ACTIONS)[number];

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
  /** Records of earlier versions have none: they reject. */
  action?: LimitAction;
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
    action: { type: String, default: 'reject' },
    enabled: { type: Boolean, required: true, default: true },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, agent_id: 1, telephony_account_id: 1, resource: 1 }, { unique: true }],
    [{ org_id: 1, created_at: -1, _id: -1 }],
  ],
  droppedIndexes: ['org_id_1_project_id_1_resource_1'],
});
