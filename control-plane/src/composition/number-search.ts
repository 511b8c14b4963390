import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Filter, Scope } from '../tenancy/scope.ts';
import type { SearchHit, SearchSource } from './search-source.ts';

/** Fewer digits begin too many numbers. */
const MIN_DIGITS = 7;
/** An index has people by project. */
const MAX_PROJECTS = 200;

type Person = StoredRecord & {
  project_id: string | null;
  phone_number: string | null;
  name: string | null;
};

/**
 * People of whom there may be very many: found by their number, from its country code on, and by their id. An index has them by number,
 * and so no more are read than are shown.
 * @param options.prefix that ids begin with
 * @param options.parent the field that names the list they are in
 * @param options.shown of those that were found
 */
export function peopleByNumber<T extends Person>(
  type: string,
  collection: Collection<T>,
  options: {
    list: string;
    prefix: string;
    parent: keyof T & string;
    projects?: Collection<StoredRecord & { org_id: string }>;
    shown?: (scope: Scope, found: readonly T[]) => Promise<readonly T[]>;
  },
): SearchSource {
  const { list, prefix, parent, projects, shown } = options;
  return {
    type,
    list,
    async find(scope, { text, digits }, limit) {
      const people = scope.collection(collection);
      const where =
        digits === null || digits.length < MIN_DIGITS
          ? text.startsWith(`${prefix}_`)
            ? { _id: text }
            : null
          : {
              phone_number: { $gte: `+${digits}`, $lt: `+${digits}:` },
              ...(projects &&
                scope.projects === null && { project_id: { $in: await idsOf(scope, projects) } }),
            };
      if (where === null) return [];
      const found = await people.find(where as unknown as Filter<T>, { limit });
      return (shown ? await shown(scope, found) : found).map((one) => toHit(one, parent));
    },
  };
}

async function idsOf(
  scope: Scope,
  projects: Collection<StoredRecord & { org_id: string }>,
): Promise<string[]> {
  const sort = { created_at: -1, _id: -1 } as const;
  return (await scope.collection(projects).find({}, { sort, limit: MAX_PROJECTS })).map(({ _id }) => _id);
}

function toHit<T extends Person>(one: T, parent: keyof T & string): SearchHit {
  const { _id: id, project_id, phone_number, name, created_at } = one;
  const named = [name, phone_number === null ? null : name ? `(${phone_number})` : phone_number];
  return {
    ...{ id, project_id, created_at },
    name: named.filter((part) => part !== null && part !== '').join(' ') || id,
    parent_id: String(one[parent]),
  };
}
