import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import { IMPORT_STATUSES } from './import-record.ts';
import type { ImportRecord } from './import-record.ts';

export const importCollection = defineCollection<ImportRecord, 'shared'>({
  name: 'database_imports',
  tenancy: 'shared',
  fields: {
    database_id: { type: String, default: null },
    campaign_id: { type: String, default: null },
    recipient_list_id: { type: String, default: null },
    created_by: { type: String, default: null },
    default_country: { type: String, default: null },
    on_duplicate: { type: String, default: null },
    name: { type: String, required: true },
    size_bytes: { type: Number, required: true },
    status: { type: String, enum: IMPORT_STATUSES, required: true },
    error: { type: String, default: null },
    rows: { type: Number, required: true, default: 0 },
    imported: { type: Number, required: true, default: 0 },
    updated: { type: Number, required: true, default: 0 },
    skipped: { type: Number, required: true, default: 0 },
    error_count: { type: Number, required: true, default: 0 },
    finished_at: { type: Date, default: null },
    run_at: { type: Date, default: null },
    lease_until: { type: Date, required: true, default: new Date(0) },
    attempts: { type: Number, required: true, default: 0 },
    failures: { type: Number, required: true, default: 0 },
    expires_at: { type: Date, required: true },
  },
  indexes: [
    [{ run_at: 1 }],
    [{ org_id: 1, project_id: 1, run_at: 1 }],
    [{ expires_at: 1 }, { expireAfterSeconds: 0 }],
  ],
});

/** A record of the file that became nothing. What stands in it is kept out: people are spoken of there. */
export interface ImportErrorRecord extends StoredRecord {
  org_id: string;
  /** That of its import. */
  project_id: string | null;
  import_id: string;
  /** From 1, the header not counted. */
  record: number;
  problems: { column: string; msg: string }[];
  expires_at: Date;
}

export const importErrorCollection = defineCollection<ImportErrorRecord, 'shared'>({
  name: 'database_import_errors',
  tenancy: 'shared',
  fields: {
    import_id: { type: String, required: true },
    record: { type: Number, required: true },
    problems: { type: [Object], default: [] },
    expires_at: { type: Date, required: true },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, import_id: 1, record: 1 }],
    [{ import_id: 1, record: 1 }],
    [{ expires_at: 1 }, { expireAfterSeconds: 0 }],
  ],
});
