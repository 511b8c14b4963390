import type { Feature } from '../composition/feature.ts';
import { idSchema } from '../http/operation.ts';
import { inviteCollection } from './invite-model.ts';
import { memberCollection } from './member-model.ts';
import { memberRoutes } from './member-routes.ts';
import { memberSample } from './member-sample.ts';
import { memberSearch } from './member-search.ts';
import { MEMBER_AUDIT, MemberService } from './member-service.ts';

export function createMembers(deps: ConstructorParameters<typeof MemberService>[0]) {
  const members = new MemberService(deps);
  return {
    members,
    collections: [inviteCollection, memberCollection],
    searches: [memberSearch(deps.userAccounts)],
    routes: memberRoutes({ members, clock: deps.clock }),
    parameters: { member_id: idSchema('mbr'), invite_id: idSchema('ivt') },
    audit: MEMBER_AUDIT,
    samples: [memberSample],
  } satisfies Feature & { members: MemberService };
}
