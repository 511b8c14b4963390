import { escapePattern } from '../http/list-query.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Filter, Scope } from '../tenancy/scope.ts';

/** What is looked for. */
export interface SearchedText {
  /** As it was written, with single spaces. */
  text: string;
  /** All of them are parts of a name, in any case. */
  words: readonly string[];
  /** The same as a telephone number, however it is written; null when it is none. */
  digits: string | null;
}

export interface SearchHit {
  id: string;
  project_id: string | null;
  name: string;
  /** Of what belongs to an agent. */
  agent_id?: string;
  /** What it is in: the list of a recipient, the campaign of a contact, the knowledge base of a document. */
  parent_id?: string;
  created_at: Date;
}

/** One kind of records that the search over an org finds. */
export interface SearchSource {
  /** What a hit is called: the kind, in the singular. */
  readonly type: string;
  /** The operation that lists the records: who may call it, and nobody else, finds them. */
  readonly list: string;
  /**
   * @returns the best and of them the newest, at most `limit`: of what the scope shows, and reading no more than its
   *   records
   */
  find(scope: Scope, searched: SearchedText, limit: number): Promise<SearchHit[]>;
}

type Named = StoredRecord & { project_id?: string | null; agent_id?: string | null };

const NEWEST = { created_at: -1, _id: -1 } as const;

/**
 * Records that are found by a part of their names, or by their ids. No index finds a part of a name: the org's records of the
 * kind are read, of which each project has a limited number.
 * @param options.fields whose parts are looked for
 * @param options.number the field that holds a telephone number
 * @param options.where what else holds of all that is shown
 */
export function namedRecords<T extends Named>(
  type: string,
  collection: Collection<T>,
  options: {
    list: string;
    fields?: readonly (keyof T & string)[];
    number?: keyof T & string;
    name?: (record: T) => string;
    /** The field that names what it is in. */
    parent?: keyof T & string;
    where?: (scope: Scope) => Filter<T>;
  },
): SearchSource {
  const { list, fields = ['name'], number } = options;
  const nameOf = options.name ?? ((record: T) => (record as unknown as { name: string }).name);
  return {
    type,
    list,
    async find(scope, { text, words, digits }, limit) {
      const records = scope.collection(collection);
      const shown = options.where?.(scope) ?? {};
      const read = (any: readonly object[]) =>
        records.find({ $and: [shown, { $or: any }] } as unknown as Filter<T>, { sort: NEWEST, limit });
      const like = (pattern: string) => fields.map((field) => ({ [field]: ignoringCase(pattern) }));

      let found = await read([
        { _id: text },
        ...fields.map((field) => ({
          $and: words.map((word) => ({ [field]: ignoringCase(escapePattern(word)) })),
        })),
        ...(number === undefined || digits === null ? [] : [{ [number]: { $regex: digits } }]),
      ]);
      if (found.length === limit) {
        // There may be older ones that fit better.
        const whole = escapePattern(text);
        const better = [await read([{ _id: text }, ...like(`^${whole}$`)]), await read(like(`^${whole}`))];
        const byId = new Map([...better.flat(), ...found].map((record) => [record._id, record]));
        found = [...byId.values()].slice(0, limit);
      }
      return found.map((record) => ({
        id: record._id,
        project_id: record.project_id ?? null,
        name: nameOf(record),
        ...(typeof record.agent_id === 'string' ? { agent_id: record.agent_id } : {}),
        ...(options.parent !== undefined && { parent_id: String(record[options.parent]) }),
        created_at: record.created_at,
      }));
    },
  };
}

function ignoringCase(pattern: string) {
  return { $regex: pattern, $options: 'i' };
}
