import { ForbiddenError, NotFoundError } from '@parley/shared/errors/app-error';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Access } from './access.ts';
import type { Scope } from './scope.ts';

/** Path and query of a request as they came; the query is not checked yet. */
export interface TargetRequest {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
}

export interface Found<Item, S extends Scope | null = Scope> {
  scope: S;
  item: Item;
  /** The record is open to more projects than the caller is. */
  readOnly?: boolean;
}

/**
 * Where an operation happens: found from the path before roles, query and body are looked at (resources 1.6).
 * `S` is `Scope | null` for records that may be seen from no tenant at all.
 */
export interface Target<Item, S extends Scope | null = Scope> {
  /** The path parameter it answers for, and for all before it: the last one of its operations' paths. */
  readonly parameter: string;
  /** Whether its scope may be one project: writing there is refused once the project is archived. */
  readonly inProject: boolean;
  /** @throws NotFoundError for what is absent and for what the caller can't see, alike */
  resolve(access: Access, request: TargetRequest): Promise<Found<Item, S>>;
}

/** `/v1/orgs/{org_id}/…` */
export const inOrg: Target<undefined> = {
  parameter: 'org_id',
  inProject: false,
  async resolve(access, { params }) {
    return { scope: await access.org(params['org_id']!), item: undefined };
  },
};

/**
 * The same for what is the whole org's and can't be told apart by project: keys of any project see it, users who may
 * see some projects only do not.
 */
export const inWholeOrg: Target<undefined> = {
  parameter: 'org_id',
  inProject: false,
  async resolve(access, { params }) {
    const scope = await access.org(params['org_id']!);
    if (access.principal.auth === 'jwt' && scope.projects !== null)
      throw new ForbiddenError(
        'forbidden',
        'This concerns the whole org: your membership is limited to some of its projects.',
      );
    return { scope, item: undefined };
  },
};

/** `/v1/orgs/{org_id}/projects/{project_id}/…` and `/v1/projects/{project_id}/…` */
export const inProject: Target<undefined> = {
  parameter: 'project_id',
  inProject: true,
  async resolve(access, { params }) {
    return { scope: await access.project(params['project_id']!, params['org_id']), item: undefined };
  },
};

/**
 * A record named by the path parameter `parameter`. Ids before it in the path must be those of the record
 * (`org_id`, `project_id`, and fields of the same name), else it is not found.
 */
export function item<T extends StoredRecord>(collection: Collection<T>, parameter: string): Target<T> {
  return {
    parameter,
    inProject: collection.tenancy === 'project' || collection.tenancy === 'shared',
    async resolve(access, { params }) {
      const names = Object.keys(params);
      const before = names.slice(0, names.indexOf(parameter));
      const within = Object.fromEntries(before.map((name) => [name, params[name]!]));
      return access.item(collection, params[parameter]!, within);
    },
  };
}

/**
 * What `parameter` names within another target. The operation's item stays the outer one.
 * @param exists false is a 404; it may throw NotFoundError itself
 */
export function within<Item>(
  outer: Target<Item>,
  parameter: string,
  exists: (found: Found<Item>, name: string) => unknown,
): Target<Item> {
  return {
    parameter,
    inProject: outer.inProject,
    async resolve(access, request) {
      const found = await outer.resolve(access, request);
      if ((await exists(found, request.params[parameter]!)) === false) throw new NotFoundError();
      return found;
    },
  };
}
