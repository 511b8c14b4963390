import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { InvoiceStatus } from './invoice-states.ts';

/** What was paid for; amounts are in 10⁻⁹ of the invoice's currency. */
export interface InvoiceLine {
  /** Null: what was used outside of calls. */
  project_id: string | null;
  /** Name of the project at the close. */
  name: string;
  /** Calls; outside of them, charges. */
  sessions: number;
  connected_ms: bigint;
  amount_nano: bigint;
}

/** Who sends invoices, as it stood when one was made. */
export interface InvoiceSeller {
  name: string;
  /** Lines. */
  address: string[];
  tax_id: string | null;
  tax_name: string;
  /** In millionths: 190,000 is 19 %. */
  tax_rate: number;
  paper: 'A4' | 'LETTER';
}

/** What an org owes for one month; there is one for each. */
export interface InvoiceRecord extends StoredRecord {
  org_id: string;
  /** `org_…:2026-10`. */
  month_key: string;
  /** Null until it has been given one: nobody sees it before. */
  number: string | null;
  status: InvoiceStatus;
  /** `YYYY-MM-DD`, in UTC. */
  period_start: string;
  /** Last day, itself included. */
  period_end: string;
  currency: string;
  lines: InvoiceLine[];
  subtotal_nano: bigint;
  tax_nano: bigint;
  total_nano: bigint;
  seller: InvoiceSeller;
  /** The org's name at the close. */
  buyer: string;
  issued_at: Date | null;
  due_at: Date | null;
  paid_at: Date | null;
}

const date = { type: Date, default: null };
const nano = { type: BigInt, required: true };

export const invoiceCollection = defineCollection<InvoiceRecord, 'org'>({
  name: 'invoices',
  tenancy: 'org',
  fields: {
    month_key: { type: String, required: true },
    number: { type: String, default: null },
    status: { type: String, required: true },
    period_start: { type: String, required: true },
    period_end: { type: String, required: true },
    currency: { type: String, required: true },
    lines: { type: [Object], required: true },
    subtotal_nano: nano,
    tax_nano: nano,
    total_nano: nano,
    seller: { type: Object, required: true },
    buyer: { type: String, required: true },
    issued_at: date,
    due_at: date,
    paid_at: date,
  },
  indexes: [
    [{ month_key: 1 }, { unique: true }],
    [{ number: 1 }, { unique: true, partialFilterExpression: { number: { $type: 'string' } } }],
    [{ org_id: 1, period_start: -1, _id: -1 }],
    [{ org_id: 1, status: 1, period_start: -1, _id: -1 }],
    [{ status: 1, _id: 1 }],
  ],
});

/** The last number, and whose it is. */
export interface InvoiceCounterRecord extends StoredRecord {
  last: number;
  invoice_id: string;
  number: string;
  /** When it was taken. */
  at: Date;
}

export const INVOICE_COUNTER = 'invoices';

export const invoiceCounterCollection = defineCollection<InvoiceCounterRecord, 'none'>({
  name: 'invoice_counters',
  tenancy: 'none',
  fields: {
    last: { type: Number, required: true },
    invoice_id: { type: String, required: true },
    number: { type: String, required: true },
    at: { type: Date, required: true },
  },
});

/** Months whose invoices are all made. */
export const invoiceMonthCollection = defineCollection<StoredRecord, 'none'>({
  name: 'invoice_months',
  tenancy: 'none',
  fields: {},
});
