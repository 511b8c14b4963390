import { z } from 'zod';
import { ForbiddenError } from '@parley/shared/errors/app-error';
import type { ControlPlaneConfig } from '../config.ts';
import { listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { Directory } from '../tenancy/directory.ts';
import { inOrg } from '../tenancy/target.ts';
import {
  createOrgRequest,
  ORG_READ_ONLY,
  orgResponse,
  patchOrgRequest,
  toOrgResponse,
} from './org-schema.ts';
import type { OrgService } from './org-service.ts';

export function orgRoutes({
  orgs,
  directory,
  config,
}: {
  orgs: OrgService;
  directory: Directory;
  config: ControlPlaneConfig;
}): Operation[] {
  /** Who may register may also make orgs; where invites are needed, only owners may. */
  async function checkMayCreate(userId: string): Promise<void> {
    if (config.REGISTRATION === 'open') return;
    const owner = (await directory.memberships(userId)).some((member) => member.role === 'owner');
    if (config.REGISTRATION === 'closed' || !owner) {
      throw new ForbiddenError('forbidden', 'Only operators of this installation can create orgs.');
    }
  }

  return [
    defineOperation({
      id: 'listOrgs',
      method: 'GET',
      path: '/v1/orgs',
      tag: 'Orgs',
      summary: 'List your orgs',
      access: { key: 'viewer', user: 'any' },
      query: listQuery({ sortable: ['name'], q: true }),
      responses: { 200: { description: 'A page of orgs', schema: listOf(orgResponse) } },
      handle: async ({ access, query }) =>
        toPage(await orgs.list(await access.orgIds(), query), toOrgResponse),
    }),
    defineOperation({
      id: 'createOrg',
      method: 'POST',
      path: '/v1/orgs',
      tag: 'Orgs',
      summary: 'Create an org',
      access: { user: 'any' },
      body: jsonBody(createOrgRequest, { readOnly: ORG_READ_ONLY }),
      responses: { 201: { description: 'The org, of which the caller is owner', schema: orgResponse } },
      idempotent: {},
      async handle({ caller, body, address }) {
        if (caller.auth !== 'jwt') throw new ForbiddenError('user_required');
        await checkMayCreate(caller.user_id);
        return toOrgResponse(await orgs.create(body, caller.user_id, { address }));
      },
    }),
    defineOperation({
      id: 'getOrg',
      method: 'GET',
      path: '/v1/orgs/{org_id}',
      tag: 'Orgs',
      summary: 'Get an org',
      access: { key: 'viewer', user: 'viewer' },
      target: inOrg,
      responses: { 200: { description: 'The org', schema: orgResponse } },
      handle: async ({ scope }) => toOrgResponse(await orgs.get(scope.orgId)),
    }),
    defineOperation({
      id: 'updateOrg',
      method: 'PATCH',
      path: '/v1/orgs/{org_id}',
      tag: 'Orgs',
      summary: 'Update an org',
      access: { user: 'admin' },
      target: inOrg,
      body: patchBody(patchOrgRequest, { readOnly: ORG_READ_ONLY }),
      responses: { 200: { description: 'The org', schema: orgResponse } },
      handle: async ({ scope, caller, body, address }) =>
        toOrgResponse(await orgs.update(scope.orgId, caller, body, { address })),
    }),
    defineOperation({
      id: 'deleteOrg',
      method: 'DELETE',
      path: '/v1/orgs/{org_id}',
      tag: 'Orgs',
      summary: 'Delete an org',
      description: 'All data of the org is removed after 30 days. `confirm` must be the slug of the org.',
      access: { user: 'owner' },
      target: inOrg,
      whenSuspended: true,
      query: z.object({ confirm: z.string() }),
      responses: { 202: { description: 'The org, with its deletion scheduled', schema: orgResponse } },
      errors: [409],
      handle: async ({ scope, caller, query, address }) =>
        toOrgResponse(await orgs.delete(scope, caller, query.confirm, { address })),
    }),
  ];
}
