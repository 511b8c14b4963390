import { z } from 'zod';
import { countryCode } from '../csv-imports/people-columns.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { timezoneName, variablesSchema } from '../http/value-schemas.ts';
import { doNotCallId, LIST_KINDS, RECIPIENT_STATUSES } from './recipient-list-model.ts';
import type { RecipientListRecord, RecipientRecord } from './recipient-list-model.ts';

/** Rows of a file that an import tells of. */
export const MAX_ERRORS = 100;

const name = z.string().trim().min(1).max(120).meta({ example: 'Former customers' });

const kind = z.enum(LIST_KINDS).meta({
  description: '`recipients`: people to be called. `suppression`: numbers that the project does not call.',
});

export const createRecipientListRequest = z
  .strictObject({
    name,
    kind,
  })
  .meta({ id: 'CreateRecipientListRequest' });

export const patchRecipientListRequest = patchOf({ name }).meta({ id: 'PatchRecipientListRequest' });

export const RECIPIENT_LIST_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'built_in',
  'columns',
  'recipient_count',
  'created_at',
  'updated_at',
] as const;

export const recipientListResponse = z
  .object({
    id: z.string().meta({ example: 'rcl_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string().nullable().meta({ description: 'Null: the list of the org, in every project.' }),
    name: z.string(),
    kind,
    columns: z.array(z.string()).meta({ description: 'Names of the variables that were seen in it.' }),
    built_in: z.boolean().meta({ description: "Whether it is the org's do-not-call list." }),
    recipient_count: z.number().int().meta({ description: 'Numbers in it.' }),
    ...recordFields,
  })
  .meta({ id: 'RecipientList' });

export function toRecipientListResponse(
  list: RecipientListRecord & { recipient_count: number },
): z.infer<typeof recipientListResponse> {
  return {
    id: list._id,
    org_id: list.org_id,
    project_id: list.project_id,
    name: list.name,
    kind: list.kind,
    columns: list.columns ?? [],
    built_in: isBuiltIn(list),
    recipient_count: list.recipient_count,
    ...toTimes(list),
  };
}

export function isBuiltIn({ _id, org_id }: Pick<RecipientListRecord, '_id' | 'org_id'>): boolean {
  return _id === doNotCallId(org_id);
}

export const phoneNumber = z
  .string()
  .regex(/^\+[1-9]\d{6,14}$/)
  .meta({ description: 'In E.164 form.', example: '+14155550100' });

const writable = {
  name: z.string().trim().min(1).max(200).nullable().default(null),
  external_id: z.string().min(1).max(200).nullable().default(null),
  reason: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .nullable()
    .meta({ description: 'Why the number is in the list.' })
    .default(null),
  timezone: timezoneName
    .nullable()
    .meta({ description: 'IANA timezone of the person; only in a list of recipients.' })
    .default(null),
  variables: variablesSchema
    .meta({ description: 'Values of variables, by name; only in a list of recipients.' })
    .default({}),
};

export const addRecipientsRequest = z
  .strictObject({
    recipients: z
      .array(z.strictObject({ phone_number: phoneNumber, ...writable }))
      .min(1)
      .max(1000)
      .meta({ description: 'Numbers to add. One that is in the list stays as it is.' }),
  })
  .meta({ id: 'AddRecipientsRequest' });

export const addedRecipientsResponse = z
  .object({
    added: z.number().int().meta({ description: 'Numbers that are new to the list.' }),
    known: z.number().int().meta({ description: 'Numbers that were in the list, or were sent twice.' }),
  })
  .meta({ id: 'AddedRecipients' });

const status = z.enum(RECIPIENT_STATUSES).meta({
  description:
    '`valid`; `invalid`: no number that can be dialled; `opted_out`: the person is not to be called, and campaigns leave them out.',
});

export const patchRecipientRequest = patchOf({ ...writable, status }).meta({ id: 'PatchRecipientRequest' });

export const RECIPIENT_READ_ONLY = [
  'id',
  'list_id',
  'phone_number',
  'source',
  'added_by',
  'session_id',
  'created_at',
  'updated_at',
] as const;

export const recipientResponse = z
  .object({
    id: z.string().meta({ example: 'rcp_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    list_id: z.string(),
    phone_number: z.string(),
    name: z.string().nullable(),
    external_id: z.string().nullable(),
    reason: z.string().nullable(),
    timezone: z.string().nullable(),
    variables: z.record(z.string(), z.string()),
    status,
    source: z.enum(['api', 'agent', 'import', 'carrier']).meta({
      description:
        '`api`: by hand. `agent`: the person asked an agent for it. `import`: from a file. `carrier`: the person complained about a call.',
    }),
    added_by: z
      .string()
      .nullable()
      .meta({ description: 'User, API key or agent that added it; null: none of them.' }),
    session_id: z.string().nullable(),
    ...recordFields,
  })
  .meta({ id: 'Recipient' });

export function toRecipientResponse(recipient: RecipientRecord): z.infer<typeof recipientResponse> {
  return {
    id: recipient._id,
    list_id: recipient.list_id,
    phone_number: recipient.phone_number,
    name: recipient.name,
    external_id: recipient.external_id,
    reason: recipient.reason,
    timezone: recipient.timezone ?? null,
    variables: recipient.variables ?? {},
    status: recipient.status ?? 'valid',
    source: recipient.source,
    added_by: recipient.added_by,
    session_id: recipient.session_id,
    ...toTimes(recipient),
  };
}

export const importRecipientsFields = z.strictObject({
  default_country: countryCode.optional(),
  on_duplicate: z.enum(['skip', 'update']).default('update').meta({
    description: 'What becomes of a number that is in the list: left as it is, or given what the file says.',
  }),
});

export const importRecipientsRequest = importRecipientsFields
  .extend({ file: z.file().meta({ description: 'The CSV file, with its name.' }) })
  .meta({ id: 'ImportRecipientsRequest' });

const count = z.number().int().min(0);

export const importedRecipientsResponse = z
  .object({
    imported: count.meta({ description: 'Rows whose numbers are new to the list.' }),
    updated: count.meta({ description: 'Rows whose numbers were in the list, and were updated.' }),
    skipped: count.meta({ description: 'Rows that changed nothing: duplicates, and those with errors.' }),
    errors: z
      .array(
        z.object({
          row: count.meta({ description: 'Number of the row, from 1, the header not counted.' }),
          loc: z.array(z.string()).meta({ description: 'Name of the column; empty: the row as a whole.' }),
          msg: z.string().meta({ description: 'What is wrong.' }),
        }),
      )
      .max(MAX_ERRORS)
      .meta({ description: `What is wrong with rows: the first ${MAX_ERRORS}.` }),
  })
  .meta({ id: 'ImportedRecipients' });
export type ImportedRecipients = z.output<typeof importedRecipientsResponse>;
