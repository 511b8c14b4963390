import type { ImportRecord, ImportTarget } from './import-record.ts';

/** What is wrong with one cell, or with the record as a whole. */
export interface Problem {
  /** Its key or name; empty: the record. */
  column: string;
  msg: string;
}

/** A record of a file, and its number, from 1. */
export interface ImportRow {
  record: number;
  cells: string[];
}

/** What became of rows. */
export interface StoredRows {
  imported: number;
  updated: number;
  /** Those that were there already, and were left as they are. */
  skipped: number;
  errors: { record: number; problems: readonly Problem[] }[];
}

/** What files of one kind become. */
export interface ImportKind {
  readonly target: ImportTarget;
  /** Rows that are stored, and told of, at a time. */
  readonly batch: number;
  /**
   * @returns what stores rows, or why none can be: the target is gone
   * @throws BadCsvError for a header that does not fit
   */
  open(claimed: ImportRecord, header: readonly string[]): Promise<StoreRows | string>;
}

/**
 * Stores rows, each once though it be told of it again.
 * @param mayBeThere whether some may have been stored before, by a process that died before it told of them
 */
export type StoreRows = (rows: readonly ImportRow[], mayBeThere: boolean) => Promise<StoredRows>;

/** An id for what a record of a file becomes: the same however often it is stored, in the order of the records. */
export function importedId(prefix: string, importId: string, record: number): string {
  return `${prefix}_${importId.slice(4, 24)}${String(record).padStart(6, '0')}`;
}
