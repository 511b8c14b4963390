import { z } from 'zod';
import { amount, toAmount } from '../http/amount.ts';
import { maybeTime, recordFields, time, timestamp, toTimes } from '../http/record-schema.ts';
import type { InvoiceRecord } from './invoice-model.ts';
import { INVOICE_STATUSES } from './invoice-states.ts';

export const shownStatus = z.enum(INVOICE_STATUSES).exclude(['draft']);
export const invoiceDay = z.iso.date().meta({ example: '2026-01-01' });

export const invoiceResponse = z
  .object({
    id: z.string().meta({ example: 'inv_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    number: z.string().meta({ description: 'Number; they have no gaps.', example: 'INV-000042' }),
    org_id: z.string(),
    status: shownStatus.meta({ description: 'Whether it is to be paid, or what became of it.' }),
    period_start: invoiceDay.meta({ description: 'First day of its month (UTC).' }),
    period_end: invoiceDay.meta({ description: 'Last day of its month.', example: '2026-01-31' }),
    currency: z.string().meta({ example: 'USD' }),
    subtotal_amount: amount.meta({
      description: 'What calls cost, and what was used outside of them, without tax.',
    }),
    tax_amount: amount.meta({ description: 'Tax on it.' }),
    total_amount: amount.meta({ description: 'What is to be paid.' }),
    issued_at: timestamp.meta({ description: 'When it was made.' }),
    due_at: maybeTime.meta({ description: 'By when it is to be paid.' }),
    paid_at: maybeTime.meta({ description: 'When it was marked as paid; null: it was not.' }),
    ...recordFields,
  })
  .meta({ id: 'Invoice' });

/** @param invoice that has its number */
export function toInvoiceResponse(invoice: InvoiceRecord): z.input<typeof invoiceResponse> {
  return {
    id: invoice._id,
    number: invoice.number!,
    org_id: invoice.org_id,
    status: shownStatus.parse(invoice.status),
    period_start: invoice.period_start,
    period_end: invoice.period_end,
    currency: invoice.currency,
    subtotal_amount: toAmount(BigInt(invoice.subtotal_nano)),
    tax_amount: toAmount(BigInt(invoice.tax_nano)),
    total_amount: toAmount(BigInt(invoice.total_nano)),
    issued_at: time(invoice.issued_at!),
    due_at: time(invoice.due_at),
    paid_at: time(invoice.paid_at),
    ...toTimes(invoice),
  };
}
