import type { StoredRecord } from '../storage/collection.ts';

export const IMPORT_STATUSES = ['queued', 'running', 'done', 'failed'] as const;

/** What a file's records go to: the field of an import that names it. */
export const IMPORT_TARGETS = ['database_id', 'campaign_id', 'recipient_list_id'] as const;
export type ImportTarget = (typeof IMPORT_TARGETS)[number];

/** A CSV file whose records become rows of a database, contacts or recipients, and how far that has gone. One of the targets is named. */
export interface ImportRecord extends StoredRecord {
  org_id: string;
  /** null: it is into a list of the org. */
  project_id: string | null;
  database_id: string | null;
  campaign_id: string | null;
  recipient_list_id: string | null;
  /** User or API key. */
  created_by: string | null;
  /** ISO 3166 code, for numbers without one. */
  default_country: string | null;
  /** What becomes of people who are there already; null: a database knows none. */
  on_duplicate: 'skip' | 'update' | null;
  /** Of the file. */
  name: string;
  size_bytes: number;
  status: (typeof IMPORT_STATUSES)[number];
  /** Why it failed. */
  error: string | null;
  /** Records that are dealt with; an import that was interrupted goes on behind them. */
  rows: number;
  imported: number;
  updated: number;
  skipped: number;
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
