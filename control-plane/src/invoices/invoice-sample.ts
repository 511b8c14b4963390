import { newId } from '@parley/shared/ids/new-id';
import { nthId } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

const INVOICE = {
  status: 'open',
  period_start: '2026-01-01',
  period_end: '2026-01-31',
  currency: 'USD',
  lines: [
    { project_id: nthId('prj', 1), name: 'Sales', sessions: 2, connected_ms: 90_000n, amount_nano: 5n },
  ],
  subtotal_nano: 1_500_000_000n,
  tax_nano: 0n,
  total_nano: 1_500_000_000n,
  seller: { name: 'Seller', address: [], tax_id: null, tax_name: 'Tax', tax_rate: 0, paper: 'A4' },
  buyer: 'Org',
  issued_at: new Date('2026-02-04T00:00:00Z'),
};

export const invoiceSample: Sample = {
  async make({ put, project }) {
    const invoice_id = newId('inv');
    const { org_id } = project.ids;
    await put('invoices', { ...INVOICE, _id: invoice_id, org_id, month_key: invoice_id, number: invoice_id });
    return { invoice_id };
  },
  many: ({ inOrg }) => [
    {
      collection: 'invoices',
      count: 900,
      record: (n, rare) => ({
        ...inOrg,
        ...INVOICE,
        _id: nthId('inv', n),
        month_key: `${n}`,
        number: `INV-${n}`,
        status: rare ? 'void' : 'paid',
        period_start: new Date(Date.UTC(1950, n, 1)).toISOString().slice(0, 10),
      }),
    },
  ],
  filters: () => ({
    period_after: ['1950-03-01', '2024-01-01', '2999-01-01'],
    period_before: ['2999-01-01', '1950-03-01', '1900-01-01'],
  }),
};
