import { z } from 'zod';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { doNotCallId } from './recipient-list-model.ts';
import type { RecipientListRecord, RecipientRecord } from './recipient-list-model.ts';

const name = z.string().trim().min(1).max(120).meta({ example: 'Former customers' });

export const createRecipientListRequest = z
  .strictObject({
    name,
    kind: z.literal('suppression').meta({ description: 'Its numbers are not called by the project.' }),
  })
  .meta({ id: 'CreateRecipientListRequest' });

export const patchRecipientListRequest = patchOf({ name }).meta({ id: 'PatchRecipientListRequest' });

export const RECIPIENT_LIST_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'built_in',
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
    kind: z.enum(['suppression']),
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

export const patchRecipientRequest = patchOf(writable).meta({ id: 'PatchRecipientRequest' });

export const RECIPIENT_READ_ONLY = [
  'id',
  'list_id',
  'phone_number',
  'status',
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
    status: z.enum(['valid']),
    source: z
      .enum(['api', 'agent'])
      .meta({ description: '`api`: by hand. `agent`: the person asked an agent for it.' }),
    added_by: z.string().nullable().meta({ description: 'User, API key or agent that added it.' }),
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
    status: 'valid',
    source: recipient.source,
    added_by: recipient.added_by,
    session_id: recipient.session_id,
    ...toTimes(recipient),
  };
}
