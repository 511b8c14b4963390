import { z } from 'zod';
import { envInteger } from '@parley/shared/config/read-env';
import type { InvoiceSeller } from './invoice-model.ts';

/** Text of one line. */
const line = z.string().trim().min(1).max(120);

/** Variables of the installation about its invoices; none are made without `INVOICE_SELLER_NAME`. */
export const invoiceVariables = {
  INVOICE_SELLER_NAME: line.optional(),
  /** Lines, separated by `|`. */
  INVOICE_SELLER_ADDRESS: z
    .string()
    .transform((text) => text.split('|').map((one) => one.trim()))
    .pipe(z.array(line).max(6))
    .default([]),
  INVOICE_SELLER_TAX_ID: line.optional(),
  /** What the tax is called. */
  INVOICE_TAX_NAME: line.max(30).default('Tax'),
  /** Percent of tax: at most four decimals. */
  INVOICE_TAX_PERCENT: z
    .string()
    .regex(/^\d{1,2}(\.\d{1,4})?$/, 'must be a number below 100 of at most four decimals')
    .default('0')
    .transform(toMillionths),
  INVOICE_PAPER: z.enum(['A4', 'LETTER']).default('A4'),
  INVOICE_DUE_DAYS: envInteger(0, 365).default(14),
  /** Days after the end of a month at which it is closed: reports of calls may come late. */
  INVOICE_CLOSE_DAYS: envInteger(0, 27).default(3),
  INVOICE_NUMBER_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9/_-]{0,12}$/, 'must be at most 12 letters, digits, /, _ or -')
    .default('INV-'),
};

type InvoiceConfig = z.output<z.ZodObject<typeof invoiceVariables>>;

/** Who sends invoices; null: nobody does. */
export function sellerOf(config: InvoiceConfig): InvoiceSeller | null {
  if (config.INVOICE_SELLER_NAME === undefined) return null;
  return {
    name: config.INVOICE_SELLER_NAME,
    address: config.INVOICE_SELLER_ADDRESS,
    tax_id: config.INVOICE_SELLER_TAX_ID ?? null,
    tax_name: config.INVOICE_TAX_NAME,
    tax_rate: config.INVOICE_TAX_PERCENT,
    paper: config.INVOICE_PAPER,
  };
}

/** `7.25` percent are 72,500 millionths. */
function toMillionths(percent: string): number {
  const [whole = '0', decimals = ''] = percent.split('.');
  return Number(whole) * 10_000 + Number(decimals.padEnd(4, '0'));
}
