import { rm } from 'node:fs/promises';
import type { Model } from 'mongoose';
import { AppError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { keepLease, LEASE_MS } from '../../jobs/keep-lease.ts';
import type { PeriodicTask } from '../../jobs/periodic-task.ts';
import type { Database } from '../../storage/database.ts';
import { newRecord } from '../../storage/new-record.ts';
import type { Column } from '../database-columns.ts';
import { databaseCollection } from '../database-model.ts';
import type { DatabaseRecord } from '../database-model.ts';
import type { NewRow, RowStore } from '../row-store.ts';
import { BadCsvError, readCsv } from '../../csv-imports/csv-records.ts';
import { MAX_CSV_ROWS } from '../../csv-imports/csv-upload.ts';
import { columnsOf, valuesOf } from './import-columns.ts';
import type { Problem } from './import-columns.ts';
import { importCollection, importErrorCollection } from './import-model.ts';
import type { ImportErrorRecord, ImportRecord } from './import-model.ts';
import { importFile } from './import-service.ts';

/** Rows that are written, and told of, at a time. */
const BATCH = 200;
const ATTEMPTS = 5;
const RETRY_MS = 30_000;

type Progress = Pick<ImportRecord, 'rows' | 'imported' | 'error_count'>;

/** Turns files into rows: each is leased to one process, and goes on in another when that dies. */
export class ImportJobs {
  readonly #imports: Model<ImportRecord>;
  readonly #errors: Model<ImportErrorRecord>;
  readonly #databases: Model<DatabaseRecord>;
  readonly #rows: Pick<RowStore, 'insert'>;
  readonly #storageDir: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #task: PeriodicTask | undefined;

  constructor(deps: {
    database: Database;
    rows: Pick<RowStore, 'insert'>;
    storageDir: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#imports = deps.database.model(importCollection);
    this.#errors = deps.database.model(importErrorCollection);
    this.#databases = deps.database.model(databaseCollection);
    this.#rows = deps.rows;
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
    while (!signal.aborted) {
      const now = new Date(this.#clock.now());
      const claimed = await this.#imports
        .findOneAndUpdate(
          { run_at: { $lte: now }, lease_until: { $lte: now } },
          {
            $set: { status: 'running', lease_until: new Date(now.getTime() + LEASE_MS) },
            $inc: { attempts: 1 },
          },
          { sort: { run_at: 1 }, returnDocument: 'after' },
        )
        .lean<ImportRecord>();
      if (!claimed) return;
      const lease = keepLease({
        clock: this.#clock,
        stop: signal,
        renew: () => this.#settle(claimed, { lease_until: new Date(this.#clock.now() + LEASE_MS) }),
      });
      try {
        const error = await this.#import(claimed, lease.signal);
        await this.#finish(claimed, error);
      } catch (error) {
        await this.#failed(claimed, error, lease.signal);
      } finally {
        lease.stop();
      }
    }
  }

  /** @returns why it went no further, for its owner; null: it was read to its end */
  async #import(claimed: ImportRecord, signal: AbortSignal): Promise<string | null> {
    const database = await this.#databases.findOne({ _id: claimed.database_id }).lean<DatabaseRecord>();
    if (!database) return 'The database was deleted.';
    // Those of a batch that was told of no more.
    await this.#errors.deleteMany({ import_id: claimed._id, record: { $gt: claimed.rows } });
    const batch = new Batch(claimed);
    const store = async (): Promise<void> => {
      signal.throwIfAborted();
      await this.#store(claimed, database, batch);
    };
    try {
      let columns: Column[] | undefined;
      let record = 0;
      for await (const cells of readCsv(importFile(this.#storageDir, claimed._id))) {
        if (!columns) {
          columns = columnsOf(database, cells);
          continue;
        }
        if (++record <= claimed.rows) continue;
        if (record > MAX_CSV_ROWS)
          throw new BadCsvError(`Only the first ${MAX_CSV_ROWS} rows were read: split the file.`);
        batch.add(record, valuesOf(columns, cells));
        if (batch.size >= BATCH) await store();
      }
      await store();
      return null;
    } catch (error) {
      if (!(error instanceof BadCsvError)) throw error;
      await store();
      return error.message;
    }
  }

  async #store(claimed: ImportRecord, database: DatabaseRecord, batch: Batch): Promise<void> {
    if (batch.size === 0) return;
    if (batch.rows.length > 0) await this.#rows.insert(database, batch.rows);
    const { org_id, project_id, expires_at } = claimed;
    const errors = batch.errors.map(({ record, problems }) =>
      newRecord(importErrorCollection, {
        _id: `${claimed._id}:${record}`,
        ...{ org_id, project_id, import_id: claimed._id, record, problems, expires_at },
      }),
    );
    if (errors.length > 0) await this.#errors.insertMany(errors, { ordered: false, lean: true });
    const ours = await this.#settle(claimed, {
      ...batch.progress(),
      lease_until: new Date(this.#clock.now() + LEASE_MS),
    });
    if (!ours) throw new Error('Another process has taken this import over.');
    batch.clear();
  }

  async #finish(claimed: ImportRecord, error: string | null): Promise<void> {
    const ours = await this.#settle(claimed, {
      ...{ status: error === null ? 'done' : 'failed', error, run_at: null },
      finished_at: new Date(this.#clock.now()),
    });
    if (ours) await rm(importFile(this.#storageDir, claimed._id), { force: true });
  }

  async #failed(claimed: ImportRecord, error: unknown, signal: AbortSignal): Promise<void> {
    if (error instanceof AppError && error.status < 500) return this.#finish(claimed, error.message);
    const details = { err: error, importId: claimed._id };
    // Stopping is no failure: the import is taken up again.
    const failures = claimed.failures + (signal.aborted ? 0 : 1);
    if (failures >= ATTEMPTS) {
      this.#logger.error(details, 'an import could not be finished');
      return this.#finish(claimed, 'The file could not be imported. Try again.');
    }
    if (signal.aborted) this.#logger.info(details, 'an import was interrupted');
    else this.#logger.warn(details, 'an import could not be finished and will be retried');
    const wait = signal.aborted ? 0 : RETRY_MS * failures;
    await this.#settle(claimed, {
      ...{ status: 'queued', failures, lease_until: new Date(0) },
      run_at: new Date(this.#clock.now() + wait),
    });
  }

  /** Changes an import while it is ours: whoever takes it over counts an attempt. @returns whether it was */
  async #settle({ _id, attempts }: ImportRecord, set: Partial<ImportRecord>): Promise<boolean> {
    const { matchedCount } = await this.#imports.updateOne({ _id, attempts }, { $set: set });
    return matchedCount > 0;
  }
}

/** Records that were read and are not stored yet. */
class Batch {
  rows: NewRow[] = [];
  errors: { record: number; problems: Problem[] }[] = [];
  readonly #importId: string;
  readonly #done: Progress;

  constructor({ _id, rows, imported, error_count }: ImportRecord) {
    this.#importId = _id;
    this.#done = { rows, imported, error_count };
  }

  get size(): number {
    return this.rows.length + this.errors.length;
  }

  add(record: number, read: ReturnType<typeof valuesOf>): void {
    if ('problems' in read) this.errors.push({ record, problems: read.problems });
    else this.rows.push({ id: rowId(this.#importId, record), values: read.values, source: 'api' });
  }

  /** Of the import once this is stored. */
  progress(): Progress {
    const { rows, imported, error_count } = this.#done;
    return {
      rows: rows + this.size,
      imported: imported + this.rows.length,
      error_count: error_count + this.errors.length,
    };
  }

  clear(): void {
    Object.assign(this.#done, this.progress());
    [this.rows, this.errors] = [[], []];
  }
}

/** One for each record of a file, however often it is written; in the order of the records. */
function rowId(importId: string, record: number): string {
  return `dbr_${importId.slice(4, 24)}${String(record).padStart(6, '0')}`;
}
