import { mongo } from 'mongoose';
import { Batches, done } from '@parley/shared/async/batches';

/** The part of the driver's collection that is used. */
export interface InsertTarget {
  insertOne(document: object, options: InsertOptions): Promise<unknown>;
  insertMany(documents: object[], options: InsertOptions & { ordered: false }): Promise<unknown>;
}

interface InsertOptions {
  ignoreUndefined: true;
  timeoutMS: number;
}

const MAX_BATCH = 200;
const OPTIONS: InsertOptions = { ignoreUndefined: true, timeoutMS: 10_000 };

/**
 * Inserts into one collection that share commands. One resolves once the database has acknowledged it, and fails by
 * itself with what the driver says of this document alone.
 */
export function insertBatches(target: InsertTarget): Batches<object, void> {
  const alone = async (document: object): Promise<PromiseSettledResult<void>> => {
    const [result] = await Promise.allSettled([target.insertOne(document, OPTIONS)]);
    return result.status === 'rejected' ? result : done(undefined);
  };
  return new Batches({
    maxBatch: MAX_BATCH,
    async send(documents) {
      if (documents.length === 1) return [await alone(documents[0]!)];
      let refused: ReadonlySet<number> | 'all' | undefined;
      try {
        await target.insertMany(documents, { ...OPTIONS, ordered: false });
      } catch (error) {
        refused = refusedOf(error);
        if (!refused) throw unwrapped(error);
      }
      return Promise.all(
        documents.map((document, index) =>
          refused === 'all' || refused?.has(index) ? alone(document) : done(undefined),
        ),
      );
    },
  });
}

/**
 * The documents of a failed batch that were certainly not stored, by their number. Sent again alone, each gets an error
 * of its own, which names the index that refused it: `insertMany` does not.
 * @returns undefined when nobody knows what was stored
 */
function refusedOf(error: unknown): ReadonlySet<number> | 'all' | undefined {
  // Of the encoder, before anything was sent.
  if (!(error instanceof mongo.MongoError) || error instanceof mongo.MongoInvalidArgumentError) return 'all';
  if (!(error instanceof mongo.MongoBulkWriteError) || error.result.getWriteConcernError()) return undefined;
  const refused = [error.writeErrors].flat();
  return refused.length === 0 ? undefined : new Set(refused.map(({ index }) => index));
}

/** The driver hides a broken connection in an error without a code, which nobody would know for one. */
function unwrapped(error: unknown): unknown {
  if (!(error instanceof mongo.MongoBulkWriteError) || error.code !== undefined) return error;
  return new mongo.MongoNetworkError(error.message, { cause: error });
}
