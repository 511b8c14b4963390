import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { namedRecords } from '../composition/search-source.ts';
import { idSchema } from '../http/operation.ts';
import { InvoiceCloser } from './invoice-closer.ts';
import { sellerOf } from './invoice-config.ts';
import { invoiceCollection, invoiceCounterCollection, invoiceMonthCollection } from './invoice-model.ts';
import { InvoiceNumbers } from './invoice-numbers.ts';
import { InvoicePrinter } from './invoice-printer.ts';
import { invoiceRoutes } from './invoice-routes.ts';
import { invoiceSample } from './invoice-sample.ts';
import { INVOICE_AUDIT, InvoiceService } from './invoice-service.ts';

const CLOSE_INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Invoices of what calls cost. */
export function createInvoices(
  deps: Pick<Platform, 'config'> &
    Omit<ConstructorParameters<typeof InvoiceCloser>[0], 'numbers' | 'seller'> &
    ConstructorParameters<typeof InvoiceService>[0],
) {
  const { config, clock } = deps;
  const invoices = new InvoiceService(deps);
  const invoicePrinter = new InvoicePrinter(deps);
  const seller = sellerOf(config);
  const numbers = new InvoiceNumbers({
    ...deps,
    prefix: config.INVOICE_NUMBER_PREFIX,
    dueDays: config.INVOICE_DUE_DAYS,
  });
  const invoiceCloser = seller && new InvoiceCloser({ ...deps, numbers, seller });
  return {
    ...{ invoices, invoiceCloser, invoicePrinter },
    collections: [invoiceCollection, invoiceCounterCollection, invoiceMonthCollection],
    searches: [
      namedRecords('invoice', invoiceCollection, {
        list: 'listInvoices',
        fields: ['number'],
        name: ({ number, _id }) => number ?? _id,
        where: () => ({ number: { $ne: null } }),
      }),
    ],
    routes: invoiceRoutes({ invoices, printer: invoicePrinter }),
    parameters: { invoice_id: idSchema('inv') },
    audit: INVOICE_AUDIT,
    workers: invoiceCloser
      ? [
          {
            name: 'invoices',
            everyMs: CLOSE_INTERVAL_MS,
            work: (signal: AbortSignal) =>
              invoiceCloser.work(clock.now() - config.INVOICE_CLOSE_DAYS * DAY_MS, signal),
          },
        ]
      : [],
    samples: [invoiceSample],
  } satisfies Feature;
}
