/** `draft`: has no number yet, and is shown to nobody. */
export const INVOICE_STATUSES = ['draft', 'open', 'paid', 'void', 'uncollectible'] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

/** What may be said of an invoice that is out. */
export const INVOICE_OUTCOMES = ['paid', 'void', 'uncollectible'] as const;
export type InvoiceOutcome = (typeof INVOICE_OUTCOMES)[number];

/** What may become of an invoice. */
export const INVOICE_TRANSITIONS: Readonly<Record<InvoiceStatus, readonly InvoiceStatus[]>> = {
  draft: ['open'],
  open: ['paid', 'void', 'uncollectible'],
  uncollectible: ['paid'],
  paid: [],
  void: [],
};

/** States from which an invoice may come to be `to`. */
export function statesBefore(to: InvoiceStatus): InvoiceStatus[] {
  return INVOICE_STATUSES.filter((from) => INVOICE_TRANSITIONS[from].includes(to));
}
