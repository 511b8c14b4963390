import type { Model, UpdateQuery } from 'mongoose';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { databaseCollection, databaseRowCollection } from './database-model.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';

/** Writers that took room before are done with it, or dead. */
const SETTLED_AFTER_MS = 60_000;
const AT_ONCE = 20;
const SETTLED = { $unset: { recount_at: 1, recounted: 1 } } as const;

type Counted = Pick<DatabaseRecord, '_id' | 'row_count'>;

/**
 * Puts `row_count` right where a process died between a row and its count. Rows are counted some time after a database
 * was written to, twice: only what nobody changed in between is corrected.
 */
export class RowCounts {
  readonly #databases: Model<DatabaseRecord>;
  readonly #rows: Model<DatabaseRowRecord>;
  readonly #clock: Clock;

  constructor(deps: { database: Database; clock: Clock }) {
    this.#databases = deps.database.model(databaseCollection);
    this.#rows = deps.database.model(databaseRowCollection);
    this.#clock = deps.clock;
  }

  /** One round over all that are due. */
  async sweep(signal: AbortSignal): Promise<void> {
    const due = await this.#databases
      .find({ recount_at: { $lte: new Date(this.#clock.now()) } })
      .sort({ recount_at: 1 })
      .limit(AT_ONCE)
      .lean<DatabaseRecord[]>();
    for (const database of due) {
      if (signal.aborted) return;
      const rows = await this.#rows.countDocuments({ database_id: database._id });
      if (rows === database.row_count) await this.#update(database, SETTLED);
      else if (isSame(database.recounted, { rows, row_count: database.row_count }))
        await this.#update(database, { $set: { row_count: rows }, ...SETTLED });
      else
        await this.#update(database, {
          $set: {
            recount_at: new Date(this.#clock.now() + SETTLED_AFTER_MS),
            recounted: { rows, row_count: database.row_count },
          },
        });
    }
  }

  /** Unless rows came or went since. */
  async #update({ _id, row_count }: Counted, update: UpdateQuery<DatabaseRecord>): Promise<void> {
    await this.#databases.updateOne({ _id, row_count }, update, { timestamps: false });
  }
}

function isSame(before: DatabaseRecord['recounted'], now: NonNullable<DatabaseRecord['recounted']>): boolean {
  return before?.rows === now.rows && before.row_count === now.row_count;
}
