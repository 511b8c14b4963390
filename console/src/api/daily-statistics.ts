import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useProject } from '../app/project.ts';
import { daysBefore, today } from '../components/days.ts';
import { api, take } from './client.ts';

/** What there is an item for. */
type By = 'agent_and_day' | 'day' | 'agent';

/** What the calls of the project were like from one day to another, both included. */
export function useStatistics({ from, to, by }: { from: string; to: string; by: By }) {
  const { orgId, projectId, timezone } = useProject();
  return useQuery({
    queryKey: ['daily-statistics', projectId, from, to, by, timezone],
    queryFn: () =>
      take(
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/statistics/daily', {
          params: { path: { org_id: orgId, project_id: projectId }, query: { from, to, by, timezone } },
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    refetchInterval: 60_000,
  });
}

/** The same of the last `days` days, today included. */
export function useDailyStatistics(days: number, by: By) {
  const { timezone } = useProject();
  const to = today(timezone);
  const from = daysBefore(to, days - 1);
  return { query: useStatistics({ from, to, by }), from, to };
}

/** What the calls of today were like, and those of the seven days before it. */
export function useTodayAndWeek() {
  const { timezone } = useProject();
  const day = today(timezone);
  const now = useStatistics({ from: day, to: day, by: 'day' });
  const week = useStatistics({ from: daysBefore(day, 7), to: daysBefore(day, 1), by: 'day' });
  return {
    error: now.error ?? week.error,
    data: now.data && week.data && { today: now.data.period, week: week.data.period },
    refetch: () => Promise.all([now.refetch(), week.refetch()]),
  };
}
