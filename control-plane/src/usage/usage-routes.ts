import { listOf } from '../http/list-query.ts';
import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inWholeOrg } from '../tenancy/target.ts';
import { costSummaryResponse, dailyUsageResponse, usageQuery } from './usage-schema.ts';
import type { UsageService } from './usage-service.ts';

const tag = 'Usage';

export function usageRoutes({ usage }: { usage: UsageService }): Operation[] {
  return [
    defineOperation({
      id: 'getCostSummary',
      method: 'GET',
      path: '/v1/orgs/{org_id}/usage/cost-summary',
      tag,
      summary: 'Get what calls cost',
      description:
        'Of all projects of the org, for API keys as well; users who may see some projects only are refused. A call counts on the day on which it ended. The period has at most 366 days.',
      access: { key: 'viewer', user: 'viewer' },
      target: inWholeOrg,
      query: usageQuery,
      responses: { 200: { description: 'The costs of the period', schema: costSummaryResponse } },
      handle: ({ scope, query }) => usage.costSummary(scope, query),
    }),
    defineOperation({
      id: 'listDailyUsage',
      method: 'GET',
      path: '/v1/orgs/{org_id}/usage/daily',
      tag,
      summary: 'Get usage by day',
      description:
        'One item for each day of the period, oldest first; the rest is as in the cost summary. Amounts are rounded by day.',
      access: { key: 'viewer', user: 'viewer' },
      target: inWholeOrg,
      query: usageQuery,
      responses: { 200: { description: 'The days of the period', schema: listOf(dailyUsageResponse) } },
      handle: async ({ scope, query }) => {
        const items = await usage.daily(scope, query);
        return { items, total: items.length };
      },
    }),
  ];
}
