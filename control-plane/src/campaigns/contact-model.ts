import { nameWordsField } from '../composition/name-words.ts';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Counted } from './campaign-counters.ts';
import { CONTACT_STATUSES } from './campaign-states.ts';
import type { ContactStatus } from './campaign-states.ts';

/** What the last attempt to call a contact came to. */
export const CONTACT_OUTCOMES = [
  'answered',
  'voicemail',
  'no_answer',
  'busy',
  'rejected',
  'invalid_number',
  'failed',
  'cancelled',
] as const;
export type ContactOutcome = (typeof CONTACT_OUTCOMES)[number];

/** Why somebody was not called, or not made a contact. */
export const SKIP_REASONS = [
  'invalid_number',
  'duplicate',
  'suppressed',
  'missing_variable',
  'campaign_ended',
] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Somebody whom a campaign calls. */
export interface ContactRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  campaign_id: string;
  /** E.164; null once it was erased. */
  phone_number: string | null;
  /** The number where the campaign has it once, else null. */
  unique_number: string | null;
  name: string | null;
  /** What the name is found by; of a call by itself nothing. Contacts of earlier versions have none, until they are given some. */
  words?: string[];
  external_id: string | null;
  timezone: string | null;
  variables: Record<string, string>;
  status: ContactStatus;
  outcome: ContactOutcome | null;
  skip_reason: SkipReason | null;
  attempts_made: number;
  next_attempt_at: Date | null;
  last_session_id: string | null;
  goal_status: string | null;

  /** When it is to be called at the earliest; null: it does not wait for a call. */
  due_at: Date | null;
  /** Whether it was due, and waits for its calling hours. */
  deferred: boolean;
  /** Attempts since it was added or called for again: as many as `max_attempts` allows. */
  round_attempts: number;
  /** When the attempt under way was begun. */
  queued_at: Date | null;
  answered_count: number;
  voicemail_count: number;

  /** Rises with every change of what is counted. */
  revision: number;
  /** What the counters of the campaign hold of it; null: nothing yet. */
  counted: Counted | null;
  /** Number of the batch by which it was last counted. */
  counted_batch: number;
  /** Whether the counters are still to follow it. */
  uncounted: boolean;
  /** It is to be deleted, once the counters have forgotten it. */
  removed: boolean;
}

const NEWEST = { created_at: -1, _id: -1 } as const;
const text = { type: String, default: null };
const number = { type: Number, default: 0 };

export const contactCollection = defineCollection<ContactRecord, 'project'>({
  name: 'campaign_contacts',
  tenancy: 'project',
  fields: {
    campaign_id: { type: String, required: true },
    phone_number: text,
    unique_number: text,
    name: text,
    words: nameWordsField,
    external_id: text,
    timezone: text,
    variables: { type: Object, default: {} },
    status: { type: String, enum: CONTACT_STATUSES, required: true },
    outcome: text,
    skip_reason: text,
    attempts_made: number,
    next_attempt_at: { type: Date, default: null },
    last_session_id: text,
    goal_status: text,
    due_at: { type: Date, default: null },
    deferred: { type: Boolean, default: false },
    round_attempts: number,
    queued_at: { type: Date, default: null },
    answered_count: number,
    voicemail_count: number,
    revision: number,
    counted: { type: Object, default: null },
    counted_batch: number,
    uncounted: { type: Boolean, default: true },
    removed: { type: Boolean, default: false },
  },
  indexes: [
    [{ campaign_id: 1, _id: 1 }],
    [{ campaign_id: 1, ...NEWEST }],
    [{ campaign_id: 1, updated_at: -1, _id: -1 }],
    [{ campaign_id: 1, status: 1, ...NEWEST }],
    [{ campaign_id: 1, outcome: 1, ...NEWEST }],
    [{ campaign_id: 1, goal_status: 1, ...NEWEST }],
    [{ campaign_id: 1, phone_number: 1, ...NEWEST }],
    [{ campaign_id: 1, words: 1, ...NEWEST }],
    [
      { campaign_id: 1, unique_number: 1 },
      { unique: true, partialFilterExpression: { unique_number: { $type: 'string' } } },
    ],
    [
      { campaign_id: 1, external_id: 1 },
      { unique: true, partialFilterExpression: { external_id: { $type: 'string' } } },
    ],
    // Whom to call next.
    [{ campaign_id: 1, due_at: 1, _id: 1 }],
    [{ uncounted: 1, campaign_id: 1, _id: 1 }, { partialFilterExpression: { uncounted: true } }],
    // A person who is to be forgotten, and the contact of a session.
    [{ org_id: 1, project_id: 1, phone_number: 1 }],
    [{ org_id: 1, project_id: 1, external_id: 1 }],
    // The search over the org.
    [{ org_id: 1, project_id: 1, words: 1, ...NEWEST }],
    [{ last_session_id: 1 }],
  ],
});

/** One attempt to call a contact. */
export interface AttemptRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  campaign_id: string;
  contact_id: string;
  attempt_number: number;
  session_id: string;
  outcome: ContactOutcome | null;
  /** Whether it failed for technical reasons. */
  technical: boolean;
  queued_at: Date;
  ended_at: Date | null;
}

export const attemptCollection = defineCollection<AttemptRecord, 'project'>({
  name: 'campaign_attempts',
  tenancy: 'project',
  fields: {
    campaign_id: { type: String, required: true },
    contact_id: { type: String, required: true },
    attempt_number: { type: Number, required: true },
    session_id: { type: String, required: true },
    outcome: text,
    technical: { type: Boolean, default: false },
    queued_at: { type: Date, required: true },
    ended_at: { type: Date, default: null },
  },
  indexes: [
    [{ contact_id: 1, ...NEWEST }],
    [{ contact_id: 1, updated_at: -1, _id: -1 }],
    // What the circuit breaker looks at.
    [{ campaign_id: 1, ended_at: 1, technical: 1 }],
    // What came of them over time.
    [{ campaign_id: 1, outcome: 1, ended_at: 1 }],
  ],
});
