import { createHash } from 'node:crypto';
import { nameWordsField } from '../composition/name-words.ts';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export const LIST_KINDS = ['recipients', 'suppression'] as const;
export type ListKind = (typeof LIST_KINDS)[number];
export const RECIPIENT_STATUSES = ['valid', 'invalid', 'opted_out'] as const;

/** A list of telephone numbers: those of `recipients` are people to call, those of a `suppression` are not dialled. */
export interface RecipientListRecord extends StoredRecord {
  org_id: string;
  /** Null: the org's own do-not-call list, which is in every project. */
  project_id: string | null;
  name: string;
  kind: ListKind;
  /** Names of the variables that were seen in it. Lists of earlier versions have none. */
  columns?: string[];
}

export const recipientListCollection = defineCollection<RecipientListRecord, 'shared'>({
  name: 'recipient_lists',
  tenancy: 'shared',
  fields: {
    name: { type: String, required: true },
    kind: { type: String, required: true },
    columns: { type: [String], default: [] },
  },
  indexes: [[{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }]],
});

/** One number of a list. */
export interface RecipientRecord extends StoredRecord {
  org_id: string;
  /** That of its list. */
  project_id: string | null;
  list_id: string;
  /** That of its list. Numbers of earlier versions have none: they are suppressed. */
  kind?: ListKind;
  /** E.164; of one that is `invalid`, as it was written. */
  phone_number: string;
  /** Numbers of earlier versions have none: they are valid. */
  status?: (typeof RECIPIENT_STATUSES)[number];
  name: string | null;
  /** What the name is found by. Numbers of earlier versions have none, until they are given some. */
  words?: string[];
  external_id: string | null;
  /** IANA name. */
  timezone?: string | null;
  variables?: Record<string, string>;
  reason: string | null;
  source: 'api' | 'agent' | 'import' | 'carrier';
  /** `usr_…`, `key_…` or `agt_…`. */
  added_by: string | null;
  /** The call in which the agent was asked for it. */
  session_id: string | null;
}

const NEWEST = { created_at: -1, _id: -1 } as const;

export const recipientCollection = defineCollection<RecipientRecord, 'shared'>({
  name: 'recipients',
  tenancy: 'shared',
  fields: {
    list_id: { type: String, required: true },
    kind: { type: String, enum: LIST_KINDS, required: true },
    phone_number: { type: String, required: true },
    status: { type: String, enum: RECIPIENT_STATUSES, default: 'valid' },
    name: { type: String, default: null },
    words: nameWordsField,
    external_id: { type: String, default: null },
    timezone: { type: String, default: null },
    // Keys are the tenant's: read and written whole, never by path.
    variables: { type: Object, default: {} },
    reason: { type: String, default: null },
    source: { type: String, required: true },
    added_by: { type: String, default: null },
    session_id: { type: String, default: null },
  },
  indexes: [
    [{ list_id: 1, phone_number: 1 }, { unique: true }],
    [{ list_id: 1, ...NEWEST }],
    [{ list_id: 1, updated_at: -1, _id: -1 }],
    [{ list_id: 1, external_id: 1, ...NEWEST }],
    [{ list_id: 1, status: 1, ...NEWEST }],
    [{ list_id: 1, words: 1, ...NEWEST }],
    // The search over the org.
    [{ org_id: 1, project_id: 1, words: 1, ...NEWEST }],
    // Before a dial.
    [{ org_id: 1, phone_number: 1 }],
  ],
});

/** Id of the org's own list: there is one, whoever needs it first. */
export function doNotCallId(orgId: string): string {
  return `rcl_${createHash('sha256').update(`do-not-call:${orgId}`).digest('hex').slice(0, 26)}`;
}
