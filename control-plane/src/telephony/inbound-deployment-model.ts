import { defineCollection } from '../storage/collection.ts';
import type { CallingWindows } from '../calling-hours/calling-windows.ts';
import type { StoredRecord } from '../storage/collection.ts';
import { REFUSE, type InboundAction } from './inbound-action.ts';

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
  /** When the agent answers; null = always. */
  availability: CallingWindows | null;
  /** `YYYY-MM-DD`, days on which it does not. */
  closed_dates: string[];
  outside_hours: InboundAction;
  overflow: {
    /** Calls that the agent takes at once; null = as many as other limits allow. */
    max_concurrent: number | null;
    action: InboundAction;
  };
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
    availability: { type: Object, default: null },
    closed_dates: { type: [String], default: [] },
    outside_hours: { type: Object, default: REFUSE },
    overflow: { type: Object, default: { max_concurrent: null, action: REFUSE } },
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

/** A deployment as it is to be read: those of earlier versions have no times and no actions. */
export function withActions(record: InboundDeploymentRecord): InboundDeploymentRecord {
  const { availability = null, closed_dates = [], outside_hours = REFUSE } = record as Partial<typeof record>;
  const { overflow = { max_concurrent: null, action: REFUSE } } = record as Partial<typeof record>;
  return { ...record, availability, closed_dates, outside_hours, overflow };
}
