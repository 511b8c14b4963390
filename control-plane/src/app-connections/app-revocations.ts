import type { Model } from 'mongoose';
import { backoffMs } from '@parley/shared/async/backoff';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Database } from '../storage/database.ts';
import { appRevocationCollection } from './app-connection-model.ts';
import type { AppConnectionRecord, AppRevocationRecord } from './app-connection-model.ts';
import { AppVendorError } from './app-vendor-error.ts';
import type { AppVendors } from './app-vendors.ts';

/** How long a vendor is asked that does not answer. */
const KEPT_MS = 24 * 3_600_000;
const BACKOFF = { firstMs: 60_000, maxMs: 3_600_000 };
const AT_ONCE = 50;
const FIRST_TRY_MS = 5000;

/** Tokens that vendors are still to be told to revoke: a connection may be gone before its vendor answers. */
export class AppRevocations {
  readonly #pending: Model<AppRevocationRecord>;
  readonly #box: SecretBox;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #vendors: AppVendors;

  constructor(deps: {
    database: Database;
    box: SecretBox;
    clock: Clock;
    logger: Logger;
    vendors: AppVendors;
  }) {
    this.#pending = deps.database.model(appRevocationCollection);
    this.#box = deps.box;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#vendors = deps.vendors;
  }

  /** Notes a token and tries at once; what fails is tried again by `work`. */
  async add(
    { org_id, app }: Pick<AppConnectionRecord, 'org_id' | 'app'>,
    token: string,
    signal: AbortSignal,
  ): Promise<void> {
    const now = this.#clock.now();
    const revocation = await this.#pending.create({
      _id: newId('apr', now),
      org_id,
      app,
      token: this.#box.encryptSecret(token),
      attempts: 1,
      due_at: new Date(now + backoffMs(0, BACKOFF)),
      expires_at: new Date(now + KEPT_MS),
    });
    const soon = AbortSignal.any([signal, AbortSignal.timeout(FIRST_TRY_MS)]);
    await this.#try(revocation, soon).catch((error: unknown) => {
      if (!soon.aborted) throw error;
    });
  }

  /** Tries what is due. */
  async work(signal: AbortSignal): Promise<void> {
    for (let count = 0; count < AT_ONCE && !signal.aborted; count++) {
      const now = this.#clock.now();
      const due = await this.#pending
        .findOne({ due_at: { $lte: new Date(now) } })
        .lean<AppRevocationRecord>();
      if (!due) return;
      const next = new Date(now + backoffMs(due.attempts, BACKOFF));
      const claimed = await this.#pending
        .findOneAndUpdate(
          { _id: due._id, attempts: due.attempts },
          { $set: { due_at: next }, $inc: { attempts: 1 } },
          { returnDocument: 'after' },
        )
        .lean<AppRevocationRecord>();
      if (claimed) await this.#try(claimed, signal);
    }
  }

  async #try({ _id, app, token, attempts }: AppRevocationRecord, signal: AbortSignal): Promise<void> {
    try {
      await this.#vendors.revoke(app, this.#box.decryptSecret(token), signal);
    } catch (error) {
      if (!(error instanceof AppVendorError)) throw error;
      // A token that the vendor does not know is revoked.
      if (error.fault !== 'refused') {
        this.#logger.warn({ app, attempts, fault: error.fault }, 'app token not revoked yet');
        return;
      }
    }
    await this.#pending.deleteOne({ _id });
  }
}
