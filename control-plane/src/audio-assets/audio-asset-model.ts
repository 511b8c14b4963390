import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { AudioFileFormat } from './audio-format.ts';

export const ASSET_KINDS = ['greeting', 'hold', 'background', 'filler', 'voicemail', 'other'] as const;
export const ASSET_STATUSES = ['processing', 'ready', 'failed'] as const;

/** Audio that was uploaded, and what is to be done with it. */
export interface AudioAssetRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  name: string;
  kind: (typeof ASSET_KINDS)[number];
  /** Of the upload, as the next four. */
  format: AudioFileFormat;
  size_bytes: number;
  sha256: string;
  /** Null until it was decoded. */
  duration_ms: number | null;
  sample_rate_hz: number | null;
  transcript: string | null;
  status: (typeof ASSET_STATUSES)[number];
  error: string | null;
  /** When it is to be made ready; null: nothing is to be done. */
  run_at: Date | null;
  lease_until: Date;
  /** Counts claims: whoever makes it ready settles only what is still theirs. */
  attempts: number;
  /** How often it has failed for reasons of our own. */
  failures: number;
}

const IN_PROJECT = { org_id: 1, project_id: 1 } as const;
const NEWEST = { created_at: -1, _id: -1 } as const;

export const audioAssetCollection = defineCollection<AudioAssetRecord, 'project'>({
  name: 'audio_assets',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    kind: { type: String, enum: ASSET_KINDS, required: true },
    format: { type: String, required: true },
    size_bytes: { type: Number, required: true },
    sha256: { type: String, required: true },
    duration_ms: { type: Number, default: null },
    sample_rate_hz: { type: Number, default: null },
    transcript: { type: String, default: null },
    status: { type: String, enum: ASSET_STATUSES, required: true },
    error: { type: String, default: null },
    run_at: { type: Date, default: null },
    lease_until: { type: Date, required: true, default: new Date(0) },
    attempts: { type: Number, required: true, default: 0 },
    failures: { type: Number, required: true, default: 0 },
  },
  indexes: [
    [{ ...IN_PROJECT, ...NEWEST }],
    [{ ...IN_PROJECT, updated_at: -1, _id: -1 }],
    [{ ...IN_PROJECT, name: 1, _id: 1 }],
    [{ ...IN_PROJECT, kind: 1, ...NEWEST }],
    [{ ...IN_PROJECT, status: 1, ...NEWEST }],
    [{ run_at: 1 }],
  ],
});
