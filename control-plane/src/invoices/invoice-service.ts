import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import type { Database } from '../storage/database.ts';
import type { ListPage } from '../storage/list.ts';
import type { Scope } from '../tenancy/scope.ts';
import { invoiceCollection } from './invoice-model.ts';
import type { InvoiceRecord } from './invoice-model.ts';
import { statesBefore } from './invoice-states.ts';
import type { InvoiceOutcome, InvoiceStatus } from './invoice-states.ts';

const SHOWN: InvoiceStatus[] = ['open', 'paid', 'void', 'uncollectible'];

export const INVOICE_AUDIT = [
  'invoice.issued',
  'invoice.paid',
  'invoice.void',
  'invoice.uncollectible',
] as const;

export interface InvoiceFilter {
  status?: InvoiceStatus[] | undefined;
  /** Days: the first included, the last not. */
  period_after?: string | undefined;
  period_before?: string | undefined;
}

/** The invoices of orgs, and what becomes of them. */
export class InvoiceService {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #audit: AuditLog<(typeof INVOICE_AUDIT)[number]>;

  constructor(deps: { database: Database; clock: Clock; audit: AuditLog<(typeof INVOICE_AUDIT)[number]> }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#audit = deps.audit;
  }

  list(scope: Scope, list: ListInput & InvoiceFilter): Promise<ListPage<InvoiceRecord>> {
    const { status = SHOWN, period_after: after, period_before: before } = list;
    return scope.collection(invoiceCollection).page(
      {
        ...commonFilter(list),
        status: { $in: status },
        ...((after !== undefined || before !== undefined) && {
          period_start: {
            ...(after !== undefined && { $gte: after }),
            ...(before !== undefined && { $lt: before }),
          },
        }),
      },
      list,
      ['lines', 'seller'],
    );
  }

  /** One that has its number. @throws NotFoundError */
  async shown(scope: Scope, id: string): Promise<InvoiceRecord> {
    const found = await scope.collection(invoiceCollection).findOne({ _id: id, status: { $in: SHOWN } });
    if (!found) throw new NotFoundError();
    return found;
  }

  /** Of all orgs, or of one: the newest first. */
  newest(orgId: string | undefined, limit: number): Promise<InvoiceRecord[]> {
    return this.#database
      .model(invoiceCollection)
      .find({ status: { $in: SHOWN }, ...(orgId !== undefined && { org_id: orgId }) })
      .sort({ _id: -1 })
      .limit(limit)
      .lean<InvoiceRecord[]>();
  }

  /**
   * Notes what became of an invoice.
   * @param name its id or number
   * @throws NotFoundError; ConflictError `invalid_state` where its state does not allow it
   */
  async mark(name: string, outcome: InvoiceOutcome): Promise<InvoiceRecord> {
    const invoices = this.#database.model(invoiceCollection);
    const by = name.startsWith('inv_') ? { _id: name } : { number: name };
    const marked = await invoices
      .findOneAndUpdate(
        { ...by, status: { $in: statesBefore(outcome) } },
        {
          $set: { status: outcome, ...(outcome === 'paid' && { paid_at: new Date(this.#clock.now()) }) },
        },
        { returnDocument: 'after' },
      )
      .lean<InvoiceRecord>();
    if (!marked) {
      const found = await invoices.findOne(by).lean<InvoiceRecord>();
      if (!found) throw new NotFoundError();
      throw new ConflictError(
        'invalid_state',
        `The invoice is ${found.status}: it cannot become ${outcome}.`,
      );
    }
    await this.#audit.record({
      ...{ orgId: marked.org_id, caller: 'cli', address: '' },
      ...{ action: `invoice.${outcome}`, target: marked._id },
    });
    return marked;
  }
}
