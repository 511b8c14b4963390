import { z } from 'zod';
import type { Clock } from '@parley/shared/time/clock';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { READ_ONLY_FIELDS } from '../http/record-schema.ts';
import { ROLES } from '../tenancy/roles.ts';
import { inOrg, item } from '../tenancy/target.ts';
import { inviteCollection } from './invite-model.ts';
import { memberCollection } from './member-model.ts';
import {
  createInviteRequest,
  inviteResponse,
  MEMBER_READ_ONLY,
  memberResponse,
  patchMemberRequest,
  toInviteResponse,
  toMemberResponse,
} from './member-schema.ts';
import type { MemberService } from './member-service.ts';

export function memberRoutes({ members, clock }: { members: MemberService; clock: Clock }): Operation[] {
  return [
    defineOperation({
      id: 'listMembers',
      method: 'GET',
      path: '/v1/orgs/{org_id}/members',
      tag: 'Members',
      summary: 'List members',
      access: { user: 'viewer' },
      target: inOrg,
      query: listQuery({
        filters: {
          role: anyOf(z.enum(ROLES)).optional(),
          status: anyOf(z.enum(['active', 'suspended'])).optional(),
        },
      }),
      responses: { 200: { description: 'A page of members', schema: listOf(memberResponse) } },
      handle: async ({ scope, query }) => toPage(await members.list(scope, query), toMemberResponse),
    }),
    defineOperation({
      id: 'updateMember',
      method: 'PATCH',
      path: '/v1/members/{member_id}',
      tag: 'Members',
      summary: 'Update a member',
      access: { user: 'admin' },
      target: item(memberCollection, 'member_id'),
      body: patchBody(patchMemberRequest, { readOnly: MEMBER_READ_ONLY }),
      responses: { 200: { description: 'The member', schema: memberResponse } },
      errors: [409],
      handle: async ({ scope, caller, item: member, body, address }) =>
        toMemberResponse(await members.change(scope, caller, member, body, { address })),
    }),
    defineOperation({
      id: 'removeMember',
      method: 'DELETE',
      path: '/v1/members/{member_id}',
      tag: 'Members',
      summary: 'Remove a member',
      access: { user: 'admin' },
      target: item(memberCollection, 'member_id'),
      responses: { 204: { description: 'Removed' } },
      errors: [409],
      handle: ({ scope, caller, item: member, address }) =>
        members.remove(scope, caller, member, { address }),
    }),
    defineOperation({
      id: 'listInvites',
      method: 'GET',
      path: '/v1/orgs/{org_id}/invites',
      tag: 'Members',
      summary: 'List invites',
      access: { user: 'admin' },
      target: inOrg,
      query: listQuery({
        filters: { status: anyOf(z.enum(['pending', 'accepted', 'revoked', 'expired'])).optional() },
      }),
      responses: { 200: { description: 'A page of invites', schema: listOf(inviteResponse) } },
      handle: async ({ scope, query }) =>
        toPage(await members.invites(scope, query), (invite) => toInviteResponse(invite, clock.now())),
    }),
    defineOperation({
      id: 'createInvite',
      method: 'POST',
      path: '/v1/orgs/{org_id}/invites',
      tag: 'Members',
      summary: 'Invite a person by e-mail',
      access: { user: 'admin' },
      target: inOrg,
      body: jsonBody(createInviteRequest, { readOnly: READ_ONLY_FIELDS }),
      responses: { 201: { description: 'The invite', schema: inviteResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, body, address }) =>
        toInviteResponse(await members.invite(scope, caller, body, { address }), clock.now()),
    }),
    defineOperation({
      id: 'revokeInvite',
      method: 'DELETE',
      path: '/v1/invites/{invite_id}',
      tag: 'Members',
      summary: 'Revoke an invite',
      access: { user: 'admin' },
      target: item(inviteCollection, 'invite_id'),
      responses: { 204: { description: 'Revoked' } },
      handle: ({ scope, caller, item: invite, address }) =>
        members.revokeInvite(scope, caller, invite, { address }),
    }),
  ];
}
