import t from 'tap';
import { INVOICE_STATUSES, INVOICE_TRANSITIONS, statesBefore } from './invoice-states.ts';

void t.test('the states of an invoice, each with each', (t) => {
  const allowed = INVOICE_STATUSES.flatMap((from) =>
    INVOICE_STATUSES.filter((to) => INVOICE_TRANSITIONS[from].includes(to)).map((to) => `${from} > ${to}`),
  );
  t.same(allowed, [
    'draft > open',
    'open > paid',
    'open > void',
    'open > uncollectible',
    'uncollectible > paid',
  ]);
  for (const to of INVOICE_STATUSES)
    t.same(
      statesBefore(to).map((from) => `${from} > ${to}`),
      allowed.filter((one) => one.endsWith(` > ${to}`)),
    );
  t.end();
});
