import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { useLiveSessions } from '../../api/live-sessions.ts';
import type { components } from '../../api/schema.d.ts';
import type { ProjectContext } from '../../app/project.ts';
import { toCallQuery } from './call-filter.ts';
import type { CallFilter } from './call-filter.ts';
import { CALLS_PER_PAGE, hasGap, joinCalls, nextCallCursor } from './call-pages.ts';
import type { CallCursor } from './call-pages.ts';

export type ListedCall = components['schemas']['ListedSession'];

/** How often the newest calls are looked at, besides whenever one begins, changes or ends. */
const LOOK_EVERY_MS = 30_000;

/** Calls of a project, the newest by themselves. */
export function useCalls({ orgId, projectId, timezone }: ProjectContext, filter: CallFilter) {
  const client = useQueryClient();
  useLiveSessions({ orgId, projectId });
  const path = { org_id: orgId, project_id: projectId };
  const read = (cursor: CallCursor | undefined, signal: AbortSignal) => {
    const query = {
      ...toCallQuery(filter, Date.now(), timezone),
      limit: CALLS_PER_PAGE,
      detail: true,
      ...cursor,
    };
    return take(
      api.GET('/v1/orgs/{org_id}/projects/{project_id}/sessions', { params: { path, query }, signal }),
    );
  };
  const key = ['calls', projectId, filter] as const;
  const pages = useInfiniteQuery({
    queryKey: [...key, 'pages'],
    initialPageParam: undefined as CallCursor | undefined,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    getNextPageParam: (_, all) => nextCallCursor(all, filter),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
  const byTime = filter.sort === undefined;
  const newest = useQuery({
    queryKey: [...key, 'newest'],
    queryFn: ({ signal }) => read(undefined, signal),
    enabled: byTime && pages.isSuccess && !pages.isPlaceholderData,
    refetchInterval: LOOK_EVERY_MS,
  });
  const fresh = byTime ? newest.data?.items : undefined;
  const gap = !pages.isPlaceholderData && fresh !== undefined && hasGap(pages.data?.pages ?? [], fresh);
  useEffect(() => {
    if (gap) void client.resetQueries({ queryKey: ['calls', projectId, filter, 'pages'] });
    // A filter that says the same is the same.
  }, [gap, client, projectId]);
  const calls = useMemo<ListedCall[]>(
    () => joinCalls(pages.data?.pages ?? [], pages.isPlaceholderData ? [] : (fresh ?? [])),
    [pages.data, pages.isPlaceholderData, fresh],
  );
  const last = fresh ? newest.data : pages.data?.pages[0];
  return {
    calls,
    total: last && { count: last.total, capped: last.total_capped === true },
    pages,
    error: pages.error ?? null,
  };
}

/** Names of agents by id. */
export function useAgentNames({ orgId, projectId }: Pick<ProjectContext, 'orgId' | 'projectId'>) {
  const { data } = useQuery({
    queryKey: ['agent-names', projectId],
    staleTime: 60_000,
    queryFn: () =>
      readAll((page) =>
        take(
          api.GET('/v1/orgs/{org_id}/projects/{project_id}/agents', {
            params: { path: { org_id: orgId, project_id: projectId }, query: page },
          }),
        ),
      ),
  });
  return useMemo(() => new Map((data ?? []).map(({ id, name }) => [id, name])), [data]);
}

/** Names of campaigns by id. Empty until they are there, and where the org makes none. */
export function useCampaignNames({ orgId, projectId }: Pick<ProjectContext, 'orgId' | 'projectId'>) {
  const { data } = useQuery({
    queryKey: ['campaign-names', projectId],
    staleTime: 60_000,
    queryFn: () =>
      readAll((page) =>
        take(
          api.GET('/v1/orgs/{org_id}/projects/{project_id}/campaigns', {
            params: { path: { org_id: orgId, project_id: projectId }, query: page },
          }),
        ),
      ),
  });
  return useMemo(() => new Map((data ?? []).map(({ id, name }) => [id, name])), [data]);
}
