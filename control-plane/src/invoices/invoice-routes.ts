import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, HttpResponse } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inWholeOrg, within } from '../tenancy/target.ts';
import { invoiceDay, invoiceResponse, shownStatus, toInvoiceResponse } from './invoice-schema.ts';
import type { PrintedInvoice } from './invoice-pdf.ts';
import type { InvoicePrinter } from './invoice-printer.ts';
import type { InvoiceRecord } from './invoice-model.ts';
import type { InvoiceService } from './invoice-service.ts';

const tag = 'Billing';

export function invoiceRoutes({
  invoices,
  printer,
}: {
  invoices: InvoiceService;
  printer: InvoicePrinter;
}): Operation[] {
  const invoice = within(inWholeOrg, 'invoice_id', ({ scope }, id) => invoices.shown(scope, id));
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
    defineOperation({
      id: 'getInvoicePdf',
      method: 'GET',
      path: '/v1/orgs/{org_id}/billing/invoices/{invoice_id}/pdf',
      tag,
      summary: 'Get an invoice as a PDF',
      description:
        'To be printed on A4 or Letter, as the installation says. The file is the same each time: it does not say what became of the invoice.',
      access: { key: 'viewer', user: 'viewer' },
      target: invoice,
      responses: { 200: { description: 'The invoice', contentType: 'application/pdf' } },
      errors: [503],
      handle: async ({ scope, params }) => {
        const found = await invoices.shown(scope, params.invoice_id);
        const pdf = await printer.print(printed(found));
        return new HttpResponse(200, Buffer.from(pdf), {
          'content-type': 'application/pdf',
          'content-disposition': `attachment; filename="${found.number?.replaceAll('/', '-')}.pdf"`,
          'cache-control': 'private',
        });
      },
    }),
  ];
}

/** What is printed of an invoice that has its number; it goes to another thread. */
function printed(invoice: InvoiceRecord): PrintedInvoice {
  const { org_id, buyer, seller, period_start, period_end, currency, due_at } = invoice;
  return {
    ...{ org_id, buyer, seller, period_start, period_end, currency, due_at },
    number: invoice.number!,
    issued_at: invoice.issued_at!,
    lines: invoice.lines.map((line) => ({
      ...line,
      connected_ms: BigInt(line.connected_ms),
      amount_nano: BigInt(line.amount_nano),
    })),
    subtotal_nano: BigInt(invoice.subtotal_nano),
    tax_nano: BigInt(invoice.tax_nano),
    total_nano: BigInt(invoice.total_nano),
  };
}
