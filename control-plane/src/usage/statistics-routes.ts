import { defineOperation, type Operation } from '../http/operation.ts';
import { inProject } from '../tenancy/target.ts';
import type { DailyStatistics } from './daily-statistics.ts';
import { dailyStatisticsResponse, statisticsQuery } from './statistics-schema.ts';

export function statisticsRoutes(statistics: DailyStatistics): Operation[] {
  return [
    defineOperation({
      id: 'listDailyStatistics',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/statistics/daily',
      tag: 'Statistics',
      summary: 'Get what calls were like, by day and agent',
      description:
        'One item for each agent and day with calls, the oldest day first; `by` asks for one a day, or one an agent. `period` is all ' +
        'of them together. A call counts on the day on which it ended; tests of ' +
        'agents, and calls to whom callers are transferred to, are left out. Summed up as calls end: a few seconds behind. The ' +
        'period has at most 31 days.',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query: statisticsQuery,
      responses: { 200: { description: 'The days with calls', schema: dailyStatisticsResponse } },
      handle: ({ scope, query }) => statistics.of(scope, query),
    }),
  ];
}
