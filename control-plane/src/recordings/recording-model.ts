import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** The audio of one leg of a call. */
export interface RecordingRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  session_id: string;
  leg: number;
  /** `recording` until the gateway has stored it; `processing` while it is on its way. */
  status: 'recording' | 'processing' | 'ready' | 'failed' | 'deleted';
  key: string;
  channels: number | null;
  format: 'wav' | 'mp3';
  duration_ms: number | null;
  size_bytes: number | null;
  sha256: string | null;
  error: string | null;
}

export const recordingCollection = defineCollection<RecordingRecord, 'project'>({
  name: 'recordings',
  tenancy: 'project',
  fields: {
    session_id: { type: String, required: true },
    leg: { type: Number, required: true },
    status: { type: String, required: true },
    key: { type: String, required: true },
    channels: { type: Number, default: null },
    format: { type: String, required: true },
    duration_ms: { type: Number, default: null },
    size_bytes: { type: Number, default: null },
    sha256: { type: String, default: null },
    error: { type: String, default: null },
  },
  indexes: [[{ session_id: 1, leg: 1 }, { unique: true }]],
});
