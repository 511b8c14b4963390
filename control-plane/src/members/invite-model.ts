import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Role } from '../tenancy/roles.ts';

export interface InviteRecord extends StoredRecord {
  org_id: string;
  /** Lower case. */
  email: string;
  role: Role;
  project_ids: string[] | null;
  status: 'pending' | 'accepted' | 'revoked';
  expires_at: Date;
  invited_by: string;
  /** SHA-256 of the mailed token, hex. */
  digest: string;
}

export const inviteCollection = defineCollection<InviteRecord, 'org'>({
  name: 'invites',
  tenancy: 'org',
  fields: {
    email: { type: String, required: true },
    role: { type: String, required: true },
    project_ids: { type: [String], default: null },
    status: { type: String, required: true },
    expires_at: { type: Date, required: true },
    invited_by: { type: String, required: true },
    digest: { type: String, required: true },
  },
  indexes: [
    [{ digest: 1 }, { unique: true }],
    [{ org_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, status: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, status: 1, expires_at: 1 }],
    [{ org_id: 1, email: 1 }],
  ],
});
