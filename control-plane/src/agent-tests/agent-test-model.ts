import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { AgentTestContent } from './agent-test-schema.ts';

export const TEST_TYPES = ['scripted', 'simulation'] as const;
export const RUN_STATUSES = ['queued', 'running', 'completed', 'cancelled', 'failed'] as const;
export const RESULT_STATUSES = ['pending', 'running', 'passed', 'failed', 'error', 'cancelled'] as const;

/** A conversation with an agent, and what is to come of it. */
export interface AgentTestRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string;
  name: string;
  type: (typeof TEST_TYPES)[number];
  /** `AgentTestContent` as JSON: some of its keys are the tenant's. */
  content: string;
}

/** Some tests of an agent, each so many times, against one version of it. */
export interface AgentTestRunRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string;
  agent_version: number;
  status: (typeof RUN_STATUSES)[number];
  total: number;
  passed: number;
  failed: number;
  errored: number;
  created_by: string;
  started_at: Date | null;
  ended_at: Date | null;
  /** The process that runs it; lost when its lease is past. */
  lease_owner: string | null;
  lease_until: Date | null;
}

/** One test of a run, once. */
export interface AgentTestResultRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string;
  test_run_id: string;
  test_id: string;
  iteration: number;
  /** The test as it was when the run was asked for, as JSON. */
  content: string;
  status: (typeof RESULT_STATUSES)[number];
  session_id: string | null;
  checks: { id: string; passed: boolean; reason: string }[];
  /** What went wrong beside the checks. */
  error: string | null;
  started_at: Date | null;
  ended_at: Date | null;
}

export const agentTestCollection = defineCollection<AgentTestRecord, 'project'>({
  name: 'agent_tests',
  tenancy: 'project',
  fields: {
    agent_id: { type: String, required: true },
    name: { type: String, required: true },
    type: { type: String, enum: TEST_TYPES, required: true },
    content: { type: String, required: true },
  },
  indexes: [[{ org_id: 1, project_id: 1, agent_id: 1, created_at: -1, _id: -1 }]],
});

export const agentTestRunCollection = defineCollection<AgentTestRunRecord, 'project'>({
  name: 'agent_test_runs',
  tenancy: 'project',
  fields: {
    agent_id: { type: String, required: true },
    agent_version: { type: Number, required: true },
    status: { type: String, enum: RUN_STATUSES, required: true },
    total: { type: Number, required: true },
    passed: { type: Number, default: 0 },
    failed: { type: Number, default: 0 },
    errored: { type: Number, default: 0 },
    created_by: { type: String, required: true },
    started_at: { type: Date, default: null },
    ended_at: { type: Date, default: null },
    lease_owner: { type: String, default: null },
    lease_until: { type: Date, default: null },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, agent_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1, status: 1, created_at: -1, _id: -1 }],
    // Which versions have passed.
    [{ agent_id: 1, agent_version: 1, status: 1 }],
    [{ status: 1, created_at: 1 }],
    // One run of an org at a time, whichever processes there are.
    [{ org_id: 1 }, { unique: true, partialFilterExpression: { status: 'running' } }],
  ],
});

export const agentTestResultCollection = defineCollection<AgentTestResultRecord, 'project'>({
  name: 'agent_test_results',
  tenancy: 'project',
  fields: {
    agent_id: { type: String, required: true },
    test_run_id: { type: String, required: true },
    test_id: { type: String, required: true },
    iteration: { type: Number, required: true },
    content: { type: String, required: true },
    status: { type: String, enum: RESULT_STATUSES, required: true },
    session_id: { type: String, default: null },
    checks: { type: [Object], default: [] },
    error: { type: String, default: null },
    started_at: { type: Date, default: null },
    ended_at: { type: Date, default: null },
  },
  indexes: [
    // A run has no more results than are sorted in memory.
    [{ org_id: 1, project_id: 1, test_run_id: 1, created_at: -1, _id: -1 }],
    [{ test_run_id: 1, status: 1, _id: 1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1 }],
    [{ session_id: 1 }],
  ],
});

type Stored = Omit<AgentTestContent, 'channel'> & Partial<Pick<AgentTestContent, 'channel'>>;

export function contentOf(record: Pick<AgentTestRecord, 'content'>): AgentTestContent {
  // Tests of earlier versions name no channel.
  const { channel = 'text', ...content } = JSON.parse(record.content) as Stored;
  return { channel, ...content };
}
