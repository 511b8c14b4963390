import { z } from 'zod';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import { NUMBER_TYPES, type AvailableNumber } from '../carriers/carrier-numbers.ts';
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
import { inOrg, inProject, item } from '../tenancy/target.ts';
import { NUMBER_STATUSES, phoneNumberCollection } from './phone-number-model.ts';
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

const createBody = z
  .strictObject({
    telephony_account_id: idSchema('tel'),
    phone_number: e164,
    mode: z.enum(['buy', 'import']).meta({
      description: '`buy`: it is ordered from the carrier. `import`: the account has it there already.',
    }),
    ...numberFields,
  })
  .meta({ id: 'CreatePhoneNumberRequest' });

const numberPatch = patchOf({ ...numberFields, project_id: idSchema('prj') }).meta({
  id: 'PatchPhoneNumberRequest',
});
/** Fields that a client may send back as it read them. */
const NUMBER_READ_ONLY = [
  ...READ_ONLY_FIELDS,
  'telephony_account_id',
  'provider',
  'phone_number',
  'country',
  'type',
  'origin',
  'capabilities',
  'inbound_deployment_id',
  'monthly_amount',
  'currency',
  'status',
  'status_reason',
  'purchased_at',
  'released_at',
] as const;

/** The same where the number itself is said. */
const NEW_NUMBER_READ_ONLY = [
  ...NUMBER_READ_ONLY.filter((name) => name !== 'telephony_account_id' && name !== 'phone_number'),
  'project_id',
];

const availableResponse = z
  .object({
    phone_number: z.string(),
    country: z.string(),
    region: z.string().nullable(),
    type: z.string().nullable(),
    capabilities: z.array(z.string()),
    monthly_amount: z.string().nullable(),
    setup_amount: z.string().nullable(),
    currency: z.string().nullable(),
    requires_documents: z.boolean().nullable(),
  })
  .meta({ id: 'AvailablePhoneNumber' });

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
    monthly_amount: z.string().nullable(),
    currency: z.string().nullable(),
    status: z.string(),
    status_reason: z.string().nullable(),
    purchased_at: maybeTime,
    released_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'PhoneNumber' });

const availableQuery = z.strictObject({
  telephony_account_id: idSchema('tel'),
  country: z.string().regex(/^[A-Z]{2}$/, 'must be an ISO 3166 code'),
  type: z.enum(NUMBER_TYPES).optional(),
  area_code: z
    .string()
    .regex(/^\d{1,10}$/)
    .optional()
    .meta({ description: 'Digits behind the country code.' }),
  contains: z
    .string()
    .regex(/^\+?\d{2,15}$/)
    .optional()
    .meta({ description: 'Digits anywhere in the number.' }),
  limit: z.coerce.number().int().min(1).max(50).default(20),
});

function toAvailable(number: AvailableNumber): z.input<typeof availableResponse> {
  return {
    phone_number: number.phoneNumber,
    country: number.country,
    region: number.region,
    type: number.type,
    capabilities: number.capabilities,
    monthly_amount: number.monthlyAmount,
    setup_amount: number.setupAmount,
    currency: number.currency,
    requires_documents: number.requiresDocuments,
  };
}

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
    monthly_amount: record.monthly_amount ?? null,
    currency: record.currency ?? null,
    status: record.status,
    status_reason: record.status_reason ?? null,
    purchased_at: time(record.purchased_at),
    released_at: time(record.released_at),
    ...toTimes(record),
  });
  return [
    defineOperation({
      id: 'listAvailablePhoneNumbers',
      method: 'GET',
      path: '/v1/orgs/{org_id}/phone-numbers/available',
      tag: 'Phones',
      summary: 'Search phone numbers to buy',
      description: 'Asks the carrier of the account. What a carrier does not tell is null.',
      access: ADMIN,
      target: inOrg,
      query: availableQuery,
      responses: { 200: { description: 'Numbers for sale', schema: listOf(availableResponse) } },
      errors: [409, 502],
      handle: async ({ access, scope, query }) => {
        const { telephony_account_id, country, type = null, area_code, contains, limit } = query;
        const search = { country, type, areaCode: area_code ?? null, contains: contains ?? null, limit };
        const found = await phoneNumbers.available(access, scope, telephony_account_id, search);
        return { items: found.map(toAvailable), total: found.length };
      },
    }),
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
          status: anyOf(z.enum(NUMBER_STATUSES)).optional(),
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
      id: 'createPhoneNumber',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/phone-numbers',
      tag: 'Phones',
      summary: 'Buy or import a phone number',
      description:
        'The account must be verified. The webhooks of the number are set to the `callback_urls` of the account. A number that is bought costs money at the carrier: it is `provisioning` until the carrier has it ready, then `active` or `failed`.',
      access: ADMIN,
      target: inProject,
      body: jsonBody(createBody, { readOnly: NEW_NUMBER_READ_ONLY }),
      responses: {
        201: { description: 'The number was imported', schema: numberResponse },
        202: { description: 'The number is ordered', schema: numberResponse },
      },
      errors: [402, 409, 502],
      idempotent: { required: true },
      handle: async ({ access, scope, body, caller, address }) => {
        const { mode, ...request } = body;
        if (mode === 'import') return toNumber(await phoneNumbers.import(access, scope, request));
        const number = await phoneNumbers.buy(access, scope, request, { caller, address });
        return new HttpResponse(202, await toNumber(number));
      },
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
      errors: [409],
      handle: async ({ access, scope, item, body }) =>
        toNumber(await phoneNumbers.change(access, scope, item, body)),
    }),
    defineOperation({
      id: 'releasePhoneNumber',
      method: 'DELETE',
      path: '/v1/phone-numbers/{phone_number_id}',
      tag: 'Phones',
      summary: 'Release a phone number',
      description:
        'Gives a number back to the carrier that was bought; of one that was imported only the webhooks are cleared.',
      access: ADMIN,
      target: number,
      responses: {
        202: { description: 'The number is being released', schema: numberResponse },
        204: { description: 'The number was imported, and is forgotten' },
      },
      errors: [409, 502],
      handle: async ({ scope, item, caller, address }) => {
        const releasing = await phoneNumbers.release(scope, item, { caller, address });
        return releasing ? toNumber(releasing) : new HttpResponse(204, undefined);
      },
    }),
  ];
}
