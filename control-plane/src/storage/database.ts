import mongoose from 'mongoose';
import type { Connection, Model, mongo, QueryFilter } from 'mongoose';
import { ConfigError } from '@parley/shared/errors/config-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Collection, StoredRecord } from './collection.ts';
import { insertBatches } from './insert-batches.ts';
import { newRecord, type NewFields } from './new-record.ts';
import { readBatches, type ReadTarget } from './read-batches.ts';

/** One MongoDB (or embedded store) connection. Features reach it through a `Scope`, platform jobs through `model`. */
export class Database {
  readonly #connection: Connection;
  readonly #inserts = new Map<string, ReturnType<typeof insertBatches>>();
  readonly #reads = new Map<string, ReturnType<typeof readBatches>>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Unscoped: for what has no tenant, and for the platform's own work on records whose tenant is already known. */
  model<T extends StoredRecord>(collection: Collection<T>): Model<T> {
    const known = this.#connection.models[collection.name];
    return (known ?? this.#connection.model(collection.name, collection.schema)) as unknown as Model<T>;
  }

  /**
   * Stores a new record of a collection without nested fields, as `model(…).create` does for a fraction of the cost.
   * @returns it whole, once the database has acknowledged it
   * @throws MongoServerError 11000 when a unique index refuses it
   */
  async insert<T extends StoredRecord>(collection: Collection<T>, fields: NewFields<T>): Promise<T> {
    const record = newRecord(collection, fields);
    let batches = this.#inserts.get(collection.name);
    if (!batches) {
      batches = insertBatches(this.model(collection).collection);
      this.#inserts.set(collection.name, batches);
    }
    await batches.add(record);
    return record;
  }

  /**
   * The record of this id, unscoped as `model` is, for a fraction of what `findOne` costs where many are read at once.
   * It is read after the call, and nobody else holds it.
   */
  async read<T extends StoredRecord>(collection: Collection<T>, id: string): Promise<T | null> {
    let batches = this.#reads.get(collection.name);
    if (!batches) {
      batches = readBatches(this.model(collection).collection as unknown as ReadTarget);
      this.#reads.set(collection.name, batches);
    }
    return (await batches.add(id)) as T | null;
  }

  /**
   * Sets fields of one record, as `model(…).findOneAndUpdate` does for a fraction of the cost: nothing is cast, and what is undefined
   * stays. Unscoped as `model` is.
   * @param where what the driver understands: dates, not numbers or texts that stand for some
   * @param set fields, or paths of theirs
   * @returns the record as it is then; null when there is none
   */
  async change<T extends StoredRecord>(
    collection: Collection<T>,
    where: QueryFilter<T>,
    set: Record<string, unknown>,
  ): Promise<T | null> {
    const target = this.model(collection).collection;
    return (await target.findOneAndUpdate(
      where as mongo.Filter<mongo.Document>,
      { $set: { ...set, updated_at: new Date() } },
      { returnDocument: 'after', includeResultMetadata: false, ignoreUndefined: true },
    )) as T | null;
  }

  /** Creates what indexes are missing, and drops what hinders. Unique ones hold rules, so a start without them must fail. */
  async ensureIndexes(collections: readonly Collection<StoredRecord>[]): Promise<void> {
    await Promise.all(
      collections.map(async (collection) => {
        const model = this.model(collection);
        const indexes = collection.schema.indexes();
        // Else the first index makes the collection.
        if (indexes.length === 0 || collection.droppedIndexes.length > 0) await model.createCollection();
        for (const index of collection.droppedIndexes)
          await model.collection.dropIndex(index).catch((error: unknown) => {
            if (!isIndexNotFound(error)) throw error;
          });
        // One command for all of them, where Mongoose sends one for each.
        if (indexes.length > 0)
          await model.collection.createIndexes(
            indexes.map(([key, options]) => ({ key, ...options }) as mongo.IndexDescription),
          );
      }),
    );
  }

  /** One write. @throws what the driver says, code 14031 when the database's disk is full */
  async checkWrites(): Promise<void> {
    if (!this.#connection.db) throw new Error('The database is not connected.');
    await this.#connection.db
      .collection<{ _id: string }>('write_checks')
      .updateOne({ _id: 'readiness' }, { $set: { at: new Date() } }, { upsert: true, timeoutMS: 2000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
  }
}

/** MongoDB's error 27. */
function isIndexNotFound(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 27;
}

/** @throws ConfigError when no server answers within ten seconds (or as long as `uri` says), or it refuses these credentials */
export async function openDatabase(uri: string, { logger }: { logger: Logger }): Promise<Database> {
  const connection = mongoose.createConnection();
  connection.on('error', (error: Error) => logger.warn({ err: error }, 'database connection failed'));
  try {
    await connection.openUri(uri, {
      ...(uri.includes('serverSelectionTimeoutMS=') ? {} : { serverSelectionTimeoutMS: 10_000 }),
      maxPoolSize: 50,
      autoIndex: false,
      bufferCommands: false,
    });
  } catch (error) {
    await connection.destroy();
    const what = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`MONGODB_URI: MongoDB cannot be used: ${what}`], { cause: error });
  }
  return new Database(connection);
}

/** One that no query may be sent to: for who needs collections and no records. */
export function unconnectedDatabase(): Database {
  return new Database(mongoose.createConnection());
}
