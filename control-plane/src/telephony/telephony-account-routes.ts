import { z } from 'zod';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import { carriers, credentialsText } from '../carriers/carriers.ts';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import {
  defineOperation,
  idSchema,
  jsonBody,
  patchBody,
  HttpResponse,
  type Operation,
} from '../http/operation.ts';
import { maybeTime, READ_ONLY_FIELDS, recordFields, time, toTimes } from '../http/record-schema.ts';
import { inOrg, item } from '../tenancy/target.ts';
import { telephonyAccountCollection } from './telephony-account-model.ts';
import { accountLimits } from './telephony-account-record.ts';
import type { TelephonyAccountRecord } from './telephony-account-record.ts';
import type { TelephonyAccountService } from './telephony-account-service.ts';

const TAG = 'Telephony accounts';
const ADMIN = { user: 'admin' } as const;
const account = item(telephonyAccountCollection, 'telephony_account_id');
const READ_ONLY = [
  ...READ_ONLY_FIELDS,
  'callback_urls',
  'last_verified_at',
  'last_error',
  'last_callback_at',
];

const fields = {
  name: z.string().min(1).max(120),
  project_ids: z.array(idSchema('prj')).min(1).max(100).nullable(),
  credentials: z.record(z.string(), z.string()).meta({ description: credentialsText }),
  allowed_countries: z
    .array(z.string().regex(/^[A-Z]{2}$/, 'must be an ISO 3166 code'))
    .max(250)
    .nullable(),
  max_concurrent_calls: z.number().int().min(1).max(2000),
  calls_per_second: z.number().min(0.1).max(50),
  region: z.string().min(1).max(60).nullable().meta({
    description:
      "Null: the carrier's own choice. Any other value is refused (`not_available`): this version asks no carrier for a region.",
  }),
  daily_spend_limit_amount: z
    .string()
    .regex(/^\d{1,12}(\.\d{1,6})?$/, 'must be a decimal amount such as "25.00"')
    .nullable(),
};

const limits = {
  region: fields.region.optional(),
  max_concurrent_calls: fields.max_concurrent_calls.optional(),
  calls_per_second: fields.calls_per_second.optional(),
  daily_spend_limit_amount: fields.daily_spend_limit_amount.optional(),
};

const createBody = z
  .strictObject({
    name: fields.name,
    provider: carrierSchema,
    credentials: fields.credentials,
    project_ids: fields.project_ids.optional(),
    allowed_countries: fields.allowed_countries.optional(),
    ...limits,
  })
  .meta({ id: 'CreateTelephonyAccountRequest' });

const changeBody = z
  .strictObject({
    name: fields.name.optional(),
    credentials: fields.credentials.optional(),
    project_ids: fields.project_ids.optional(),
    allowed_countries: fields.allowed_countries.optional(),
    ...limits,
    status: z
      .enum(['active', 'disabled'])
      .optional()
      .meta({ description: '`active` needs credentials that the carrier has confirmed.' }),
  })
  .meta({ id: 'PatchTelephonyAccountRequest' });

const accountResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    name: z.string(),
    provider: z.string(),
    project_ids: z.array(z.string()).nullable(),
    credentials: z.object({ set: z.boolean() }),
    region: fields.region,
    allowed_countries: z.array(z.string()).nullable(),
    max_concurrent_calls: fields.max_concurrent_calls,
    calls_per_second: fields.calls_per_second,
    daily_spend_limit_amount: z.string().nullable(),
    callback_urls: z.object({ voice: z.string(), status: z.string(), ucc: z.string().nullable() }),
    status: z.string(),
    last_verified_at: maybeTime,
    last_error: z.string().nullable(),
    last_callback_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'TelephonyAccount' });

const verdictResponse = z
  .object({
    ok: z.boolean().meta({ description: 'Whether nothing is wrong.' }),
    error: z.string().optional().meta({ description: 'Code of the first problem. Absent: there is none.' }),
    problems: z
      .array(
        z.object({
          code: z
            .string()
            .meta({ description: 'What is wrong, for programs.', example: 'application_elsewhere' }),
          message: z.string().meta({ description: 'What is wrong and what to do, for people.' }),
        }),
      )
      .meta({ description: 'All that is wrong.' }),
  })
  .meta({ id: 'TelephonyAccountVerdict' });

export function telephonyAccountRoutes({
  telephonyAccounts: accounts,
  publicUrl,
}: {
  telephonyAccounts: TelephonyAccountService;
  publicUrl: string;
}): Operation[] {
  const toResponse = (record: TelephonyAccountRecord): z.input<typeof accountResponse> => {
    const callback = (kind: 'voice' | 'status' | 'ucc') =>
      `${publicUrl}${carrierCallbackPath(record.provider, kind, record._id)}`;
    return {
      id: record._id,
      org_id: record.org_id,
      name: record.name,
      provider: record.provider,
      project_ids: record.project_ids,
      credentials: { set: true },
      region: null,
      allowed_countries: record.allowed_countries,
      ...accountLimits(record),
      daily_spend_limit_amount: record.daily_spend_limit_amount ?? null,
      callback_urls: {
        voice: callback('voice'),
        status: callback('status'),
        ucc: carriers[record.provider].complaints ? callback('ucc') : null,
      },
      status: record.status,
      last_verified_at: time(record.last_verified_at),
      last_error: record.last_error,
      last_callback_at: time(record.last_callback_at),
      ...toTimes(record),
    };
  };
  return [
    defineOperation({
      id: 'listTelephonyAccounts',
      method: 'GET',
      path: '/v1/orgs/{org_id}/telephony-accounts',
      tag: TAG,
      summary: 'List telephony accounts',
      access: { key: 'viewer', user: 'viewer' },
      target: inOrg,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: {
          provider: anyOf(carrierSchema).optional(),
          status: anyOf(z.enum(['unverified', 'active', 'invalid', 'disabled'])).optional(),
        },
      }),
      responses: { 200: { description: 'Accounts', schema: listOf(accountResponse) } },
      handle: async ({ scope, query }) => toPage(await accounts.list(scope, query), toResponse),
    }),
    defineOperation({
      id: 'createTelephonyAccount',
      method: 'POST',
      path: '/v1/orgs/{org_id}/telephony-accounts',
      tag: TAG,
      summary: 'Add a telephony account',
      access: ADMIN,
      target: inOrg,
      body: jsonBody(createBody, { readOnly: READ_ONLY }),
      responses: { 201: { description: 'The account', schema: accountResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, address, body }) =>
        toResponse(await accounts.create(scope, caller, address, body)),
    }),
    defineOperation({
      id: 'getTelephonyAccount',
      method: 'GET',
      path: '/v1/telephony-accounts/{telephony_account_id}',
      tag: TAG,
      summary: 'Get a telephony account',
      access: { key: 'viewer', user: 'viewer' },
      target: account,
      responses: { 200: { description: 'The account', schema: accountResponse } },
      handle: ({ item }) => toResponse(item),
    }),
    defineOperation({
      id: 'updateTelephonyAccount',
      method: 'PATCH',
      path: '/v1/telephony-accounts/{telephony_account_id}',
      tag: TAG,
      summary: 'Update a telephony account',
      access: ADMIN,
      target: account,
      body: patchBody(changeBody, { readOnly: [...READ_ONLY, 'provider'] }),
      responses: { 200: { description: 'The account', schema: accountResponse } },
      errors: [409],
      handle: async ({ scope, caller, address, item, body }) =>
        toResponse(await accounts.change(scope, caller, address, item, body)),
    }),
    defineOperation({
      id: 'deleteTelephonyAccount',
      method: 'DELETE',
      path: '/v1/telephony-accounts/{telephony_account_id}',
      tag: TAG,
      summary: 'Delete a telephony account',
      access: ADMIN,
      target: account,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: async ({ scope, caller, address, item }) => {
        await accounts.delete(scope, caller, address, item);
        return new HttpResponse(204, undefined);
      },
    }),
    defineOperation({
      id: 'verifyTelephonyAccount',
      method: 'POST',
      path: '/v1/telephony-accounts/{telephony_account_id}/verify',
      tag: TAG,
      summary: 'Verify a telephony account',
      description:
        'Asks the carrier whether the credentials are good, and looks for what keeps calls from arriving: an application that is missing or points elsewhere, numbers without voice (the first ten), a `PUBLIC_URL` that the carrier cannot reach. Credentials that the carrier confirms make the account `active`, those that it refuses `invalid`; problems besides do not change its state.',
      access: ADMIN,
      target: account,
      responses: {
        200: {
          description: 'The outcome of the check',
          schema: verdictResponse,
        },
      },
      idempotent: {},
      handle: ({ scope, item }) => accounts.verify(scope, item),
    }),
  ];
}
