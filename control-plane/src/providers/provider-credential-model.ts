import type { MaskedSecret } from '../crypto/secret-box.ts';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { ProviderName } from '@parley/shared/contracts/session-values';

/** An org's own account at a provider. */
export interface ProviderCredentialRecord extends StoredRecord {
  org_id: string;
  /** Projects that use it; null = all of the org. */
  project_ids: string[] | null;
  provider: ProviderName;
  name: string;
  /** Encrypted JSON of the values. */
  values: string;
  /** What may be shown of each value. */
  masked: Record<string, MaskedSecret>;
  /** Null = the vendor's own address. */
  base_url: string | null;
  status: 'unverified' | 'valid' | 'invalid';
  last_verified_at: Date | null;
}

export const providerCredentialCollection = defineCollection<ProviderCredentialRecord, 'projects'>({
  name: 'provider_credentials',
  tenancy: 'projects',
  fields: {
    provider: { type: String, required: true },
    name: { type: String, required: true },
    values: { type: String, required: true },
    masked: { type: Object, required: true },
    base_url: { type: String, default: null },
    status: { type: String, required: true },
    last_verified_at: { type: Date, default: null },
  },
  indexes: [[{ org_id: 1, created_at: -1, _id: -1 }]],
});
