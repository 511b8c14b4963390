import { defineCollection } from '../storage/collection.ts';
import type { MemberRecord } from './member-record.ts';

export const memberCollection = defineCollection<MemberRecord, 'org'>({
  name: 'members',
  tenancy: 'org',
  fields: {
    user_id: { type: String, required: true },
    role: { type: String, required: true },
    project_ids: { type: [String], default: null },
    status: { type: String, required: true, default: 'active' },
    last_seen_at: { type: Date, default: null },
  },
  indexes: [
    [{ org_id: 1, user_id: 1 }, { unique: true }],
    [{ user_id: 1, created_at: 1 }],
    [{ org_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, role: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, status: 1, created_at: -1, _id: -1 }],
  ],
});
