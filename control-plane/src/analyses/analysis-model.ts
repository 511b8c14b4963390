import { defineCollection } from '../storage/collection.ts';
import type { AnalysisRecord } from './analysis-record.ts';

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
