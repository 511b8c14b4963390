import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Filter, Scope } from '../tenancy/scope.ts';
import { searchedNames } from './name-words.ts';
import type { NamedPerson } from './name-words.ts';
import type { SearchHit, SearchSource } from './search-source.ts';
import { newestWith, NEWEST } from './word-search.ts';

/** Fewer digits begin too many numbers. */
const MIN_DIGITS = 7;
/** So many are read to show as many as are wanted, where others have the same number. */
const MAX_READ = 10_000;
const READ_AT_ONCE = 500;
/** An index has people by project: of more, those of the newest are found. With what is in none, so many are read in one order. */
const MAX_PROJECTS = 199;

type Person = NamedPerson & { phone_number: string | null };
type Projects = Collection<StoredRecord & { org_id: string }>;

/**
 * People of whom there may be very many: found by their number, from its country code on, by the words of their names, and
 * by their id. Indexes have them by each, and so no more are read than are shown.
 * @param options.prefix that ids begin with
 * @param options.parent the field that names the list they are in
 * @param options.shown of those that were found
 */
export function peopleSearch<T extends Person>(
  type: string,
  collection: Collection<T>,
  options: {
    list: string;
    prefix: string;
    parent: keyof T & string;
    projects: Projects;
    /** Whether an index has their numbers by org, and not by project. */
    numbersByOrg?: boolean;
    shown?: (scope: Scope, found: readonly T[]) => Promise<readonly T[]>;
  },
): SearchSource {
  const { list, prefix, parent, projects, numbersByOrg = false, shown } = options;
  return {
    type,
    list,
    async find(scope, { text, digits }, limit) {
      const people = scope.collection(collection);
      const inProjects = async () =>
        (scope.projects === null ? { project_id: { $in: await idsOf(scope, projects) } } : {}) as Filter<T>;
      const shownOf = async (found: readonly T[]) => (shown ? await shown(scope, found) : found);
      let found: readonly T[];
      if (text.startsWith(`${prefix}_`))
        found = await shownOf(await people.find({ _id: text } as Filter<T>, { limit }));
      else if (digits !== null && digits.length >= MIN_DIGITS) {
        const phone_number = { $gte: `+${digits}`, $lt: `+${digits}:` };
        const among = numbersByOrg ? {} : await inProjects();
        const numbered = { phone_number, ...among } as Filter<T>;
        found = await firstShown((page) => people.find(numbered, page), shownOf, limit);
      } else {
        const words = searchedNames(text);
        found =
          words.length === 0
            ? []
            : await shownOf(await newestWith(people, words, await inProjects(), { limit }));
      }
      return found.map((one) => toHit(one, parent));
    },
  };
}

/** The first of some people who are shown: further ones are read while some are not. */
async function firstShown<T extends Person>(
  read: (page: { skip: number; limit: number }) => Promise<readonly T[]>,
  shown: (found: readonly T[]) => Promise<readonly T[]>,
  limit: number,
): Promise<readonly T[]> {
  const all = new Map<string, T>();
  for (let skip = 0, size = limit; skip < MAX_READ; skip += size, size = READ_AT_ONCE) {
    const page = await read({ skip, limit: size });
    for (const one of await shown(page)) all.set(one._id, one);
    if (page.length < size || all.size >= limit) break;
  }
  return [...all.values()].slice(0, limit);
}

/** Of projects, and null: what belongs to the whole org. */
async function idsOf(scope: Scope, projects: Projects): Promise<(string | null)[]> {
  const own = await scope.collection(projects).find({}, { sort: NEWEST, limit: MAX_PROJECTS });
  return [null, ...own.map(({ _id }) => _id)];
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
