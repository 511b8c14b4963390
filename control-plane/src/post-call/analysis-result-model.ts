import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Evidence } from './evidence.ts';

/** What one analysis made of one session. `_id` follows from both, so that a second run replaces the first. */
export interface AnalysisResultRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  session_id: string;
  analysis_id: string | null;
  rule_name: string;
  source: 'system' | 'rule' | 'legacy';
  structured_json: Record<string, unknown> | null;
  /** Of the fields of `structured_json`; null where none was asked for. */
  evidence: Evidence | null;
  body_text: string | null;
  tool_invocation: Record<string, unknown> | null;
  status: 'pending' | 'running' | 'done' | 'failed' | 'skipped';
  error: string | null;
  llm_id: string | null;
}

export const analysisResultCollection = defineCollection<AnalysisResultRecord, 'project'>({
  name: 'analysis_results',
  tenancy: 'project',
  fields: {
    session_id: { type: String, required: true },
    analysis_id: { type: String, default: null },
    rule_name: { type: String, required: true },
    source: { type: String, required: true },
    structured_json: { type: Object, default: null },
    evidence: { type: [Object], default: null },
    body_text: { type: String, default: null },
    tool_invocation: { type: Object, default: null },
    status: { type: String, required: true },
    error: { type: String, default: null },
    llm_id: { type: String, default: null },
  },
  indexes: [[{ session_id: 1, created_at: 1, _id: 1 }]],
});
