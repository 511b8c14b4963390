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

const AT_ONCE = 200;

type ReadPage<Item> = (page: { offset: number; limit: number }) => Promise<{ items: readonly Item[] }>;

/**
 * A whole list, for a choice or for names: page by page, in the order of the API, each record once.
 * @param read a page: where it begins, and how many records it has at most
 * @param keyOf what tells records apart that have no `id`
 */
export function readAll<Item extends { id: string }>(read: ReadPage<Item>): Promise<Item[]>;
export function readAll<Item>(read: ReadPage<Item>, keyOf: (item: Item) => unknown): Promise<Item[]>;
export async function readAll<Item>(
  read: ReadPage<Item>,
  keyOf = (item: Item): unknown => (item as { id: string }).id,
): Promise<Item[]> {
  const all = new Map<unknown, Item>();
  const pages: { items: readonly Item[] }[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; offset = nextOffset(pages, AT_ONCE)) {
    const page = await read({ offset, limit: AT_ONCE });
    for (const item of page.items) all.set(keyOf(item), item);
    pages.push(page);
  }
  return [...all.values()];
}

/** The records of all pages, each once: one that was made meanwhile pushes others from one page into the next. */
export function joinPages<Item extends { id: string }>(pages: readonly { items: readonly Item[] }[]): Item[] {
  return [...new Map(pages.flatMap(({ items }) => items.map((item) => [item.id, item]))).values()];
}
