/** A page of a list, as the API gives it. */
export interface ListPage<Item> {
  items: Item[];
  /** Of all pages, as far as the server counts. */
  total: number;
  total_capped?: true | undefined;
}

/** The API skips no further than this. */
const MAX_OFFSET = 100_000;

/** Where the next page begins; undefined behind the last. */
export function nextOffset(
  pages: readonly { items: readonly unknown[] }[],
  perPage: number,
): number | undefined {
  const last = pages.at(-1);
  const offset = pages.length * perPage;
  return !last || last.items.length < perPage || offset > MAX_OFFSET ? undefined : offset;
}

/** The records of all pages, each once: one that was made meanwhile pushes others from one page into the next. */
export function joinPages<Item extends { id: string }>(pages: readonly { items: readonly Item[] }[]): Item[] {
  return [...new Map(pages.flatMap(({ items }) => items.map((item) => [item.id, item]))).values()];
}
