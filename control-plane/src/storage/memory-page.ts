import type { ListPage, ListQuery } from './list.ts';

/** What a record is sorted by: dates as milliseconds, nothing as 0. */
export type SortValue = string | number;

/** The order of `list.sort`; ids break ties, as in the database. */
export function compareBy<T>(
  sort: string,
  valueOf: (item: T, field: string) => SortValue,
  idOf: (item: T) => string,
): (a: T, b: T) => number {
  const direction = sort.startsWith('-') ? -1 : 1;
  const field = sort.replace(/^-/, '');
  const order = (a: SortValue, b: SortValue) => (a < b ? -1 : a > b ? 1 : 0);
  return (a, b) => direction * (order(valueOf(a, field), valueOf(b, field)) || order(idOf(a), idOf(b)));
}

/** A page of a list that is in memory anyway. */
export function pageOf<T>(items: readonly T[], list: Pick<ListQuery, 'limit' | 'offset'>): ListPage<T> {
  return { items: items.slice(list.offset, list.offset + list.limit), total: items.length };
}
