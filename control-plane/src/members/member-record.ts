import type { StoredRecord } from '../storage/collection.ts';
import type { Role } from '../tenancy/roles.ts';

export interface MemberRecord extends StoredRecord {
  org_id: string;
  user_id: string;
  role: Role;
  /** Null: every project. Only viewers and editors can be narrowed. */
  project_ids: string[] | null;
  status: 'active' | 'suspended';
  last_seen_at: Date | null;
}
