import type { Model } from 'mongoose';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { Scope } from '../tenancy/scope.ts';
import { databaseCollection, databaseRowCollection } from './database-model.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';
import type { Condition } from './row-filters.ts';
import { checkValues, numbersIn, rowContent } from './row-values.ts';

export const ROWS_PER_DATABASE = 1_000_000;
const ERASED_AT_ONCE = 500;
/** However much is written meanwhile: counting a million rows costs. */
const RECOUNT_AFTER_MS = 600_000;

type Values = DatabaseRowRecord['values'];
/** A row that is to be made. */
export interface NewRow {
  /** Of a row that must not come twice; others get one. */
  id?: string;
  values: Values;
  source: DatabaseRowRecord['source'];
  session_id?: string;
  agent_id?: string | null;
  /** Whom it is about, besides the numbers in its values. */
  subjects?: readonly string[];
}

/** Writes rows, and counts them. */
export class RowStore {
  readonly #database: Database;
  readonly #rows: Model<DatabaseRowRecord>;
  readonly #clock: Clock;
  readonly #limit: number;

  constructor(deps: { database: Database; clock: Clock; rowsPerDatabase?: number }) {
    this.#database = deps.database;
    this.#rows = deps.database.model(databaseRowCollection);
    this.#clock = deps.clock;
    this.#limit = deps.rowsPerDatabase ?? ROWS_PER_DATABASE;
  }

  /**
   * A row of a client's values.
   * @throws ValidationError; ConflictError `limit_reached`
   */
  async create(database: DatabaseRecord, sent: Values): Promise<DatabaseRowRecord> {
    const values = checkValues(database.columns, sent, ['body', 'values']);
    const [row] = await this.insert(database, [{ values, source: 'api' }]);
    return row!;
  }

  /**
   * Stores rows whose values were checked. One whose id there is already is left out: it was made before.
   * @throws ConflictError `limit_reached`, having stored none; NotFoundError when the database is gone
   */
  async insert(database: DatabaseRecord, rows: readonly NewRow[]): Promise<DatabaseRowRecord[]> {
    await this.#reserve(database, rows.length);
    // Each to its end: what was stored is counted, whatever became of the others.
    const results = await Promise.allSettled(rows.map((row) => this.#insertOne(database, row)));
    const stored = results.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
    await this.#count(database, stored.length - rows.length);
    const failed = results.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return stored;
  }

  async #insertOne(database: DatabaseRecord, row: NewRow): Promise<DatabaseRowRecord | null> {
    const now = this.#clock.now();
    const _id = row.id ?? newId('dbr', now);
    const content = rowContent(database, _id, row.values);
    try {
      return await this.#database.insert(databaseRowCollection, {
        _id,
        org_id: database.org_id,
        project_id: database.project_id,
        database_id: database._id,
        session_id: row.session_id ?? null,
        agent_id: row.agent_id ?? null,
        source: row.source,
        ...content,
        subjects: distinct([...(row.subjects ?? []), ...numbersIn(database.columns, content.values)]),
        created_at: new Date(now),
      });
    } catch (error) {
      if (row.id !== undefined && isDuplicateKey(error, '_id')) return null;
      throw error;
    }
  }

  /**
   * Counts rows in a range of one ordered field, up to `limit`. The index of that field says by the database alone
   * whose they are: asked for more, the rows themselves would be read.
   */
  countRange({ _id }: Pick<DatabaseRecord, '_id'>, range: Condition, limit: number): Promise<number> {
    return this.#rows.countDocuments({ database_id: _id, ...range }, { limit });
  }

  /** Values that are sent take the place of those there are; null removes one. @throws ValidationError */
  update(
    scope: Scope,
    database: DatabaseRecord,
    row: DatabaseRowRecord,
    sent: Values,
  ): Promise<DatabaseRowRecord> {
    const changed = checkValues(database.columns, sent, ['body', 'values']);
    return scope.collection(databaseRowCollection).change(row, ['values'], (current) => {
      const content = rowContent(database, row._id, { ...current.values, ...changed });
      const before = numbersIn(database.columns, current.values);
      const subjects = [
        ...current.subjects.filter((subject) => !before.includes(subject)),
        ...numbersIn(database.columns, content.values),
      ];
      return Promise.resolve({ ...content, subjects: distinct(subjects) });
    });
  }

  async delete(scope: Scope, row: DatabaseRowRecord): Promise<void> {
    await this.#recountLater([row.database_id]);
    const gone = await scope.collection(databaseRowCollection).delete({ _id: row._id });
    if (!gone) throw new NotFoundError();
    await this.#count({ _id: row.database_id }, -1);
  }

  /** Removes the rows of a session. @returns how many there were */
  forgetSession(sessionId: string): Promise<number> {
    return this.#forget({ session_id: sessionId });
  }

  /** Removes the rows about a person, in one project. @returns how many there were */
  forgetSubject(scope: Scope, subject: string): Promise<number> {
    return this.#forget({ org_id: scope.orgId, project_id: scope.projectId, subjects: subject });
  }

  async #forget(
    which: { session_id: string } | { org_id: string; project_id: string; subjects: string },
  ): Promise<number> {
    let removed = 0;
    for (;;) {
      const page = await this.#rows
        .find(which)
        .select({ database_id: 1 })
        .limit(ERASED_AT_ONCE)
        .lean<Pick<DatabaseRowRecord, '_id' | 'database_id'>[]>();
      const databaseIds = distinct(page.map((row) => row.database_id));
      await this.#recountLater(databaseIds);
      for (const databaseId of databaseIds) {
        const ids = page.filter((row) => row.database_id === databaseId).map(({ _id }) => _id);
        const { deletedCount } = await this.#rows.deleteMany({ _id: { $in: ids } });
        await this.#count({ _id: databaseId }, -deletedCount);
        removed += deletedCount;
      }
      if (page.length < ERASED_AT_ONCE) return removed;
    }
  }

  /** Takes room for rows before they are written. */
  async #reserve(database: DatabaseRecord, rows: number): Promise<void> {
    const room = { _id: database._id, row_count: { $lte: this.#limit - rows } };
    const databases = this.#database.model(databaseCollection);
    const change = { $inc: { row_count: rows }, $min: { recount_at: this.#recountAt() } };
    const { matchedCount } = await databases.updateOne(room, change, { timestamps: false });
    if (matchedCount > 0) return;
    if (!(await databases.exists({ _id: database._id }))) throw new NotFoundError();
    throw new ConflictError(
      'limit_reached',
      `The limit of ${this.#limit} rows in a database is reached. Delete some first.`,
    );
  }

  /** Before rows go: this process may die before it has counted that. */
  async #recountLater(databaseIds: readonly string[]): Promise<void> {
    if (databaseIds.length === 0) return;
    await this.#database
      .model(databaseCollection)
      .updateMany(
        { _id: { $in: databaseIds } },
        { $min: { recount_at: this.#recountAt() } },
        { timestamps: false },
      );
  }

  #recountAt(): Date {
    return new Date(this.#clock.now() + RECOUNT_AFTER_MS);
  }

  async #count({ _id }: Pick<DatabaseRecord, '_id'>, rows: number): Promise<void> {
    if (rows === 0) return;
    await this.#database
      .model(databaseCollection)
      .updateOne({ _id }, { $inc: { row_count: rows } }, { timestamps: false });
  }
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)];
}
