import { z } from 'zod';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
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
import { variablesSchema } from '../http/value-schemas.ts';
import { inProject, item } from '../tenancy/target.ts';
import { inboundDeploymentCollection } from './inbound-deployment-model.ts';
import type { InboundDeploymentRecord } from './inbound-deployment-model.ts';
import type { InboundDeploymentService } from './inbound-deployment-service.ts';
import { phoneNumberCollection } from './phone-number-model.ts';
import type { PhoneNumberRecord } from './phone-number-model.ts';
import type { PhoneNumberService } from './phone-number-service.ts';

const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;
const ADMIN = { key: 'admin', user: 'admin' } as const;
const number = item(phoneNumberCollection, 'phone_number_id');
const deployment = item(inboundDeploymentCollection, 'inbound_deployment_id');
const e164 = z.string().regex(/^\+[1-9]\d{6,14}$/, 'must be an E.164 number such as +14155550100');

const numberFields = { label: z.string().max(120).default('') };

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
    inbound_deployment_id: z.string().nullable(),
    status: z.string(),
    released_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'PhoneNumber' });

const deploymentFields = {
  name: z.string().min(1).max(120),
  phone_number_id: idSchema('phn'),
  agent_id: idSchema('agt'),
  agent_version: z.number().int().min(1).nullable().default(null),
  status: z.enum(['active', 'paused']).default('active'),
  blocked_numbers: z.array(e164).max(1000).default([]),
  variables: variablesSchema.default({}),
};

const deploymentBody = z.strictObject(deploymentFields).meta({ id: 'CreateInboundDeploymentRequest' });
const deploymentPatch = patchOf(deploymentFields).meta({ id: 'PatchInboundDeploymentRequest' });

const deploymentResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    phone_number_id: z.string(),
    agent_id: z.string(),
    agent_version: z.number().int().nullable(),
    status: z.string(),
    blocked_numbers: z.array(z.string()),
    variables: z.record(z.string(), z.string()),
    ...recordFields,
  })
  .meta({ id: 'InboundDeployment' });

/** Numbers, and the agents that answer them. */
export function phoneNumberRoutes({
  phoneNumbers,
  inboundDeployments,
}: {
  phoneNumbers: PhoneNumberService;
  inboundDeployments: InboundDeploymentService;
}): Operation[] {
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
    defineOperation({
      id: 'listInboundDeployments',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/inbound-deployments',
      tag: 'Inbound',
      summary: 'List inbound deployments',
      access: READ,
      target: inProject,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: {
          status: anyOf(z.enum(['active', 'paused'])).optional(),
          agent_id: anyOf(idSchema('agt')).optional(),
          phone_number_id: anyOf(idSchema('phn')).optional(),
        },
      }),
      responses: { 200: { description: 'Deployments', schema: listOf(deploymentResponse) } },
      handle: async ({ scope, query }) => toPage(await inboundDeployments.list(scope, query), toDeployment),
    }),
    defineOperation({
      id: 'createInboundDeployment',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/inbound-deployments',
      tag: 'Inbound',
      summary: 'Create an inbound deployment',
      access: WRITE,
      target: inProject,
      body: jsonBody(deploymentBody, { readOnly: READ_ONLY_FIELDS }),
      responses: { 201: { description: 'The deployment', schema: deploymentResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, body }) => toDeployment(await inboundDeployments.create(scope, body)),
    }),
    defineOperation({
      id: 'getInboundDeployment',
      method: 'GET',
      path: '/v1/inbound-deployments/{inbound_deployment_id}',
      tag: 'Inbound',
      summary: 'Get an inbound deployment',
      access: READ,
      target: deployment,
      responses: { 200: { description: 'The deployment', schema: deploymentResponse } },
      handle: ({ item }) => toDeployment(item),
    }),
    defineOperation({
      id: 'updateInboundDeployment',
      method: 'PATCH',
      path: '/v1/inbound-deployments/{inbound_deployment_id}',
      tag: 'Inbound',
      summary: 'Update an inbound deployment',
      access: WRITE,
      target: deployment,
      body: patchBody(deploymentPatch, { readOnly: [...READ_ONLY_FIELDS, 'project_id'] }),
      responses: { 200: { description: 'The deployment', schema: deploymentResponse } },
      errors: [409],
      handle: async ({ scope, item, body }) =>
        toDeployment(await inboundDeployments.change(scope, item, body)),
    }),
    defineOperation({
      id: 'deleteInboundDeployment',
      method: 'DELETE',
      path: '/v1/inbound-deployments/{inbound_deployment_id}',
      tag: 'Inbound',
      summary: 'Delete an inbound deployment',
      description: 'Calls in progress continue.',
      access: WRITE,
      target: deployment,
      responses: { 204: { description: 'Deleted' } },
      handle: async ({ scope, item }) => {
        await inboundDeployments.delete(scope, item);
        return new HttpResponse(204, undefined);
      },
    }),
  ];
}

function toDeployment(record: InboundDeploymentRecord): z.input<typeof deploymentResponse> {
  return {
    id: record._id,
    org_id: record.org_id,
    project_id: record.project_id,
    name: record.name,
    phone_number_id: record.phone_number_id,
    agent_id: record.agent_id,
    agent_version: record.agent_version,
    status: record.status,
    blocked_numbers: record.blocked_numbers,
    variables: record.variables,
    ...toTimes(record),
  };
}
