import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import type { QueryKey } from '@tanstack/react-query';
import { joinPages, nextOffset } from './list-pages.ts';
import type { ListPage } from './list-pages.ts';

/**
 * A list of the API, page by page: the first is read at once, each further one when it is asked for.
 * @param read a page: where it begins, and how many records it has at most
 */
export function usePages<Item extends { id: string }>({
  queryKey,
  read,
  everyMs = false,
  enabled = true,
}: {
  queryKey: QueryKey;
  read: (page: { offset: number; limit: number }) => Promise<ListPage<Item>>;
  /** All pages that are shown are read again this often; false: not by themselves. */
  everyMs?: number | false | ((items: readonly Item[]) => number | false);
  /** Whether it is read at all. */
  enabled?: boolean;
}) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read({ offset: pageParam, limit: PER_PAGE }),
    initialPageParam: 0,
    getNextPageParam: (_last: ListPage<Item>, pages: ListPage<Item>[]) => nextOffset(pages, PER_PAGE),
    placeholderData: keepPreviousData,
    refetchInterval:
      typeof everyMs === 'function' ? ({ state }) => everyMs(joinPages(state.data?.pages ?? [])) : everyMs,
    enabled,
  });
  const pages = query.data?.pages;
  return {
    /** Those of all pages; undefined before the first one. */
    items: pages && joinPages(pages),
    total: pages?.at(-1)?.total ?? 0,
    isCapped: pages?.at(-1)?.total_capped === true,
    error: query.error,
    retry: () => void query.refetch(),
    /** Reads all pages that are shown again. */
    refetch: () => query.refetch(),
    hasMore: query.hasNextPage,
    loadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  };
}

const PER_PAGE = 100;
