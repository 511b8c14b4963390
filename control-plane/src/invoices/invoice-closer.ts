import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { Directory } from '../tenancy/directory.ts';
import { Scope } from '../tenancy/scope.ts';
import { invoiceCollection, invoiceMonthCollection } from './invoice-model.ts';
import type { InvoiceLine, InvoiceRecord, InvoiceSeller } from './invoice-model.ts';
import type { InvoiceNumbers } from './invoice-numbers.ts';
import { invoiceTotals } from './invoice-totals.ts';

const PAGE = 200;

/** What the calls of a project came to. */
export interface ProjectUsage {
  project_id: string;
  sessions: number;
  connected_ms: bigint;
  amount_nano: bigint;
}

/** What was used: sums of calls, and what was used outside of them. */
export interface InvoicedUsage {
  /** Adds what is booked and in no sum yet. */
  complete(signal: AbortSignal): Promise<void>;
  /** By project; amounts are in the currency of the org's bookings. */
  byProject(scope: Scope, fromMs: number, toMs: number): Promise<ProjectUsage[]>;
  currency(orgId: string): Promise<string>;
  outsideCalls(
    scope: Scope,
    of: { fromMs: number; toMs: number; currency: string },
  ): Promise<{ count: number; amount_nano: bigint }>;
}

const OUTSIDE_CALLS = 'Speech, voices and language models outside of calls';

interface InvoicedOrg extends StoredRecord {
  name: string;
}

/** Makes invoices: one an org and month, however often and by however many it is tried. */
export class InvoiceCloser {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #directory: Pick<Directory, 'project'>;
  readonly #audit: AuditLog<'invoice.issued'>;
  readonly #orgs: Collection<InvoicedOrg>;
  readonly #usage: InvoicedUsage;
  readonly #numbers: InvoiceNumbers;
  readonly #seller: InvoiceSeller;

  constructor(deps: {
    database: Database;
    clock: Clock;
    directory: Pick<Directory, 'project'>;
    audit: AuditLog<'invoice.issued'>;
    orgs: Collection<InvoicedOrg>;
    usage: InvoicedUsage;
    numbers: InvoiceNumbers;
    seller: InvoiceSeller;
  }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#directory = deps.directory;
    this.#audit = deps.audit;
    this.#orgs = deps.orgs;
    this.#usage = deps.usage;
    this.#numbers = deps.numbers;
    this.#seller = deps.seller;
  }

  /** Completes what a process that died has left, and closes the month before that of `closedUntilMs`. */
  async work(closedUntilMs: number, signal: AbortSignal): Promise<void> {
    for (const draft of await this.#drafts()) await this.#issue(draft, 'system');
    const month = monthBefore(closedUntilMs);
    const months = this.#database.model(invoiceMonthCollection);
    if (await months.exists({ _id: month })) return;
    await this.close(month, { caller: 'system', signal });
    if (signal.aborted) return;
    try {
      await months.create({ _id: month });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /**
   * Makes the invoices of a month that are not there yet, of all orgs or of one. Who owes nothing gets none.
   * @param month `2026-10`, in UTC
   * @param caller for the audit trail
   * @returns how many were made now
   * @throws RangeError for a month that is not over
   */
  async close(
    month: string,
    { caller, orgId, signal }: { caller: string; orgId?: string | undefined; signal: AbortSignal },
  ): Promise<number> {
    const period = periodOf(month);
    if (period.toMs > this.#clock.now()) throw new RangeError(`The month ${month} is not over.`);
    await this.#usage.complete(signal);
    let made = 0;
    let after = '';
    for (;;) {
      const orgs = await this.#database
        .model(this.#orgs)
        .find({ _id: orgId ?? { $gt: after } }, { name: 1 })
        .sort({ _id: 1 })
        .limit(PAGE)
        .lean<InvoicedOrg[]>();
      for (const org of orgs) {
        if (signal.aborted) return made;
        if (await this.#closeOrg(org, month, period, caller)) made++;
      }
      if (orgId !== undefined || orgs.length < PAGE) return made;
      after = orgs.at(-1)!._id;
    }
  }

  async #closeOrg(org: InvoicedOrg, month: string, period: Period, caller: string): Promise<boolean> {
    const invoices = this.#database.model(invoiceCollection);
    const month_key = `${org._id}:${month}`;
    const found = await invoices.findOne({ month_key }).lean<InvoiceRecord>();
    if (found) return this.#issue(found, caller);
    const currency = await this.#usage.currency(org._id);
    const lines = await this.#lines(org._id, period, currency);
    if (lines.every(({ amount_nano }) => amount_nano === 0n)) return false;
    try {
      const draft = await invoices.create({
        _id: newId('inv', this.#clock.now()),
        org_id: org._id,
        month_key,
        status: 'draft',
        period_start: period.start,
        period_end: period.end,
        currency,
        lines,
        ...invoiceTotals(lines, { currency, taxRate: this.#seller.tax_rate }),
        seller: this.#seller,
        buyer: org.name,
      });
      return await this.#issue(draft, caller);
    } catch (error) {
      if (!isDuplicateKey(error, 'month_key')) throw error;
      // Another process was faster, and goes on with it.
      return false;
    }
  }

  /** Projects in the order of their names, then what was used outside of calls. */
  async #lines(orgId: string, { fromMs, toMs }: Period, currency: string): Promise<InvoiceLine[]> {
    const scope = new Scope(this.#database, { orgId, projectId: null, projects: null, role: 'owner' });
    const used = await this.#usage.byProject(scope, fromMs, toMs);
    const lines = await Promise.all(
      used.map(async (of) => {
        const project = await this.#directory.project(of.project_id);
        return { ...of, name: project?.name ?? of.project_id };
      }),
    );
    lines.sort((a, b) => compare(a.name, b.name) || compare(a.project_id, b.project_id));
    const { count, amount_nano } = await this.#usage.outsideCalls(scope, { fromMs, toMs, currency });
    if (count === 0) return lines;
    const outside = { project_id: null, name: OUTSIDE_CALLS, sessions: count, connected_ms: 0n, amount_nano };
    return [...lines, outside];
  }

  /** @returns whether it had no number */
  async #issue(invoice: InvoiceRecord, caller: string): Promise<boolean> {
    if (invoice.number !== null) return false;
    await this.#numbers.issue(invoice._id);
    await this.#audit.record({
      ...{ orgId: invoice.org_id, caller, address: '' },
      ...{ action: 'invoice.issued', target: invoice._id },
    });
    return true;
  }

  #drafts(): Promise<InvoiceRecord[]> {
    return this.#database
      .model(invoiceCollection)
      .find({ status: 'draft' })
      .sort({ _id: 1 })
      .limit(PAGE)
      .lean<InvoiceRecord[]>();
  }
}

interface Period {
  fromMs: number;
  toMs: number;
  /** First and last day. */
  start: string;
  end: string;
}

/** @param month `2026-10` */
function periodOf(month: string): Period {
  const fromMs = Date.parse(`${month}-01T00:00:00Z`);
  const from = new Date(fromMs);
  const toMs = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1);
  return { fromMs, toMs, start: dayOf(fromMs), end: dayOf(toMs - 1) };
}

function monthBefore(ms: number): string {
  const at = new Date(ms);
  return dayOf(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - 1, 1)).slice(0, 7);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
