import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export interface ProjectRecord extends StoredRecord {
  org_id: string;
  name: string;
  slug: string;
  description: string;
  timezone: string | null;
  default_llm_id: string | null;
  default_stt_id: string | null;
  default_tts_id: string | null;
  default_voice_id: string | null;
  default_telephony_account_id: string | null;
  recording_enabled: boolean;
  retention_days: number | null;
  archived_at: Date | null;
}

export const projectCollection = defineCollection<ProjectRecord, 'org'>({
  name: 'projects',
  tenancy: 'org',
  fields: {
    name: { type: String, required: true },
    slug: { type: String, required: true },
    description: { type: String, default: '' },
    timezone: { type: String, default: null },
    default_llm_id: { type: String, default: null },
    default_stt_id: { type: String, default: null },
    default_tts_id: { type: String, default: null },
    default_voice_id: { type: String, default: null },
    default_telephony_account_id: { type: String, default: null },
    recording_enabled: { type: Boolean, required: true, default: true },
    retention_days: { type: Number, default: null },
    archived_at: { type: Date, default: null },
  },
  indexes: [
    [{ org_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, slug: 1 }, { unique: true }],
    [{ retention_days: 1, _id: 1 }],
  ],
});
