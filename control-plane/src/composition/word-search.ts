import type { StoredRecord } from '../storage/collection.ts';
import type { Filter, ScopedCollection } from '../tenancy/scope.ts';

/** Records that a search of several words may read. */
export const MAX_READ = 50_000;
export const NEWEST = { created_at: -1, _id: -1 } as const;

/**
 * Conditions on an array, the one that fits fewest records first: that is the one which the database looks up, and the
 * others it tests. Counted from the keys of an index, up to `most`.
 * @returns `least`: how many records that one fits, where it had to be known; `most` + 1: more
 */
export async function rarestFirst<T extends StoredRecord, C extends Filter<T>>(
  records: ScopedCollection<T>,
  conditions: readonly C[],
  among: Filter<T>,
  most = MAX_READ,
): Promise<{ conditions: C[]; least: number }> {
  if (conditions.length < 2) return { conditions: [...conditions], least: 0 };
  let least = most + 1;
  let rarest = conditions[0]!;
  for (const condition of conditions) {
    const count = await records.count({ ...among, ...condition } as Filter<T>, { limit: least });
    if (count >= least) continue;
    [least, rarest] = [count, condition];
    if (count === 0) break;
  }
  return { conditions: [rarest, ...conditions.filter((condition) => condition !== rarest)], least };
}

/**
 * The newest records that have all of some words.
 * @param among what else holds, by the same index
 * @param mostRead where each word is in more records, so many of the newest are looked at
 */
export async function newestWith<T extends StoredRecord>(
  records: ScopedCollection<T>,
  words: readonly string[],
  among: Filter<T>,
  { limit, mostRead = MAX_READ }: { limit: number; mostRead?: number },
): Promise<T[]> {
  const wanted = words.map((word) => ({ words: word }) as unknown as Filter<T>);
  const { conditions, least } = await rarestFirst(records, wanted, among, mostRead);
  let since: object = {};
  if (least > mostRead) {
    const last = { sort: NEWEST, skip: mostRead - 1, limit: 1 };
    const [oldest] = await records.find({ ...among, ...conditions[0] } as Filter<T>, last);
    if (oldest) since = { created_at: { $gte: oldest.created_at } };
  }
  return records.find({ ...among, ...since, $and: conditions } as Filter<T>, { sort: NEWEST, limit });
}
