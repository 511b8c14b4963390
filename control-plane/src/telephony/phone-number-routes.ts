import { z } from 'zod';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import { anyOf, listOf, listQuery } from '../http/list-query.ts';
import {
  defineOperation,
  idSchema,
  jsonBody,
  patchBody,
  HttpResponse,
  type Operation,
} from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { maybeTime, READ_ONLY_FIELDS, recordFields, time, toTimes } from '../http/record-schema.ts';
import { e164 } from '../http/value-schemas.ts';
import { inProject, item } from '../tenancy/target.ts';
import { phoneNumberCollection } from './phone-number-model.ts';
import type { PhoneNumberRecord } from './phone-number-model.ts';
import type { PhoneNumberService } from './phone-number-service.ts';

const READ = { key: 'viewer', user: 'viewer' } as const;
const ADMIN = { key: 'admin', user: 'admin' } as const;
const number = item(phoneNumberCollection, 'phone_number_id');

const numberFields = {
  label: z.string().max(120).default(''),
  outbound_enabled: z.boolean().default(true),
  daily_call_limit: z.number().int().min(1).max(100_000).nullable().default(null),
};

const importBody = z
  .strictObject({
    telephony_account_id: idSchema('tel'),
    phone_number: e164,
    mode: z.enum(['import']),
    ...numberFields,
  })
  .meta({ id: 'ImportPhoneNumberRequest' });

const numberPatch = patchOf(numberFields).meta({ id: 'PatchPhoneNumberRequest' });
/** Fields that a client may send back as it read them. */
const NUMBER_READ_ONLY = [
  ...READ_ONLY_FIELDS,
  'project_id',
  'telephony_account_id',
  'provider',
  'phone_number',
  'country',
  'type',
  'origin',
  'capabilities',
  'inbound_deployment_id',
  'status',
  'released_at',
] as const;

const numberResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    project_id: z.string(),
    telephony_account_id: z.string(),
    provider: z.string(),
    phone_number: z.string(),
    country: z.string(),
    type: z.string(),
    label: z.string(),
    origin: z.string(),
    capabilities: z.array(z.string()),
    outbound_enabled: z.boolean(),
    daily_call_limit: z.number().int().nullable(),
    inbound_deployment_id: z.string().nullable(),
    status: z.string(),
    released_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'PhoneNumber' });

/** Numbers that are called and called from. */
export function phoneNumberRoutes({ phoneNumbers }: { phoneNumbers: PhoneNumberService }): Operation[] {
  const toNumber = async (record: PhoneNumberRecord): Promise<z.input<typeof numberResponse>> => ({
    id: record._id,
    org_id: record.org_id,
    project_id: record.project_id,
    telephony_account_id: record.telephony_account_id,
    provider: record.provider,
    phone_number: record.phone_number,
    country: record.country,
    type: record.type,
    label: record.label,
    origin: record.origin,
    capabilities: record.capabilities,
    outbound_enabled: record.outbound_enabled ?? true,
    daily_call_limit: record.daily_call_limit ?? null,
    inbound_deployment_id: (await phoneNumbers.boundTo(record._id))?._id ?? null,
    status: record.status,
    released_at: time(record.released_at),
    ...toTimes(record),
  });
  return [
    defineOperation({
      id: 'listPhoneNumbers',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/phone-numbers',
      tag: 'Phones',
      summary: 'List phone numbers',
      access: READ,
      target: inProject,
      query: listQuery({
        filters: {
          status: anyOf(z.enum(['active', 'released'])).optional(),
          provider: anyOf(carrierSchema).optional(),
          country: anyOf(z.string().regex(/^[A-Z]{2}$/)).optional(),
        },
      }),
      responses: { 200: { description: 'Numbers', schema: listOf(numberResponse) } },
      handle: async ({ scope, query }) => {
        const page = await phoneNumbers.list(scope, query);
        return { ...page, items: await Promise.all(page.items.map(toNumber)) };
      },
    }),
    defineOperation({
      id: 'importPhoneNumber',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/phone-numbers',
      tag: 'Phones',
      summary: 'Import a phone number',
      description:
        'Imports a number that you have at the carrier. There, set its webhooks to the `callback_urls` of the account. The account must be verified.',
      access: ADMIN,
      target: inProject,
      body: jsonBody(importBody),
      responses: { 201: { description: 'The number', schema: numberResponse } },
      errors: [409],
      idempotent: { required: true },
      handle: async ({ access, scope, body }) => toNumber(await phoneNumbers.import(access, scope, body)),
    }),
    defineOperation({
      id: 'getPhoneNumber',
      method: 'GET',
      path: '/v1/phone-numbers/{phone_number_id}',
      tag: 'Phones',
      summary: 'Get a phone number',
      access: READ,
      target: number,
      responses: { 200: { description: 'The number', schema: numberResponse } },
      handle: ({ item }) => toNumber(item),
    }),
    defineOperation({
      id: 'updatePhoneNumber',
      method: 'PATCH',
      path: '/v1/phone-numbers/{phone_number_id}',
      tag: 'Phones',
      summary: 'Update a phone number',
      access: ADMIN,
      target: number,
      body: patchBody(numberPatch, { readOnly: NUMBER_READ_ONLY }),
      responses: { 200: { description: 'The number', schema: numberResponse } },
      handle: async ({ scope, item, body }) => toNumber(await phoneNumbers.change(scope, item, body)),
    }),
    defineOperation({
      id: 'releasePhoneNumber',
      method: 'DELETE',
      path: '/v1/phone-numbers/{phone_number_id}',
      tag: 'Phones',
      summary: 'Remove an imported phone number',
      access: ADMIN,
      target: number,
      responses: { 204: { description: 'Removed' } },
      errors: [409],
      handle: async ({ scope, item }) => {
        await phoneNumbers.release(scope, item);
        return new HttpResponse(204, undefined);
      },
    }),
  ];
}
