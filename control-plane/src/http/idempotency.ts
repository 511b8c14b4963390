import { createHash } from 'node:crypto';
import type { Clock } from '@parley/shared/time/clock';
import { ConflictError } from '@parley/shared/errors/app-error';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { invalid } from './validation.ts';

const LEASE_MS = 60_000;
const KEPT_MS = 24 * 3_600_000;

interface IdempotencyRecord extends StoredRecord {
  /** SHA-256 of the request's body. */
  digest: string;
  /** Status of the first answer; null while the first request runs. */
  status: number | null;
  /** JSON text, secrets blanked. */
  body: string | null;
  /** The request that runs, and until when no other may run. */
  owner: string;
  leased_until: Date;
  expires_at: Date;
}

export const idempotencyCollection = defineCollection<IdempotencyRecord, 'none'>({
  name: 'idempotency_keys',
  tenancy: 'none',
  fields: {
    digest: { type: String, required: true },
    status: { type: Number, default: null },
    body: { type: String, default: null },
    owner: { type: String, required: true },
    leased_until: { type: Date, required: true },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});

export interface StoredAnswer {
  status: number;
  /** JSON text. */
  body: string;
}

/** The first answer to a request, given again to its repetitions (resources 1.7). */
export class IdempotencyStore {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /**
   * @param id what makes the request unique: scope, method, path and key
   * @param owner the request's own id
   * @returns the first answer, or null when this request is the first and must `finish` or `release`
   * @throws ConflictError `idempotency_key_reused`, `idempotency_in_progress`
   */
  async begin(id: string, body: Buffer, owner: string): Promise<StoredAnswer | null> {
    const digest = createHash('sha256').update(body).digest('hex');
    const now = this.#clock.now();
    const model = this.#database.model(idempotencyCollection);
    const claim = {
      digest,
      status: null,
      body: null,
      owner,
      leased_until: new Date(now + LEASE_MS),
      expires_at: new Date(now + KEPT_MS),
    };
    try {
      await model.create({ _id: id, ...claim });
      return null;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    // The TTL monitor deletes late, and a request that died leaves its lease behind.
    const free = [
      { expires_at: { $lte: new Date(now) } },
      { digest, status: null, leased_until: { $lte: new Date(now) } },
    ];
    const taken = await model.findOneAndUpdate({ _id: id, $or: free }, { $set: claim }).lean();
    if (taken) return null;
    const known = await model.findOne({ _id: id }).lean<IdempotencyRecord>();
    if (known && known.digest !== digest) {
      throw new ConflictError(
        'idempotency_key_reused',
        'This Idempotency-Key was already used with a different request.',
      );
    }
    if (!known || known.status === null || known.body === null) {
      throw new ConflictError(
        'idempotency_in_progress',
        'The first request with this Idempotency-Key is still in progress. Retry in a few seconds.',
        {
          retryAfterSeconds: 1,
        },
      );
    }
    return { status: known.status, body: known.body };
  }

  async finish(id: string, owner: string, answer: StoredAnswer): Promise<void> {
    await this.#database.model(idempotencyCollection).updateOne({ _id: id, owner }, { $set: { ...answer } });
  }

  /** Releases the key: the request failed in a way that may be tried again. */
  async release(id: string, owner: string): Promise<void> {
    await this.#database.model(idempotencyCollection).deleteOne({ _id: id, owner, status: null });
  }
}

/** @throws ValidationError unless 1 to 255 visible ASCII characters */
export function parseIdempotencyKey(header: string | undefined, required: boolean): string | null {
  if (header === undefined) {
    if (required) throw invalid(['header', 'Idempotency-Key'], 'Field required', 'missing');
    return null;
  }
  if (!/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw invalid(
      ['header', 'Idempotency-Key'],
      'must be 1 to 255 visible ASCII characters',
      'string_pattern_mismatch',
    );
  }
  return header;
}

export function idempotencyId(scope: string, method: string, path: string, key: string): string {
  return createHash('sha256').update([scope, method, path, key].join('\n')).digest('hex');
}

/** A copy in which the fields of these names are null. */
export function blankSecrets(value: unknown, names: readonly string[]): unknown {
  if (names.length === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => blankSecrets(entry, names));
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      names.includes(key) ? null : blankSecrets(entry, names),
    ]),
  );
}
