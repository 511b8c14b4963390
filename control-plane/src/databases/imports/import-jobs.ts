import { rm } from 'node:fs/promises';
import type { Model } from 'mongoose';
import { AppError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { LeasedJobs } from '../../jobs/leased-jobs.ts';
import type { Retry } from '../../jobs/leased-jobs.ts';
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

type Progress = Pick<ImportRecord, 'rows' | 'imported' | 'error_count'>;

/** Turns files into rows. Another process goes on where one has died. */
export class ImportJobs {
  readonly #jobs: LeasedJobs<ImportRecord>;
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
    this.#jobs = new LeasedJobs({ ...deps, records: deps.database.model(importCollection) });
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
    const ours = await this.#jobs.settle(claimed, batch.progress());
    if (!ours) throw new Error('Another process has taken this import over.');
    batch.clear();
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
