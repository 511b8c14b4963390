import type { Clock } from '@parley/shared/time/clock';
import { toNano } from '../billing/money.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { accountSpendCollection } from './account-spend-model.ts';
import type { TelephonyAccountRecord } from './telephony-account-record.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** A session may be booked again for so long. */
const KEPT_MS = 3 * DAY_MS;

/** What the calls of accounts cost in a day (UTC), against the limits that the accounts have. */
export class AccountSpend {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Counts a call that is over, once, however often it is booked; one that a process died over may be left out. */
  async add(
    session: { _id: string; org_id: string; telephony_account_id: string | null },
    amount: bigint,
  ): Promise<void> {
    const { _id, org_id, telephony_account_id: accountId } = session;
    if (accountId === null || amount <= 0n) return;
    const expires_at = new Date(this.#clock.now() + KEPT_MS);
    try {
      await this.#database.insert(accountSpendCollection, { _id, org_id, amount_nano: amount, expires_at });
    } catch (error) {
      if (isDuplicateKey(error)) return;
      throw error;
    }
    await this.#database
      .model(accountSpendCollection)
      .updateOne(
        { _id: this.#today(accountId) },
        { $inc: { amount_nano: amount }, $setOnInsert: { org_id, expires_at } },
        { upsert: true },
      );
  }

  /** When an account may spend again that has reached its limit of today, ms since the epoch; null: it may now. */
  async reachedUntil(
    account: Pick<TelephonyAccountRecord, '_id' | 'daily_spend_limit_amount'>,
  ): Promise<number | null> {
    const limit = account.daily_spend_limit_amount ?? null;
    if (limit === null) return null;
    const spent = await this.#database.read(accountSpendCollection, this.#today(account._id));
    if (!spent || BigInt(spent.amount_nano) < toNano(limit)) return null;
    return (Math.floor(this.#clock.now() / DAY_MS) + 1) * DAY_MS;
  }

  #today(accountId: string): string {
    return `${accountId}:${new Date(this.#clock.now()).toISOString().slice(0, 10)}`;
  }
}
