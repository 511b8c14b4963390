import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { KeyPrincipal } from '../tenancy/principal.ts';

export interface ApiKeyRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  name: string;
  role: KeyPrincipal['role'];
  /** SHA-256 of the key, hex. The key itself is never stored. */
  digest: string;
  key_start: string;
  last_four: string;
  /** `usr_…`, `key_…`, or `cli` for keys made on the server's command line. */
  created_by: string;
  expires_at: Date | null;
  /** To the minute. */
  last_used_at: Date | null;
  revoked_at: Date | null;
}

export const apiKeyCollection = defineCollection<ApiKeyRecord, 'project'>({
  name: 'api_keys',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    role: { type: String, required: true },
    digest: { type: String, required: true },
    key_start: { type: String, required: true },
    last_four: { type: String, required: true },
    created_by: { type: String, required: true },
    expires_at: { type: Date, default: null },
    last_used_at: { type: Date, default: null },
    revoked_at: { type: Date, default: null },
  },
  indexes: [
    [{ digest: 1 }, { unique: true }],
    [{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, name: 1, _id: 1 }],
    [{ org_id: 1, project_id: 1, revoked_at: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, created_by: 1 }],
  ],
});
