import { randomBytes } from 'node:crypto';
import { newId } from '@parley/shared/ids/new-id';
import { MANY_START, nthId, orgPath, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';

/** A second owner, so that the first may be changed; and their membership. */
async function lastOwner({ cp, owner, project }: SampleWorld): Promise<string> {
  const { body } = await cp.call<{ items: { id: string; user_id: string }[] }>(
    'GET',
    `${orgPath(project)}/members?role=owner`,
    { token: owner.token },
  );
  return body.items.find(({ user_id }) => user_id === owner.userId)!.id;
}

export const memberSample: Sample = {
  async make({ make, put, project }) {
    const { id: invite_id } = await make(`${orgPath(project)}/invites`, {
      email: `${unique()}@example.com`,
      role: 'viewer',
    });
    const member_id = newId('mbr');
    await put('members', {
      _id: member_id,
      org_id: project.ids['org_id'],
      user_id: newId('usr'),
      role: 'viewer',
      status: 'active',
    });
    return { invite_id, member_id };
  },
  scenarios: {
    updateMember: async (world, send) => {
      await send(200, { body: { role: 'viewer' } });
      await send(409, { ids: { member_id: await lastOwner(world) }, body: { role: 'admin' } });
    },
    removeMember: async (world, send) => {
      await send(409, { ids: { member_id: await lastOwner(world) } });
      const member_id = newId('mbr');
      await world.put('members', {
        _id: member_id,
        org_id: world.project.ids['org_id'],
        user_id: newId('usr'),
        role: 'viewer',
        status: 'active',
      });
      await send(204, { ids: { member_id } });
    },
    createInvite: async (world, send) => {
      await send(201, { body: { email: `${unique()}@example.com`, role: 'viewer' } });
      await send(409, { body: { email: 'owner@example.com', role: 'viewer' } });
    },
    revokeInvite: async ({ make, project }, send) => {
      const { id } = await make(`${orgPath(project)}/invites`, {
        email: `${unique()}@example.com`,
        role: 'viewer',
      });
      await send(204, { ids: { invite_id: id } });
    },
  },
  many: ({ inOrg }) => [
    {
      collection: 'invites',
      count: 1500,
      record: (n, rare) => ({
        ...inOrg,
        _id: nthId('ivt', n),
        email: `person-${n}@example.com`,
        role: 'viewer',
        project_ids: null,
        status: rare ? 'pending' : n % 2 === 0 ? 'accepted' : 'revoked',
        expires_at: new Date(MANY_START),
        invited_by: 'cli',
        digest: randomBytes(32).toString('hex'),
      }),
    },
    {
      collection: 'members',
      count: 998,
      record: (n, rare) => ({
        ...inOrg,
        _id: nthId('mbr', n),
        user_id: nthId('usr', n),
        role: rare ? 'admin' : 'viewer',
        project_ids: null,
        status: rare ? 'suspended' : 'active',
        last_seen_at: null,
      }),
    },
  ],
};
