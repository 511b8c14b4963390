import { z } from 'zod';
import { idSchema } from '../http/operation.ts';
import { maybeTime, recordFields, time, timestamp, toTimes } from '../http/record-schema.ts';
import { emailAddress } from '../http/value-schemas.ts';
import { ROLES } from '../tenancy/roles.ts';
import type { InviteRecord } from './invite-model.ts';
import type { MemberRecord } from './member-record.ts';

const role = z.enum(ROLES);
const projectIds = z.array(idSchema('prj')).min(1).max(100).nullable();

export const patchMemberRequest = z
  .strictObject({
    role: role.optional(),
    project_ids: projectIds.optional(),
    status: z.enum(['active', 'suspended']).optional(),
  })
  .meta({ id: 'PatchMemberRequest' });

export const MEMBER_READ_ONLY = [
  'id',
  'org_id',
  'user_id',
  'email',
  'name',
  'last_seen_at',
  'created_at',
  'updated_at',
] as const;

export const memberResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    user_id: z.string(),
    email: z.string(),
    name: z.string(),
    role,
    project_ids: z.array(z.string()).nullable().meta({ description: 'Null: all projects.' }),
    status: z.enum(['active', 'suspended']),
    last_seen_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'Member' });

export type MemberWithUser = MemberRecord & { email: string; name: string };

export function toMemberResponse(member: MemberWithUser): z.infer<typeof memberResponse> {
  return {
    id: member._id,
    org_id: member.org_id,
    user_id: member.user_id,
    email: member.email,
    name: member.name,
    role: member.role,
    project_ids: member.project_ids,
    status: member.status,
    last_seen_at: time(member.last_seen_at),
    ...toTimes(member),
  };
}

export const createInviteRequest = z
  .strictObject({ email: emailAddress, role, project_ids: projectIds.default(null) })
  .meta({ id: 'CreateInviteRequest' });

export const inviteResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    email: z.string(),
    role,
    project_ids: z.array(z.string()).nullable(),
    status: z.enum(['pending', 'accepted', 'revoked', 'expired']),
    expires_at: timestamp,
    invited_by: z.string(),
    ...recordFields,
  })
  .meta({ id: 'Invite' });

export function toInviteResponse(invite: InviteRecord, now: number): z.infer<typeof inviteResponse> {
  const expired = invite.status === 'pending' && invite.expires_at.getTime() <= now;
  return {
    id: invite._id,
    org_id: invite.org_id,
    email: invite.email,
    role: invite.role,
    project_ids: invite.project_ids,
    status: expired ? 'expired' : invite.status,
    expires_at: time(invite.expires_at),
    invited_by: invite.invited_by,
    ...toTimes(invite),
  };
}
