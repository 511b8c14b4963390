import { defineCollection } from '../../storage/collection.ts';
import type { StoredRecord } from '../../storage/collection.ts';

export const IMPORT_STATUSES = ['queued', 'running', 'done', 'failed'] as const;

/** A CSV file whose records become rows of a database, and how far that has gone. */
export interface ImportRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  database_id: string;
  /** Of the file. */
  name: string;
  size_bytes: number;
  status: (typeof IMPORT_STATUSES)[number];
  /** Why it failed. */
  error: string | null;
  /** Records that are dealt with; an import that was interrupted goes on behind them. */
  rows: number;
  imported: number;
  error_count: number;
  finished_at: Date | null;
  /** When it is to be worked on; null: it is over. */
  run_at: Date | null;
  lease_until: Date;
  /** Counts claims: whoever works on it settles only what is still theirs. */
  attempts: number;
  /** How often it has failed in a row for reasons of our own. */
  failures: number;
  expires_at: Date;
}

export const importCollection = defineCollection<ImportRecord, 'project'>({
  name: 'database_imports',
  tenancy: 'project',
  fields: {
    database_id: { type: String, required: true },
    name: { type: String, required: true },
    size_bytes: { type: Number, required: true },
    status: { type: String, enum: IMPORT_STATUSES, required: true },
    error: { type: String, default: null },
    rows: { type: Number, required: true, default: 0 },
    imported: { type: Number, required: true, default: 0 },
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

/** A record of the file that became no row. What stands in it is kept out: people are spoken of there. */
export interface ImportErrorRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  import_id: string;
  /** From 1, the header not counted. */
  record: number;
  problems: { column: string; msg: string }[];
  expires_at: Date;
}

export const importErrorCollection = defineCollection<ImportErrorRecord, 'project'>({
  name: 'database_import_errors',
  tenancy: 'project',
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
