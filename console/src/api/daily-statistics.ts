import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useProject } from '../app/project.ts';
import { daysBefore, today } from '../components/days.ts';
import { api, take } from './client.ts';

/** What the calls of the project were like by day and agent, of the last `days` days, today included. */
export function useDailyStatistics(days: number) {
  const { orgId, projectId, timezone } = useProject();
  const to = today(timezone);
  const from = daysBefore(to, days - 1);
  const query = useQuery({
    queryKey: ['daily-statistics', projectId, from, to, timezone],
    queryFn: async () => {
      const { items } = await take(
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/statistics/daily', {
          params: { path: { org_id: orgId, project_id: projectId }, query: { from, to, timezone } },
        }),
      );
      return items;
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    refetchInterval: 60_000,
  });
  return { query, from, to };
}
