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
