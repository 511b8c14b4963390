import { mongo } from 'mongoose';
import { UnavailableError } from '@parley/shared/errors/app-error';

/** The part of the driver's collection that is used. */
export interface InsertTarget {
  insertOne(document: object, options: InsertOptions): Promise<unknown>;
  insertMany(documents: object[], options: InsertOptions & { ordered: false }): Promise<unknown>;
}

interface InsertOptions {
  ignoreUndefined: true;
  timeoutMS: number;
}

interface Waiting {
  document: object;
  resolve(): void;
  reject(error: unknown): void;
}

const MAX_BATCH = 200;
const MAX_WAITING = 10_000;
const OPTIONS: InsertOptions = { ignoreUndefined: true, timeoutMS: 10_000 };

/**
 * Inserts into one collection that share commands: what comes while one is under way waits for its end and goes with
 * the next. An insert resolves once the database has acknowledged it, and fails or succeeds by itself.
 */
export class InsertBatches {
  readonly #target: InsertTarget;
  #waiting: Waiting[] = [];
  #running = false;

  constructor(target: InsertTarget) {
    this.#target = target;
  }

  /** @throws what the driver says of this document alone; UnavailableError when too many wait */
  insert(document: object): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING)
      return Promise.reject(
        new UnavailableError('Too many records wait to be stored. Retry in a few seconds.'),
      );
    return new Promise((resolve, reject) => {
      this.#waiting.push({ document, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) await this.#send(this.#waiting.splice(0, MAX_BATCH));
    this.#running = false;
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 1) return this.#sendAlone(batch[0]!);
    try {
      await this.#target.insertMany(
        batch.map(({ document }) => document),
        { ...OPTIONS, ordered: false },
      );
    } catch (error) {
      const apart = refusedOf(error);
      if (!apart) return batch.forEach(({ reject }) => reject(error));
      for (const [index, one] of batch.entries()) {
        if (apart === 'all' || apart.has(index)) await this.#sendAlone(one);
        else one.resolve();
      }
      return;
    }
    for (const { resolve } of batch) resolve();
  }

  async #sendAlone({ document, resolve, reject }: Waiting): Promise<void> {
    await this.#target.insertOne(document, OPTIONS).then(resolve, reject);
  }
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
