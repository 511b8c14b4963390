import { z } from 'zod';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import {
  defineOperation,
  idSchema,
  jsonBody,
  patchBody,
  HttpResponse,
  type Operation,
} from '../http/operation.ts';
import { READ_ONLY_FIELDS } from '../http/record-schema.ts';
import { inProject, item } from '../tenancy/target.ts';
import { inboundDeploymentCollection } from './inbound-deployment-model.ts';
import {
  deploymentBody,
  deploymentPatch,
  deploymentResponse,
  toDeployment,
} from './inbound-deployment-schema.ts';
import type { InboundDeploymentService } from './inbound-deployment-service.ts';

const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;
const READ_ONLY = [...READ_ONLY_FIELDS, 'project_id'];
const deployment = item(inboundDeploymentCollection, 'inbound_deployment_id');

/** Which agents answer which numbers. */
export function inboundDeploymentRoutes({
  inboundDeployments,
}: {
  inboundDeployments: InboundDeploymentService;
}): Operation[] {
  return [
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
      body: jsonBody(deploymentBody, { readOnly: READ_ONLY }),
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
      body: patchBody(deploymentPatch, { readOnly: READ_ONLY }),
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
