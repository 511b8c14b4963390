import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { ProviderName } from '@parley/shared/contracts/session-values';

/** A voice that an org has cloned. Catalogue voices are their providers' and are not stored. */
export interface VoiceRecord extends StoredRecord {
  org_id: string;
  name: string;
  provider: ProviderName;
  tts_id: string;
  /** Null until the provider has made it. */
  provider_voice_id: string | null;
  /** The org's credential it was made with; null = the installation's account. */
  credential_id: string | null;
  languages: string[];
  description: string;
  tags: string[];
  /** Shown to every org of the installation. */
  is_public: boolean;
  owner_user_id: string;
  status: 'processing' | 'ready' | 'failed';
  error: string | null;
}

export const voiceCollection = defineCollection<VoiceRecord, 'org'>({
  name: 'voices',
  tenancy: 'org',
  fields: {
    name: { type: String, required: true },
    provider: { type: String, required: true },
    tts_id: { type: String, required: true },
    provider_voice_id: { type: String, default: null },
    credential_id: { type: String, default: null },
    languages: { type: [String], required: true },
    description: { type: String, default: '' },
    tags: { type: [String], default: [] },
    is_public: { type: Boolean, required: true, default: false },
    owner_user_id: { type: String, required: true },
    status: { type: String, required: true },
    error: { type: String, default: null },
  },
  indexes: [
    [{ org_id: 1, created_at: -1, _id: -1 }],
    // Those that are not public are asked for with their org alone.
    [
      { is_public: 1, created_at: -1, _id: -1 },
      { name: 'public', partialFilterExpression: { is_public: true } },
    ],
    [{ provider_voice_id: 1 }],
  ],
  droppedIndexes: ['is_public_1_created_at_-1__id_-1'],
});
