import type { Model, QueryFilter } from 'mongoose';

/** What a list route was asked for, parsed (resources 1.5). */
export interface ListQuery {
  limit: number;
  offset: number;
  /** A field, `-` in front for descending. */
  sort: string;
}

export interface ListPage<T> {
  items: T[];
  total: number;
  /** There are more than `total` says. */
  total_capped?: true;
}

/** Counting stops here: the exact size of a long list helps nobody and costs a scan. */
export const TOTAL_LIMIT = 10_000;

/** @param without fields that the page does not show, and need not be read */
export async function listPage<T>(
  model: Model<T>,
  filter: QueryFilter<T>,
  list: ListQuery,
  without: readonly (keyof T & string)[] = [],
): Promise<ListPage<T>> {
  const [items, count] = await Promise.all([
    model
      .find(filter, Object.fromEntries(without.map((field) => [field, 0])))
      .sort(toSort(list.sort))
      .skip(list.offset)
      .limit(list.limit)
      .lean() as unknown as Promise<T[]>,
    model.countDocuments(filter, { limit: TOTAL_LIMIT + 1 }),
  ]);
  return count > TOTAL_LIMIT ? { items, total: TOTAL_LIMIT, total_capped: true } : { items, total: count };
}

/** Ids break ties, so that pages neither repeat nor skip records. */
function toSort(sort: string): Record<string, 1 | -1> {
  const direction = sort.startsWith('-') ? -1 : 1;
  return { [sort.replace(/^-/, '')]: direction, _id: direction };
}
