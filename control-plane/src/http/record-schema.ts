import { z } from 'zod';
import type { StoredRecord } from '../storage/collection.ts';

/** A point in time in an answer. */
export const timestamp = z.iso.datetime().meta({ example: '2026-01-31T09:30:00.000Z' });
export const maybeTime = timestamp.nullable();

/** What every stored record has. */
export const recordFields = { created_at: timestamp, updated_at: timestamp };

/** Fields that a client may send back as it read them. */
export const READ_ONLY_FIELDS = ['id', 'org_id', 'created_at', 'updated_at'] as const;

export function time(value: Date): string;
export function time(value: Date | null | undefined): string | null;
export function time(value: Date | null | undefined): string | null {
  return value ? value.toISOString() : null;
}

export function toTimes(record: StoredRecord): { created_at: string; updated_at: string } {
  return { created_at: time(record.created_at), updated_at: time(record.updated_at) };
}
