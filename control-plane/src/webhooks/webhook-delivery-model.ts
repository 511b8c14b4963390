import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export type DeliveryStatus = 'pending' | 'retrying' | 'succeeded' | 'failed' | 'cancelled';

/** One webhook to be delivered; stored before the first attempt. `_id` follows from session and event. */
export interface WebhookDeliveryRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  session_id: string;
  agent_id: string;
  event: string;
  url: string;
  status: DeliveryStatus;
  attempts: number;
  /** Attempts since it was made or asked for again: they decide when the next one is. */
  round_attempts: number;
  last_status: number | null;
  last_error: string | null;
  next_attempt_at: Date | null;
  /** The exact body, frozen when it was made; null once erased. */
  payload: string | null;
  delivered_at: Date | null;
  /** Who is trying, and until when that counts. */
  lease_owner: string | null;
  lease_until: Date;
}

export const webhookDeliveryCollection = defineCollection<WebhookDeliveryRecord, 'project'>({
  name: 'webhook_deliveries',
  tenancy: 'project',
  fields: {
    session_id: { type: String, required: true },
    agent_id: { type: String, required: true },
    event: { type: String, required: true },
    url: { type: String, required: true },
    status: { type: String, required: true },
    attempts: { type: Number, default: 0 },
    round_attempts: { type: Number, default: 0 },
    last_status: { type: Number, default: null },
    last_error: { type: String, default: null },
    next_attempt_at: { type: Date, default: null },
    payload: { type: String, default: null },
    delivered_at: { type: Date, default: null },
    lease_owner: { type: String, default: null },
    lease_until: { type: Date, required: true },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, agent_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1, status: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, agent_id: 1, session_id: 1, created_at: -1, _id: -1 }],
    [{ status: 1, next_attempt_at: 1 }],
    [{ session_id: 1 }],
  ],
});
