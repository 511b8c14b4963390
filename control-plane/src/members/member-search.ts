import type { SearchSource } from '../composition/search-source.ts';
import type { UserAccounts } from '../identity/user-accounts.ts';
import { RECORDS_PER_ORG } from '../tenancy/record-limit.ts';
import { memberCollection } from './member-model.ts';

/** Members of an org, by a part of their name or e-mail address: those are the users' own, and no field of a member. */
export function memberSearch(accounts: Pick<UserAccounts, 'users'>): SearchSource {
  return {
    type: 'member',
    list: 'listMembers',
    async find(scope, { text, words }, limit) {
      const members = await scope
        .collection(memberCollection)
        .find({}, { sort: { created_at: -1, _id: -1 }, limit: RECORDS_PER_ORG });
      const users = await accounts.users(members.map(({ user_id }) => user_id));
      const wanted = words.map((word) => word.toLowerCase());
      return members
        .map(({ _id, user_id, created_at }) => {
          const { name = '', email = '' } = users.get(user_id) ?? {};
          return { id: _id, project_id: null, name: name === '' ? email : `${name} (${email})`, created_at };
        })
        .filter(({ id, name }) => id === text || wanted.every((word) => name.toLowerCase().includes(word)))
        .slice(0, limit);
    },
  };
}
