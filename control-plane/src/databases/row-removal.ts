import type { Model } from 'mongoose';
import type { Clock } from '@parley/shared/time/clock';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { databaseRowCollection } from './database-model.ts';
import type { DatabaseRowRecord } from './database-model.ts';

/** A database that was deleted and may still have rows; `_id` is its id. */
type RemovedDatabaseRecord = StoredRecord;

export const removedDatabaseCollection = defineCollection<RemovedDatabaseRecord, 'none'>({
  name: 'removed_databases',
  tenancy: 'none',
  fields: {},
  indexes: [[{ created_at: 1 }]],
});

/** Rows deleted by one command: others wait no longer for the database. */
const AT_ONCE = 500;
/** What a request removes itself; more is left to the worker. */
const AT_MOST_NOW = 2000;
/** A row that was being written while the database went is there by then. */
const SETTLED_AFTER_MS = 60_000;
const PAGE = 100;

/** Removes the rows of deleted databases, however many: noted before the database goes, so that no crash leaves any. */
export class RowRemoval {
  readonly #removed: Model<RemovedDatabaseRecord>;
  readonly #rows: Model<DatabaseRowRecord>;
  readonly #clock: Clock;

  constructor(deps: { database: Database; clock: Clock }) {
    this.#removed = deps.database.model(removedDatabaseCollection);
    this.#rows = deps.database.model(databaseRowCollection);
    this.#clock = deps.clock;
  }

  async begin(databaseId: string): Promise<void> {
    await this.#removed.updateOne(
      { _id: databaseId },
      { $setOnInsert: { created_at: new Date(this.#clock.now()) } },
      { upsert: true },
    );
  }

  /** Removes what there is of a small database; the worker does the rest. */
  async remove(databaseId: string): Promise<void> {
    for (let removed = 0; removed < AT_MOST_NOW; removed += AT_ONCE)
      if ((await this.#chunk(databaseId)) < AT_ONCE) return;
  }

  /** One round over all that were deleted. */
  async sweep(signal: AbortSignal): Promise<void> {
    const noted = await this.#removed.find().sort({ created_at: 1 }).limit(PAGE).lean();
    for (const { _id, created_at } of noted) {
      while (!signal.aborted) if ((await this.#chunk(_id)) < AT_ONCE) break;
      if (signal.aborted) return;
      if (created_at.getTime() < this.#clock.now() - SETTLED_AFTER_MS) await this.#removed.deleteOne({ _id });
    }
  }

  async #chunk(databaseId: string): Promise<number> {
    const rows = await this.#rows
      .find({ database_id: databaseId })
      .select({ _id: 1 })
      .limit(AT_ONCE)
      .lean<{ _id: string }[]>();
    if (rows.length > 0) await this.#rows.deleteMany({ _id: { $in: rows.map(({ _id }) => _id) } });
    return rows.length;
  }
}
