/** What paging looks at of a call. */
interface Listed {
  session_id: string;
  created_at: string;
}

export const CALLS_PER_PAGE = 100;
/** The API counts and skips no further than this. */
const MAX_OFFSET = 100_000;

/** Where a page begins. */
export interface CallCursor {
  created_before?: string;
  offset?: number;
}

/**
 * Where the next page begins. By time it is a moment, so that new calls do not push others from one page into the next and
 * the server never counts what was skipped; by another order it is a number.
 * @param before the times that the list is narrowed to
 * @returns undefined behind the last
 */
export function nextCallCursor(
  pages: readonly { items: readonly Listed[] }[],
  { sort = '-created_at' }: { sort?: string | undefined },
): CallCursor | undefined {
  const last = pages.at(-1);
  if (!last || last.items.length < CALLS_PER_PAGE) return undefined;
  if (sort !== '-created_at') {
    const offset = pages.length * CALLS_PER_PAGE;
    return offset > MAX_OFFSET ? undefined : { offset };
  }
  const oldest = last.items.at(-1)!.created_at;
  // The moment after it: others of the same millisecond come again, and are known by their ids.
  const created_before = new Date(Date.parse(oldest) + 1).toISOString();
  // A whole page of one millisecond: there is no way past it but by number.
  if (last.items[0]!.created_at === oldest) return { created_before, offset: CALLS_PER_PAGE };
  return { created_before };
}

/**
 * The calls of all pages, each once. What was read last is true of a call; calls that came meanwhile are put before the
 * others.
 * @param newest the first page as it is now
 */
export function joinCalls<C extends Listed>(
  pages: readonly { items: readonly C[] }[],
  newest: readonly C[],
): C[] {
  const calls = new Map<string, C>();
  for (const call of newest) calls.set(call.session_id, call);
  const known = new Set<string>();
  const older: C[] = [];
  for (const { items } of pages) {
    for (const call of items) {
      if (known.has(call.session_id)) continue;
      known.add(call.session_id);
      older.push(calls.get(call.session_id) ?? call);
    }
  }
  return [...newest.filter(({ session_id }) => !known.has(session_id)), ...older];
}

/** Whether calls may lie between the newest and the pages read before: then those are to be read anew. */
export function hasGap(pages: readonly { items: readonly Listed[] }[], newest: readonly Listed[]): boolean {
  const first = pages[0]?.items;
  if (!first || newest.length < CALLS_PER_PAGE) return false;
  const known = new Set(first.map(({ session_id }) => session_id));
  return !newest.some(({ session_id }) => known.has(session_id));
}
