import { toAmount } from '../http/amount.ts';
import type { InvoiceCloser } from './invoice-closer.ts';
import type { InvoiceService } from './invoice-service.ts';
import { INVOICE_OUTCOMES } from './invoice-states.ts';

export const INVOICE_USAGE = `  invoice list [--org-id <org_…>]                  the newest 200
  invoice close [--month <YYYY-MM>] [--org-id <org_…>]
                                                   make the invoices of a month: of the last one unless given
  invoice paid|void|uncollectible <number>         say what became of one
`;

const LISTED = 200;

/**
 * What operators do with invoices.
 * @returns what to print; undefined for words that are no command
 */
export async function invoiceCommand(
  { invoices, invoiceCloser }: { invoices: InvoiceService; invoiceCloser: InvoiceCloser | null },
  words: readonly string[],
  options: { month?: string | undefined; orgId?: string | undefined },
  nowMs: number,
): Promise<string | undefined> {
  const [verb, name, ...more] = words;
  if (more.length > 0) return undefined;
  const outcome = INVOICE_OUTCOMES.find((one) => one === verb);
  if (outcome && name !== undefined) {
    const { number, status } = await invoices.mark(name, outcome);
    return `${number} is ${status}\n`;
  }
  if (name !== undefined) return undefined;
  if (verb === 'list')
    return (await invoices.newest(options.orgId, LISTED))
      .map(
        ({ number, org_id, period_start, status, total_nano, currency }) =>
          `${number}  ${org_id}  ${period_start.slice(0, 7)}  ${status.padEnd(13)}  ${toAmount(BigInt(total_nano))} ${currency}\n`,
      )
      .join('');
  if (verb !== 'close') return undefined;
  const month = options.month ?? lastMonth(nowMs);
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) throw new RangeError('--month must be YYYY-MM.');
  if (!invoiceCloser)
    throw new RangeError('INVOICE_SELLER_NAME is not set: the installation makes no invoices.');
  const made = await invoiceCloser.close(month, {
    caller: 'cli',
    orgId: options.orgId,
    signal: new AbortController().signal,
  });
  return `${made} made for ${month}\n`;
}

function lastMonth(nowMs: number): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
}
