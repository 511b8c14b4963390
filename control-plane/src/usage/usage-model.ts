import type { LogHistogram } from '@parley/shared/values/log-histogram';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** How a call ended for the goal of its agent. */
export const GOALS = ['achieved', 'not_achieved', 'unclear'] as const;
export type Goal = (typeof GOALS)[number];

/**
 * One call that is over, as it goes into the sums. Its id is the session's, so that a call has one; what was found of
 * its goal later is a second one, `<session id>:goal`.
 */
export interface UsageEntryRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string | null;
  agent_version: number | null;
  /** Of an entry that tells of the goal alone. */
  goal: Goal | null;
  reply_count: number;
  reply_ms: number;
  connected: boolean;
  connected_ms: number;
  /** Why it ended. Entries of earlier versions have none. */
  end_reason?: string | null;
  /** Of its replies and their parts. Entries of earlier versions have none. */
  latencies?: Record<string, LogHistogram> | null;
  /** In 10⁻⁹ of the currency. */
  amount_nano: bigint;
  currency: string;
  /** The sum that it is of. */
  sum_id: string;
  /** Start of the quarter of an hour in which the call ended. */
  quarter: Date;
  /** Whether its sum is known to have it. */
  counted: boolean;
}

export const usageEntryCollection = defineCollection<UsageEntryRecord, 'project'>({
  name: 'usage_entries',
  tenancy: 'project',
  fields: {
    agent_id: { type: String, default: null },
    agent_version: { type: Number, default: null },
    goal: { type: String, default: null },
    reply_count: { type: Number, required: true, default: 0 },
    reply_ms: { type: Number, required: true, default: 0 },
    connected: { type: Boolean, required: true },
    connected_ms: { type: Number, required: true },
    end_reason: { type: String, default: null },
    latencies: { type: Object, default: null },
    amount_nano: { type: BigInt, required: true },
    currency: { type: String, required: true },
    sum_id: { type: String, required: true },
    quarter: { type: Date, required: true },
    counted: { type: Boolean, required: true, default: false },
  },
  indexes: [[{ sum_id: 1, _id: 1 }, { partialFilterExpression: { counted: false } }]],
});

/** What calls come to. */
export interface Figures {
  sessions: number;
  connected_sessions: number;
  connected_ms: bigint;
  /** In 10⁻⁹ of each currency. */
  amounts: Record<string, bigint>;
}

/** The same of one version of an agent, and what its answers and calls were like. */
export interface VersionFigures extends Figures {
  reply_count: number;
  reply_ms: bigint;
  goals: Partial<Record<Goal, number>>;
}

/** The same of an agent on one day: how its calls ended, and how fast it answered. */
export interface AgentFigures {
  sessions: number;
  connected_sessions: number;
  connected_ms: bigint;
  /** By the word for it. */
  ended?: Record<string, number>;
  /** Calls by the mean time of their answers: `b` and the place in `REPLY_BOUNDS_MS`. */
  replies?: Record<string, number>;
  /** Replies by the time of each, and of its parts. Sums of earlier versions have none. */
  latencies?: Record<string, LogHistogram>;
}

/** Upper bounds of the histogram of reply times; behind the last one is the rest. */
export const REPLY_BOUNDS_MS = [250, 500, 750, 1000, 1500, 2000, 3000, 5000] as const;

/** The calls of one project that ended in one quarter of an hour. */
export interface UsageSumRecord extends StoredRecord, Figures {
  org_id: string;
  project_id: string;
  quarter: Date;
  /** By agent; `none`: sessions without one. */
  agents: Record<string, Figures>;
  /** By agent and version, `v7`; tests are in none. */
  versions: Record<string, Record<string, VersionFigures>>;
  /** By agent, or `none`; tests are in none. Sums of earlier versions have none. */
  statistics?: Record<string, AgentFigures>;
  /** Grows with each addition. */
  revision: number;
  /** Sessions of the last addition, whose entries may not say yet that they are counted. */
  unconfirmed: string[];
}

/** Org-wide for its readers, whatever projects they may see: `project_id` is a filter. */
export const usageSumCollection = defineCollection<UsageSumRecord, 'org'>({
  name: 'usage_sums',
  tenancy: 'org',
  fields: {
    project_id: { type: String, required: true },
    quarter: { type: Date, required: true },
    sessions: { type: Number, required: true },
    connected_sessions: { type: Number, required: true },
    connected_ms: { type: BigInt, required: true },
    amounts: { type: Object, default: {} },
    agents: { type: Object, default: {} },
    versions: { type: Object, default: {} },
    statistics: { type: Object, default: {} },
    revision: { type: Number, required: true },
    unconfirmed: { type: [String], default: [] },
  },
  indexes: [[{ org_id: 1, quarter: 1 }], [{ org_id: 1, project_id: 1, quarter: 1 }]],
});
