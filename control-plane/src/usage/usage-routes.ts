import { z } from 'zod';
import type { AuditLog } from '../audit/audit-trail.ts';
import { EXPORT_FORMATS, EXPORT_RESPONSES, exportFile } from '../exports/export-file.ts';
import { listOf } from '../http/list-query.ts';
import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inProject, inWholeOrg } from '../tenancy/target.ts';
import { costSummaryResponse, dailyUsageResponse, usageQuery } from './usage-schema.ts';
import type { UsageService } from './usage-service.ts';

const tag = 'Usage';

/** What it writes to the audit trail. */
export const USAGE_AUDIT = ['usage.exported'] as const;

const DAY_COLUMNS = Object.keys(dailyUsageResponse.shape);
const { from, to, timezone } = usageQuery.shape;

export function usageRoutes({
  usage,
  audit,
}: {
  usage: UsageService;
  audit: AuditLog<(typeof USAGE_AUDIT)[number]>;
}): Operation[] {
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
    defineOperation({
      id: 'exportUsage',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/exports/usage',
      tag: 'Exports',
      summary: 'Export usage by day',
      description:
        'The usage of the project by day, oldest first, as CSV (RFC 4180, UTF-8 with a byte order mark) or as lines of JSON.',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query: z.object({
        format: z.enum(EXPORT_FORMATS).default('csv').meta({ description: 'CSV, or a JSON object a line.' }),
        ...{ from, to, timezone },
      }),
      responses: EXPORT_RESPONSES,
      handle: async ({ scope, query: { format, ...days }, caller, address, signal }) => {
        const rows = await usage.daily(scope, { ...days, project_id: scope.projectId });
        await audit.record({ scope, caller, address, action: 'usage.exported', target: scope.projectId });
        return exportFile({ columns: DAY_COLUMNS, format, name: 'usage' }, [rows], signal);
      },
    }),
  ];
}
