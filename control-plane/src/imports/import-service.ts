import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { ConflictError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { BadCsvError, readCsv } from '../csv-imports/csv-records.ts';
import { badFile, importPath, storeCsvUpload } from '../csv-imports/csv-upload.ts';
import { csvLine, BYTE_ORDER_MARK } from '../exports/csv.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { ImportJobs } from './import-jobs.ts';
import { importCollection, importErrorCollection } from './import-model.ts';
import type { ImportRecord, ImportTarget } from './import-record.ts';

/** Of a project, or of the org alone, at work or waiting. */
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

/** What a file is imported into, and how. */
export interface ImportOrder {
  /** Of what it is imported into. */
  projectId: string | null;
  target: Partial<Record<ImportTarget, string>>;
  /** Text fields that may come beside the file. */
  fields: readonly string[];
  /** @returns what the fields say @throws BadCsvError for a header that does not fit; ValidationError */
  check(
    header: readonly string[],
    fields: Record<string, string>,
  ): Pick<ImportRecord, 'default_country' | 'on_duplicate'>;
}

/** Files that become rows, contacts and recipients. */
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
   * Takes a file from a multipart body: its records are read later.
   * @throws AppError 400 `bad_file` for a header that does not fit, 400, 413, 415; ConflictError `limit_reached`;
   * ValidationError
   */
  async begin(
    scope: Scope,
    caller: Principal,
    request: IncomingMessage,
    { projectId, target, fields: known, check }: ImportOrder,
  ): Promise<ImportRecord> {
    await this.#checkRoom(scope, projectId);
    const now = this.#clock.now();
    const _id = newId('imp', now);
    const file = importFile(this.#storageDir, _id);
    try {
      const { name, sizeBytes, fields } = await storeCsvUpload(request, file, known);
      const how = check(await headerOf(file), fields);
      const begun = await scope.collection(importCollection).insert({
        project_id: projectId,
        ...{ database_id: null, campaign_id: null, recipient_list_id: null, ...target, ...how },
        ...{
          _id,
          created_by: principalId(caller),
          name,
          size_bytes: sizeBytes,
          status: 'queued',
          error: null,
        },
        ...{ rows: 0, imported: 0, updated: 0, skipped: 0, error_count: 0, attempts: 0, failures: 0 },
        ...{ finished_at: null, run_at: new Date(now), lease_until: new Date(0) },
        expires_at: new Date(now + KEPT_MS),
      });
      this.#jobs.wake();
      return begun;
    } catch (error) {
      await rm(file, { force: true });
      throw error instanceof BadCsvError ? badFile(error) : error;
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

  async #checkRoom(scope: Scope, projectId: string | null): Promise<void> {
    const waiting = await scope
      .collection(importCollection)
      .count({ project_id: projectId, run_at: { $gte: new Date(0) } }, { limit: MAX_WAITING });
    if (waiting >= MAX_WAITING)
      throw new ConflictError(
        'limit_reached',
        `The limit of ${MAX_WAITING} imports at a time in a project is reached. Wait for one to end.`,
      );
  }
}

async function headerOf(file: string): Promise<string[]> {
  for await (const header of readCsv(file)) return header;
  throw new BadCsvError('It is empty.');
}
