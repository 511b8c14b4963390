import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** Which agent answers which number. */
export interface InboundDeploymentRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  name: string;
  phone_number_id: string;
  /** The number's id while active, else null: a number has one active deployment. */
  active_number_id: string | null;
  agent_id: string;
  /** null = by the agent's traffic rule. */
  agent_version: number | null;
  status: 'active' | 'paused';
  blocked_numbers: string[];
  variables: Record<string, string>;
}

export const inboundDeploymentCollection = defineCollection<InboundDeploymentRecord, 'project'>({
  name: 'inbound_deployments',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    phone_number_id: { type: String, required: true },
    active_number_id: { type: String, default: null },
    agent_id: { type: String, required: true },
    agent_version: { type: Number, default: null },
    status: { type: String, required: true },
    blocked_numbers: { type: [String], default: [] },
    variables: { type: Object, default: {} },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }],
    [
      { active_number_id: 1 },
      { unique: true, partialFilterExpression: { active_number_id: { $type: 'string' } } },
    ],
    [{ phone_number_id: 1 }],
  ],
});
