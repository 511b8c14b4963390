import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ConflictError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { BadCsvError, readCsv } from '../../csv-imports/csv-records.ts';
import { badFile, importPath, storeCsvUpload } from '../../csv-imports/csv-upload.ts';
import { csvLine, BYTE_ORDER_MARK } from '../../exports/csv.ts';
import type { Scope } from '../../tenancy/scope.ts';
import type { DatabaseRecord } from '../database-model.ts';
import { columnsOf } from './import-columns.ts';
import type { ImportJobs } from './import-jobs.ts';
import { importCollection, importErrorCollection } from './import-model.ts';
import type { ImportRecord } from './import-model.ts';

/** Of a project, at work or waiting. */
export const MAX_WAITING = 20;
/** How long what became of an import can be read. */
const KEPT_MS = 30 * 24 * 3_600_000;
const PAGE = 500;
const ID = /^imp_[0-9a-z]{26}$/;

/** Where the file of an import is until it is over. @throws Error for what is no id */
export function importFile(storageDir: string, importId: string): string {
  if (!ID.test(importId)) throw new Error('Invalid id of an import.');
  return importPath(storageDir, importId);
}

/** Files that become rows. */
export class ImportService {
  readonly #storageDir: string;
  readonly #jobs: Pick<ImportJobs, 'wake'>;
  readonly #clock: Clock;

  constructor(deps: { storageDir: string; jobs: Pick<ImportJobs, 'wake'>; clock: Clock }) {
    this.#storageDir = deps.storageDir;
    this.#jobs = deps.jobs;
    this.#clock = deps.clock;
  }

  /**
   * Takes a file from a multipart body: its rows are read later.
   * @throws AppError 400 `bad_file` for a header that does not fit the database, 400, 413, 415; ConflictError
   * `limit_reached`; ValidationError
   */
  async begin(scope: Scope, database: DatabaseRecord, request: IncomingMessage): Promise<ImportRecord> {
    await this.#checkRoom(scope);
    const now = this.#clock.now();
    const _id = newId('imp', now);
    const file = importFile(this.#storageDir, _id);
    try {
      const { name, sizeBytes } = await storeCsvUpload(request, file);
      await checkHeader(database, file);
      const begun = await scope.collection(importCollection).insert({
        ...{ _id, database_id: database._id, name, size_bytes: sizeBytes, status: 'queued', error: null },
        ...{ rows: 0, imported: 0, error_count: 0, attempts: 0, failures: 0, finished_at: null },
        ...{ run_at: new Date(now), lease_until: new Date(0), expires_at: new Date(now + KEPT_MS) },
      });
      this.#jobs.wake();
      return begun;
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  }

  /** A CSV file of all errors: the number of the row, the column, what is wrong. */
  async *errors(scope: Scope, { _id }: ImportRecord): AsyncGenerator<string, void, undefined> {
    yield BYTE_ORDER_MARK + csvLine(['row', 'column', 'problem']);
    for (let last = 0; ;) {
      const page = await scope
        .collection(importErrorCollection)
        .find({ import_id: _id, record: { $gt: last } }, { sort: { record: 1 }, limit: PAGE });
      yield page
        .flatMap(({ record, problems }) => problems.map(({ column, msg }) => csvLine([record, column, msg])))
        .join('');
      if (page.length < PAGE) return;
      last = page.at(-1)!.record;
    }
  }

  async #checkRoom(scope: Scope): Promise<void> {
    const waiting = await scope
      .collection(importCollection)
      .count({ run_at: { $gte: new Date(0) } }, { limit: MAX_WAITING });
    if (waiting >= MAX_WAITING)
      throw new ConflictError(
        'limit_reached',
        `The limit of ${MAX_WAITING} imports at a time in a project is reached. Wait for one to end.`,
      );
  }
}

async function checkHeader(database: DatabaseRecord, file: string): Promise<void> {
  try {
    for await (const header of readCsv(file)) return void columnsOf(database, header);
    throw new BadCsvError('It is empty.');
  } catch (error) {
    throw error instanceof BadCsvError ? badFile(error) : error;
  }
}
