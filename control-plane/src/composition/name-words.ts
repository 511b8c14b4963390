import { z } from 'zod';
import { escapePattern } from '../http/list-query.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import type { Filter, ScopedCollection } from '../tenancy/scope.ts';
import type { PeriodicWork } from './feature.ts';
import { rarestFirst } from './word-search.ts';
import { splitWords } from './words.ts';

// People of whom there may be very many are found by the words of their names, each from its first letters on: these are kept with
// them, for an index.

/** Fewer letters begin too many names; a word that has no more is found whole. */
const MIN_LETTERS = 3;
/** Words that begin with so many of the same letters are the same. */
const MAX_LETTERS = 12;
/** What a person is found by at most: each is a key of two indexes. */
const MAX_KEPT = 60;
/** That of who has no name: an index tells them from people of earlier versions, who have no words yet. */
const NAMELESS = '';
/** Before each word: in words of earlier versions accents counted. It precedes all letters and digits, so an index has those in one range. */
const FOLDED = '.';
/** People with words of an earlier version, and people with none. */
const OUTDATED = [{ words: null }, { words: { $gte: '0' } }] as const;
/** People that are read to find the rarest of several words. */
const MOST_COUNTED = 1000;

export type NamedPerson = StoredRecord & {
  org_id: string;
  project_id: string | null;
  name: string | null;
  /** What they are found by. People of earlier versions have none, until they are given some. */
  words?: string[];
};

/** The field of a collection that keeps them. */
export const nameWordsField = { type: [String], default: () => [NAMELESS] };

/** What somebody with this name is found by. */
export function nameWords(name: string | null): string[] {
  const beginnings = splitWords(folded(name ?? '')).flatMap((word) => {
    const letters = [...word].slice(0, MAX_LETTERS);
    const shortest = Math.min(MIN_LETTERS, letters.length);
    return letters.slice(shortest - 1).map((_, more) => FOLDED + letters.slice(0, shortest + more).join(''));
  });
  return beginnings.length === 0 ? [NAMELESS] : [...new Set(beginnings)].slice(0, MAX_KEPT);
}

/** The words of a search, all of which a person must have. */
export function searchedNames(text: string): string[] {
  const words = splitWords(folded(text)).map((word) => FOLDED + [...word].slice(0, MAX_LETTERS).join(''));
  return [...new Set(words)];
}

/** Letters that are written with a stroke or joined, which Unicode does not take apart. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th', ø: 'o', đ: 'd', ð: 'd', ł: 'l', ħ: 'h', ŧ: 't', ı: 'i', ς: 'σ' },
};

/** A text without accents: marks that belong to the letters of other scripts, such as vowels of Hindi, stay. */
function folded(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[ßæœþøđðłħŧıς]/g, (letter) => PLAIN[letter]!);
}

/** `q` of a list of people. */
export const nameQuery = z
  .string()
  .min(1)
  .max(100)
  .refine((text) => searchedNames(text).length > 0, 'must have a letter or a digit')
  .optional()
  .meta({
    description:
      'Words of the name, all of which must occur, each from its beginning on and with three letters or more, or whole. Upper and ' +
      'lower case are the same, and so are letters with accents and without.',
  });

/**
 * The condition of a search among the people of one list.
 * @param ofList what they have in common, by an index that goes on with their words
 */
export async function namedIn<T extends NamedPerson>(
  people: ScopedCollection<T>,
  ofList: Filter<T>,
  text: string,
): Promise<Filter<T>> {
  for (const outdated of OUTDATED) {
    // Some are of an earlier version: all are read one by one.
    if (await people.findOne({ ...ofList, ...outdated } as unknown as Filter<T>))
      return nameParts(text) as Filter<T>;
  }
  const wanted = searchedNames(text).map((word) => ({ words: word }) as unknown as Filter<T>);
  const { conditions } = await rarestFirst(people, wanted, ofList, MOST_COUNTED);
  return { $and: conditions } as Filter<T>;
}

/** The same where names are read one by one: words may also be within others, and accents count. */
function nameParts(text: string): { $and: { name: { $regex: string; $options: 'i' } }[] } {
  return {
    $and: splitWords(text).map((word) => ({ name: { $regex: escapePattern(word), $options: 'i' } })),
  };
}

/** Whether a search finds somebody with this name. */
export function isNamed(name: string | null, text: string): boolean {
  const own = new Set(nameWords(name));
  return searchedNames(text).every((word) => own.has(word));
}

const FILL_INTERVAL_MS = 3_600_000;
const PROJECTS_AT_ONCE = 100;
const PEOPLE_AT_ONCE = 500;

/**
 * Gives people of earlier versions the words of their names, or other ones: at the start, and for those whom processes of an
 * earlier version add while others are replaced already.
 * @param options.findable those of some people who are found by their names; all of them, if it is not given
 */
export function nameWordsWork<T extends NamedPerson>(
  collection: Collection<T>,
  options: {
    name: string;
    database: Database;
    projects: Collection<StoredRecord & { org_id: string }>;
    findable?: (people: readonly T[]) => Promise<readonly T[]>;
  },
): PeriodicWork & { work(signal: AbortSignal): Promise<void> } {
  const { name, database, findable } = options;
  const projects = database.model(options.projects);
  const people = database.model(collection);

  async function fill(
    { _id: project_id, org_id }: { _id: string; org_id: string },
    outdated: object,
    signal: AbortSignal,
  ): Promise<void> {
    // By the index of the search: what has no words stands there, too.
    const those = { org_id, project_id: { $in: [null, project_id] }, ...outdated };
    while (!signal.aborted) {
      const page = await people
        .find(those as never)
        .limit(PEOPLE_AT_ONCE)
        .lean<T[]>();
      if (page.length === 0) return;
      const found = new Set((findable ? await findable(page) : page).map(({ _id }) => _id));
      await people.collection.bulkWrite(
        page.map((one) => ({
          updateOne: {
            // Who is given another name meanwhile is given its words.
            filter: { _id: one._id, name: one.name, ...outdated },
            update: { $set: { words: nameWords(found.has(one._id) ? one.name : null) } },
          },
        })) as never[],
        { ordered: false },
      );
    }
  }

  return {
    name,
    everyMs: FILL_INTERVAL_MS,
    wakeWith: (task) => void task.runNow(),
    async work(signal) {
      for (let after = ''; !signal.aborted;) {
        const page = await projects
          .find({ _id: { $gt: after } })
          .sort({ _id: 1 })
          .limit(PROJECTS_AT_ONCE)
          .select({ org_id: 1 })
          .lean<{ _id: string; org_id: string }[]>();
        for (const project of page) for (const outdated of OUTDATED) await fill(project, outdated, signal);
        if (page.length < PROJECTS_AT_ONCE) return;
        after = page.at(-1)!._id;
      }
    },
  };
}
