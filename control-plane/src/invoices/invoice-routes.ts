import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inWholeOrg } from '../tenancy/target.ts';
import { invoiceDay, invoiceResponse, shownStatus, toInvoiceResponse } from './invoice-schema.ts';
import type { InvoiceService } from './invoice-service.ts';

const tag = 'Billing';

export function invoiceRoutes({ invoices }: { invoices: InvoiceService }): Operation[] {
  return [
    defineOperation({
      id: 'listInvoices',
      method: 'GET',
      path: '/v1/orgs/{org_id}/billing/invoices',
      tag,
      summary: 'List invoices',
      description:
        'Of the whole org, for API keys as well; users who may see some projects only are refused. There is one for each month (UTC) in which calls cost something.',
      access: { key: 'viewer', user: 'viewer' },
      target: inWholeOrg,
      query: listQuery({
        sortable: ['period_start'],
        defaultSort: '-period_start',
        filters: {
          status: anyOf(shownStatus).optional(),
          period_after: invoiceDay
            .optional()
            .meta({ description: 'Only those whose month begins on this day or later.' }),
          period_before: invoiceDay
            .optional()
            .meta({ description: 'Only those whose month begins before this day.' }),
        },
      }),
      responses: { 200: { description: 'A page of invoices', schema: listOf(invoiceResponse) } },
      handle: async ({ scope, query }) => toPage(await invoices.list(scope, query), toInvoiceResponse),
    }),
  ];
}
