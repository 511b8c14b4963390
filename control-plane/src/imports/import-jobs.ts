import { rm } from 'node:fs/promises';
import type { Model } from 'mongoose';
import { AppError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { LeasedJobs } from '../jobs/leased-jobs.ts';
import type { Retry } from '../jobs/leased-jobs.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { Database } from '../storage/database.ts';
import { newRecord } from '../storage/new-record.ts';
import { BadCsvError, readCsv } from '../csv-imports/csv-records.ts';
import { MAX_CSV_ROWS } from '../csv-imports/csv-upload.ts';
import type { ImportKind, ImportRow, StoredRows, StoreRows } from './import-kind.ts';
import { importCollection, importErrorCollection } from './import-model.ts';
import type { ImportErrorRecord } from './import-model.ts';
import type { ImportRecord } from './import-record.ts';
import { importFile } from './import-service.ts';

type Progress = Pick<ImportRecord, 'rows' | 'imported' | 'updated' | 'skipped' | 'error_count'>;

/** Turns files into rows, contacts and recipients. Another process goes on where one has died. */
export class ImportJobs {
  readonly #jobs: LeasedJobs<ImportRecord>;
  readonly #errors: Model<ImportErrorRecord>;
  readonly #kinds: readonly ImportKind[];
  readonly #storageDir: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #task: PeriodicTask | undefined;

  constructor(deps: {
    database: Database;
    kinds: readonly ImportKind[];
    storageDir: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#jobs = new LeasedJobs({ ...deps, records: deps.database.model(importCollection) });
    this.#errors = deps.database.model(importErrorCollection);
    this.#kinds = deps.kinds;
    this.#storageDir = deps.storageDir;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** The task that runs `work`, to be woken when there is a new file. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  /** There is a new file. */
  wake(): void {
    void this.#task?.runNow();
  }

  /** Imports every file that is due, one after the other. */
  async work(signal: AbortSignal): Promise<void> {
    let more = true;
    while (more && !signal.aborted)
      more = await this.#jobs.next(signal, {
        started: { status: 'running' },
        work: async (claimed, held) => this.#finish(claimed, await this.#import(claimed, held)),
        failed: (claimed, error, retry) => this.#failed(claimed, error, retry),
      });
  }

  /** @returns why it went no further, for its owner; null: it was read to its end */
  async #import(claimed: ImportRecord, signal: AbortSignal): Promise<string | null> {
    const kind = this.#kinds.find(({ target }) => claimed[target] !== null);
    if (!kind) return 'Nothing takes such files.';
    // Those of a batch that was told of no more.
    await this.#errors.deleteMany({ import_id: claimed._id, record: { $gt: claimed.rows } });
    let store: StoreRows | undefined;
    const done: Progress = progressOf(claimed);
    let batch: ImportRow[] = [];
    // Whoever had it before went no further than one batch behind what it told of.
    let mayBeThere = true;
    const storeBatch = async (): Promise<void> => {
      signal.throwIfAborted();
      if (batch.length > 0 && store) {
        await this.#store(claimed, batch.length, await store(batch, mayBeThere), done);
        mayBeThere = false;
      }
      batch = [];
    };
    try {
      let record = 0;
      for await (const cells of readCsv(importFile(this.#storageDir, claimed._id))) {
        if (!store) {
          const opened = await kind.open(claimed, cells);
          if (typeof opened === 'string') return opened;
          store = opened;
          continue;
        }
        if (++record <= claimed.rows) continue;
        if (record > MAX_CSV_ROWS)
          throw new BadCsvError(`Only the first ${MAX_CSV_ROWS} rows were read: split the file.`);
        batch.push({ record, cells });
        if (batch.length >= kind.batch) await storeBatch();
      }
      await storeBatch();
      return null;
    } catch (error) {
      if (!(error instanceof BadCsvError)) throw error;
      await storeBatch();
      return error.message;
    }
  }

  /** Tells of a batch that is stored. @param done so far; changed */
  async #store(claimed: ImportRecord, rows: number, stored: StoredRows, done: Progress): Promise<void> {
    const { org_id, project_id, expires_at } = claimed;
    const errors = stored.errors.map(({ record, problems }) =>
      newRecord(importErrorCollection, {
        _id: `${claimed._id}:${record}`,
        ...{ org_id, project_id, import_id: claimed._id, record, problems: [...problems], expires_at },
      }),
    );
    if (errors.length > 0) await this.#errors.insertMany(errors, { ordered: false, lean: true });
    done.rows += rows;
    done.imported += stored.imported;
    done.updated += stored.updated;
    done.skipped += stored.skipped;
    done.error_count += stored.errors.length;
    const ours = await this.#jobs.settle(claimed, done);
    if (!ours) throw new Error('Another process has taken this import over.');
  }

  async #finish(claimed: ImportRecord, error: string | null): Promise<void> {
    const ours = await this.#jobs.settle(claimed, {
      ...{ status: error === null ? 'done' : 'failed', error, run_at: null },
      finished_at: new Date(this.#clock.now()),
    });
    if (ours) await rm(importFile(this.#storageDir, claimed._id), { force: true });
  }

  async #failed(claimed: ImportRecord, error: unknown, { interrupted, again }: Retry): Promise<void> {
    if (error instanceof AppError && error.status < 500) return this.#finish(claimed, error.message);
    const details = { err: error, importId: claimed._id };
    if (!again) {
      this.#logger.error(details, 'an import could not be finished');
      return this.#finish(claimed, 'The file could not be imported. Try again.');
    }
    if (interrupted) this.#logger.info(details, 'an import was interrupted');
    else this.#logger.warn(details, 'an import could not be finished and will be retried');
    await this.#jobs.settle(claimed, { status: 'queued', ...again });
  }
}

const progressOf = ({ rows, imported, updated, skipped, error_count }: ImportRecord): Progress => ({
  ...{ rows, imported, error_count },
  // Imports of earlier versions have neither.
  ...{ updated: updated ?? 0, skipped: skipped ?? 0 },
});
