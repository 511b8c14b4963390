import type { Clock } from '@parley/shared/time/clock';
import type { StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import {
  INVOICE_COUNTER,
  invoiceCollection,
  invoiceCounterCollection,
  type InvoiceCounterRecord,
} from './invoice-model.ts';

const DAY_MS = 86_400_000;
const MAX_ATTEMPTS = 100;

/**
 * Gives invoices their numbers: 1, 2, 3, and none left out.
 *
 * The counter names the invoice that its last number is for. Whoever takes the next one first sees to it that this
 * invoice has its number, and only then looks whether its own still needs one; a single write, conditional on the
 * counter's last number, takes the next. Whoever dies behind it has left the name.
 */
export class InvoiceNumbers {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #dueDays: number;

  constructor(deps: { database: Database; clock: Clock; prefix: string; dueDays: number }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#prefix = deps.prefix;
    this.#dueDays = deps.dueDays;
  }

  /** Issues a draft; one that has a number keeps it. */
  async issue(invoiceId: string): Promise<void> {
    const counters = this.#database.model(invoiceCounterCollection);
    const invoices = this.#database.model(invoiceCollection);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const counter = await counters.findOne({ _id: INVOICE_COUNTER }).lean<InvoiceCounterRecord>();
      if (counter) await this.#hand(counter);
      if (!(await invoices.exists({ _id: invoiceId, number: null }))) return;
      const next = (counter?.last ?? 0) + 1;
      const taken = {
        last: next,
        invoice_id: invoiceId,
        number: `${this.#prefix}${String(next).padStart(6, '0')}`,
        at: new Date(this.#clock.now()),
      };
      if (counter) await counters.updateOne({ _id: INVOICE_COUNTER, last: counter.last }, { $set: taken });
      else await this.#first(taken);
    }
    throw new Error('Other invoices took every number.');
  }

  /** Sees to it that the invoice which the last number is for has it. */
  async #hand({ invoice_id, number, at }: InvoiceCounterRecord): Promise<void> {
    const due = new Date(at.getTime() + this.#dueDays * DAY_MS);
    await this.#database
      .model(invoiceCollection)
      .updateOne(
        { _id: invoice_id, number: null },
        { $set: { number, status: 'open', issued_at: at, due_at: due } },
      );
  }

  async #first(taken: Omit<InvoiceCounterRecord, keyof StoredRecord>): Promise<void> {
    try {
      await this.#database.model(invoiceCounterCollection).create({ _id: INVOICE_COUNTER, ...taken });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }
}
