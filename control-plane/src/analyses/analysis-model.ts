import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export interface AnalysisRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  /** Becomes `rule_name` of its results. */
  name: string;
  type: 'structured' | 'text' | 'tool';
  prompt: string;
  /** JSON text; for `structured`. */
  output_schema: string | null;
  /** For `tool`. */
  tool_id: string | null;
  llm_id: string | null;
  run_when: {
    channels: ('web' | 'telephony')[] | null;
    directions: ('web' | 'inbound' | 'outbound')[] | null;
    min_duration_seconds: number | null;
    outcomes: string[] | null;
  };
  sample_percent: number;
  enabled: boolean;
}

export const analysisCollection = defineCollection<AnalysisRecord, 'project'>({
  name: 'analyses',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    type: { type: String, required: true },
    prompt: { type: String, required: true },
    output_schema: { type: String, default: null },
    tool_id: { type: String, default: null },
    llm_id: { type: String, default: null },
    run_when: { type: Object, required: true },
    sample_percent: { type: Number, required: true, default: 100 },
    enabled: { type: Boolean, required: true, default: true },
  },
  indexes: [[{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }]],
});
