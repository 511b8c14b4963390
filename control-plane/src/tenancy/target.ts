import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Access } from './access.ts';
import type { Scope } from './scope.ts';

/** Where an operation happens: found from the path before roles are checked. */
export interface Target<Item> {
  /** @throws NotFoundError for what is absent and for what the caller can't see, alike */
  resolve(
    access: Access,
    params: Readonly<Record<string, string>>,
  ): Promise<{ scope: Scope; item: Item; readOnly?: boolean }>;
}

/** `/v1/orgs/{org_id}/…` */
export const inOrg: Target<undefined> = {
  async resolve(access, params) {
    return { scope: await access.org(params['org_id']!), item: undefined };
  },
};

/** `/v1/orgs/{org_id}/projects/{project_id}/…` and `/v1/projects/{project_id}/…` */
export const inProject: Target<undefined> = {
  async resolve(access, params) {
    return { scope: await access.project(params['project_id']!, params['org_id']), item: undefined };
  },
};

/**
 * A record named by the path parameter `parameter`. Ids before it in the path must be those of the record
 * (`org_id`, `project_id`, and fields of the same name), else it is not found.
 */
export function item<T extends StoredRecord>(collection: Collection<T>, parameter: string): Target<T> {
  return {
    async resolve(access, params) {
      const names = Object.keys(params);
      const before = names.slice(0, names.indexOf(parameter));
      const within = Object.fromEntries(before.map((name) => [name, params[name]!]));
      return access.item(collection, params[parameter]!, within);
    },
  };
}
