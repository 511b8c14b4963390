import type { Model, UpdateQuery } from 'mongoose';
import type { Clock } from '@parley/shared/time/clock';
import type { StoredRecord } from '../storage/collection.ts';
import { keepLease, LEASE_MS } from './keep-lease.ts';

/** How often work fails before it is given up. */
const ATTEMPTS = 5;
const RETRY_MS = 30_000;

/** A record that something is to be done for, by one process at a time. */
export interface LeasedRecord extends StoredRecord {
  /** When; null: there is nothing to do. */
  run_at: Date | null;
  /** Until then it is somebody's. */
  lease_until: Date;
  /** How often it was taken up: says whose it is. */
  attempts: number;
  /** How often it has failed in a row. */
  failures: number;
}

/** What becomes of work that failed. */
export interface Retry {
  /** Its process is about to stop, or has lost it: that is no failure. */
  interrupted: boolean;
  /** Null: it is given up. */
  again: Pick<LeasedRecord, 'run_at' | 'lease_until' | 'failures'> | null;
  failures: number;
}

/** Work on the records of a collection: each is leased to one process, and taken up by another when that dies. */
export class LeasedJobs<T extends LeasedRecord> {
  readonly #records: Model<T>;
  readonly #clock: Clock;

  constructor({ records, clock }: { records: Model<T>; clock: Clock }) {
    this.#records = records;
    this.#clock = clock;
  }

  /**
   * Takes up the record that is due first, and works on it.
   * @param started what taking it up changes besides
   * @param work gets a signal that aborts with `stop`, and when another process has taken the record over
   * @param failed gets what `work` threw
   * @returns whether one was due
   */
  async next(
    stop: AbortSignal,
    {
      started = {},
      work,
      failed,
    }: {
      started?: Partial<T>;
      work: (record: T, signal: AbortSignal) => Promise<void>;
      failed: (record: T, error: unknown, retry: Retry) => Promise<void>;
    },
  ): Promise<boolean> {
    const now = new Date(this.#clock.now());
    const record = await this.#records
      .findOneAndUpdate(
        { run_at: { $lte: now }, lease_until: { $lte: now } },
        { $set: { ...started, lease_until: this.#leaseEnd() }, $inc: { attempts: 1 } } as UpdateQuery<T>,
        { sort: { run_at: 1 }, returnDocument: 'after' },
      )
      .lean<T>();
    if (!record) return false;
    const lease = keepLease({ clock: this.#clock, stop, renew: () => this.renew(record) });
    try {
      await work(record, lease.signal);
    } catch (error) {
      await failed(record, error, this.#retry(record, lease.signal.aborted));
    } finally {
      lease.stop();
    }
    return true;
  }

  /** @returns whether it was still ours */
  renew(record: T): Promise<boolean> {
    return this.settle(record, { lease_until: this.#leaseEnd() } as Partial<T>);
  }

  /** Changes a record while it is ours: whoever takes it over counts an attempt. @returns whether it was */
  async settle({ _id, attempts }: T, set: Partial<T>): Promise<boolean> {
    const { matchedCount } = await this.#records.updateOne({ _id, attempts }, {
      $set: set,
    } as UpdateQuery<T>);
    return matchedCount > 0;
  }

  #leaseEnd(): Date {
    return new Date(this.#clock.now() + LEASE_MS);
  }

  #retry(record: T, interrupted: boolean): Retry {
    const failures = record.failures + (interrupted ? 0 : 1);
    const runAt = new Date(this.#clock.now() + (interrupted ? 0 : RETRY_MS * failures));
    const again = { run_at: runAt, lease_until: new Date(0), failures };
    return { interrupted, failures, again: failures < ATTEMPTS ? again : null };
  }
}
