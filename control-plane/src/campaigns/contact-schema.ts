import { z } from 'zod';
import { countryCode } from '../csv-imports/people-columns.ts';
import { idSchema } from '../http/operation.ts';
import { recordFields, maybeTime, time, timestamp, toTimes } from '../http/record-schema.ts';
import { patchOf } from '../http/patch-schema.ts';
import { timezoneName, variablesSchema } from '../http/value-schemas.ts';
import { CONTACT_STATUSES, FINISHED_CONTACTS } from './campaign-states.ts';
import type { ContactStatus } from './campaign-states.ts';
import { CONTACT_OUTCOMES, SKIP_REASONS } from './contact-model.ts';
import type { AttemptRecord, ContactRecord } from './contact-model.ts';

export const contactStatus = z.enum(CONTACT_STATUSES);
export const contactOutcome = z.enum(CONTACT_OUTCOMES);
/** Open on the wire; a filter takes those that there are. */
export const goalStatus = z.enum(['achieved', 'not_achieved', 'unclear']);

export const e164 = z
  .string()
  .regex(/^\+[1-9]\d{6,14}$/)
  .meta({ description: 'In E.164 form.', example: '+14155550100' });

export const contactFields = {
  name: z.string().trim().min(1).max(200).nullable().default(null),
  external_id: z.string().min(1).max(200).nullable().default(null),
  timezone: timezoneName.nullable().default(null),
  variables: variablesSchema.default({}),
};

export const addContactsRequest = z
  .strictObject({
    contacts: z
      .array(
        z.strictObject({
          phone_number: z.string().trim().min(1).max(40).meta({
            description: 'In E.164 form. What is no telephone number is skipped.',
            example: '+14155550100',
          }),
          ...contactFields,
        }),
      )
      .min(1)
      .max(1000)
      .meta({ description: 'People to call.' }),
  })
  .meta({ id: 'AddCampaignContactsRequest' });
export type NewContact = z.output<typeof addContactsRequest>['contacts'][number];

export const addedContactsResponse = z
  .object({
    added: z.number().int().min(0).meta({ description: 'How many are contacts now.' }),
    skipped: z
      .array(
        z.object({
          index: z.number().int().min(0).meta({ description: 'Which one of the request, from 0.' }),
          reason: z.enum(SKIP_REASONS).meta({
            description:
              '`invalid_number`, `duplicate` (the number or the `external_id` is there already) or `suppressed`.',
          }),
        }),
      )
      .meta({ description: 'Those that are not.' }),
  })
  .meta({ id: 'AddedCampaignContacts' });

export const patchContactRequest = patchOf({ phone_number: e164, ...contactFields }).meta({
  id: 'PatchCampaignContactRequest',
});
export type ContactPatch = z.output<typeof patchContactRequest>;

export const CONTACT_READ_ONLY = [
  'id',
  'campaign_id',
  'status',
  'outcome',
  'skip_reason',
  'attempts_made',
  'next_attempt_at',
  'last_session_id',
  'goal_status',
  'created_at',
  'updated_at',
] as const;

const outcome = contactOutcome.nullable();

export const contactResponse = z
  .object({
    id: z.string().meta({ example: 'cct_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    campaign_id: z.string(),
    phone_number: z.string().nullable(),
    name: z.string().nullable(),
    external_id: z.string().nullable(),
    timezone: z.string().nullable(),
    variables: z.record(z.string(), z.string()),
    status: contactStatus,
    outcome: outcome,
    skip_reason: z.enum(SKIP_REASONS).nullable(),
    attempts_made: z.number().int(),
    next_attempt_at: maybeTime,
    last_session_id: z.string().nullable(),
    goal_status: z.string().nullable(),
    ...recordFields,
  })
  .meta({ id: 'CampaignContact' });

export function toContactResponse(contact: ContactRecord): z.input<typeof contactResponse> {
  return {
    id: contact._id,
    campaign_id: contact.campaign_id,
    phone_number: contact.phone_number,
    name: contact.name,
    external_id: contact.external_id,
    timezone: contact.timezone,
    variables: contact.variables,
    status: contact.status,
    outcome: contact.outcome,
    skip_reason: contact.skip_reason,
    attempts_made: contact.attempts_made,
    next_attempt_at: time(contact.next_attempt_at),
    last_session_id: contact.last_session_id,
    goal_status: contact.goal_status,
    ...toTimes(contact),
  };
}

/** Of an import: what is wrong with further rows is not told. */
export const MAX_ERRORS = 100;

export const importContactsFields = z.strictObject({
  default_country: countryCode.optional(),
  on_duplicate: z.enum(['skip', 'update']).default('update').meta({
    description:
      'What becomes of somebody who is a contact already: left alone, or given what the file says while waiting for a call.',
  }),
});

export const importContactsFile = importContactsFields
  .extend({ file: z.file().meta({ description: 'The CSV file, with its name.' }) })
  .meta({ id: 'ImportCampaignContactsFile' });

export const importContactsList = z
  .strictObject({
    recipient_list_id: idSchema('rcl').meta({
      description: 'Recipient list whose people become contacts; not those who have opted out.',
    }),
  })
  .meta({ id: 'ImportCampaignContactsList' });

const rows = z.number().int().min(0);

export const importedContactsResponse = z
  .object({
    imported: rows.meta({ description: 'Rows that are contacts now.' }),
    updated: rows.meta({ description: 'Rows whose people were contacts, and were updated.' }),
    skipped: rows.meta({ description: 'Rows that changed nothing.' }),
    errors: z
      .array(
        z.object({
          row: rows.meta({ description: 'Number of the row, from 1, the header not counted.' }),
          loc: z.array(z.string()).meta({ description: 'Name of the column; empty: the row as a whole.' }),
          msg: z.string().meta({ description: 'What is wrong.' }),
        }),
      )
      .max(MAX_ERRORS)
      .meta({ description: `What is wrong with rows: the first ${MAX_ERRORS}.` }),
  })
  .meta({ id: 'ImportedCampaignContacts' });
export type ImportedContacts = z.output<typeof importedContactsResponse>;

const finishedStatus = z.enum(FINISHED_CONTACTS as [ContactStatus, ...ContactStatus[]]);

export const redialRequest = z
  .strictObject({
    statuses: z.array(finishedStatus).min(1).max(FINISHED_CONTACTS.length).optional(),
    outcomes: z.array(contactOutcome).min(1).max(CONTACT_OUTCOMES.length).optional(),
  })
  .meta({ id: 'RedialCampaignRequest' });

export const redialledResponse = z
  .object({ requeued: z.number().int().min(0) })
  .meta({ id: 'RedialledCampaign' });

/** An attempt, and its session as it stands. */
export interface Attempt extends AttemptRecord {
  status: string;
  started_at: Date | null;
}

export const attemptResponse = z
  .object({
    id: z.string().meta({ example: 'att_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    contact_id: z.string(),
    attempt_number: z.number().int(),
    session_id: z.string(),
    status: z.string(),
    outcome: outcome,
    queued_at: timestamp,
    started_at: maybeTime,
    ended_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'CampaignAttempt' });

export function toAttemptResponse(attempt: Attempt): z.input<typeof attemptResponse> {
  return {
    id: attempt._id,
    contact_id: attempt.contact_id,
    attempt_number: attempt.attempt_number,
    session_id: attempt.session_id,
    status: attempt.status,
    outcome: attempt.outcome,
    queued_at: time(attempt.queued_at),
    started_at: time(attempt.started_at),
    ended_at: time(attempt.ended_at),
    ...toTimes(attempt),
  };
}
