import type { mongo } from 'mongoose';
import { PaymentRequiredError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { toNano } from './money.ts';
import { walletCollection, walletEntryCollection } from './wallet-model.ts';
import type { WalletChange, WalletRecord } from './wallet-model.ts';

/** Each loss of a race is somebody else's change to the same wallet. */
const MAX_ATTEMPTS = 100;
/** Whole numbers of 64 bits are read as bigints. */
const EXACT = { useBigInt64: true } as const;
const AVAILABLE = { $subtract: ['$balance_nano', '$reserved_nano'] };

type Update = mongo.UpdateFilter<WalletRecord>;

/**
 * The money of orgs. A wallet is one record, and each change of it is one atomic write: what is set aside for a session
 * is a hold in it, and booking the session removes the hold and lowers the balance in one step. So whoever repeats a
 * booking, at the same time or after a crash, finds no hold and takes nothing.
 */
export class Wallets {
  readonly #wallets: mongo.Collection<WalletRecord>;
  readonly #database: Database;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#wallets = database.model(walletCollection).collection as unknown as mongo.Collection<WalletRecord>;
    this.#database = database;
    this.#clock = clock;
  }

  /** @returns null for an org that nobody has given a wallet: its calls are not limited */
  find(orgId: string): Promise<WalletRecord | null> {
    return this.#wallets.findOne({ _id: orgId }, EXACT);
  }

  /**
   * Sets an amount aside, if the wallet is prepaid; again for the same id changes nothing.
   * @param id of what is to be paid
   * @throws PaymentRequiredError when less than that, or nothing, is available
   */
  async hold(orgId: string, id: string, amount: () => Promise<bigint>): Promise<void> {
    if ((await this.#database.read(walletCollection, orgId))?.mode !== 'prepaid') return;
    const least = await amount();
    const path = `holds.${id}`;
    const held = await this.#change(
      {
        _id: orgId,
        mode: 'prepaid',
        [path]: { $exists: false },
        $expr: { $and: [{ $gt: [AVAILABLE, 0n] }, { $gte: [AVAILABLE, least] }] },
      },
      { $inc: { reserved_nano: least }, $set: { [path]: { amount: least, at: this.#now() } } },
    );
    if (held) return;
    const wallet = await this.find(orgId);
    if (wallet?.mode === 'prepaid' && !wallet.holds[id]) throw new PaymentRequiredError();
  }

  /** Sets more aside for what is held, as it costs more: whatever the balance is, since it runs already. */
  raise(orgId: string, id: string, amount: bigint): Promise<void> {
    return this.#onHold(orgId, id, (held) =>
      held >= amount
        ? null
        : { $inc: { reserved_nano: amount - held }, $set: { [`holds.${id}.amount`]: amount } },
    );
  }

  /** Lets a hold go: nothing was spent. */
  release(orgId: string, id: string): Promise<void> {
    return this.#onHold(orgId, id, (held) => ({
      $inc: { reserved_nano: -held },
      $unset: { [`holds.${id}`]: '' },
    }));
  }

  /** Takes off the balance what was spent, for what is held; again for the same id takes nothing. */
  async settle(
    orgId: string,
    id: string,
    kind: 'call' | 'speech' | 'voice_clone',
    amount: bigint,
  ): Promise<void> {
    const wallet = await this.#wallets.findOne<Partial<Pick<WalletRecord, 'holds' | 'pending'>>>(
      { _id: orgId },
      { ...EXACT, projection: { [`holds.${id}`]: 1, pending: 1 } },
    );
    if (!wallet?.holds?.[id] && !wallet?.pending?.length) return;
    await this.#onHold(orgId, id, (held) => ({
      $inc: { reserved_nano: -held, balance_nano: -amount, revision: 1 },
      $unset: { [`holds.${id}`]: '' },
      ...(amount > 0n && { $push: { pending: this.#entry(kind, id, -amount) } }),
    }));
    await this.#fileEntries(orgId);
  }

  /**
   * @param least what must be available; of another currency than the wallet's it says nothing
   * @throws PaymentRequiredError where the wallet is prepaid and nothing, or less than that, is available
   */
  async requireFunds(orgId: string, least?: { amount: string; currency: string }): Promise<void> {
    const wallet = await this.find(orgId);
    if (wallet?.mode !== 'prepaid') return;
    const available = wallet.balance_nano - wallet.reserved_nano;
    const needed = least?.currency === wallet.currency ? toNano(least.amount) : 0n;
    if (available <= 0n || available < needed) throw new PaymentRequiredError();
  }

  /** Takes off the balance of a prepaid wallet what nothing was set aside for, whatever the balance is. */
  async charge(orgId: string, id: string, kind: 'chat', amount: bigint): Promise<void> {
    if (amount <= 0n) return;
    const charged = await this.#change(
      { _id: orgId, mode: 'prepaid' },
      {
        $inc: { balance_nano: -amount, revision: 1 },
        $push: { pending: this.#entry(kind, id, -amount) },
      },
    );
    if (charged) await this.#fileEntries(orgId);
  }

  /**
   * Raises the balance, once for each reference.
   * @param currency of a wallet that is made by this
   * @returns whether it was done now; false: the same reference was used before
   */
  async topUp(
    orgId: string,
    topUp: { reference: string; amount: bigint; currency: string },
  ): Promise<boolean> {
    const { reference, amount, currency } = topUp;
    await this.#ensure(orgId, currency);
    const change = this.#entry('top_up', reference, amount);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      // The wallet is read before the ledger: whoever adds this reference afterwards raises the revision.
      const wallet = (await this.find(orgId))!;
      const isPending = wallet.pending.some(({ id }) => id === change.id);
      const isFiled = await this.#database
        .model(walletEntryCollection)
        .exists({ _id: `${orgId}:${change.id}` });
      const isKnown = isPending || isFiled !== null;
      const isRaised =
        !isKnown &&
        (await this.#change(
          { _id: orgId, revision: wallet.revision },
          {
            $inc: { balance_nano: amount, revision: 1 },
            $push: { pending: change },
          },
        )) !== null;
      if (!isKnown && !isRaised) continue;
      await this.#fileEntries(orgId);
      return isRaised;
    }
    throw new Error('The wallet was changed by others all the time. Try again.');
  }

  /** @param currency of a wallet that is made by this */
  async configure(
    orgId: string,
    change: Partial<Pick<WalletRecord, 'mode' | 'low_balance_nano'>>,
    currency: string,
  ): Promise<void> {
    await this.#ensure(orgId, currency);
    await this.#change({ _id: orgId }, { $set: change });
  }

  /** A wallet that is in another currency than this; null when there is none. */
  otherCurrency(currency: string, orgId?: string): Promise<{ _id: string; currency: string } | null> {
    return this.#wallets.findOne({ currency: { $ne: currency }, ...(orgId !== undefined && { _id: orgId }) });
  }

  /**
   * Lets go what processes held that died before there was a session.
   * @param isKnown whether somebody else will settle it
   */
  async sweep(
    beforeMs: number,
    isKnown: (id: string) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<void> {
    for await (const { _id: orgId, holds, pending } of this.#wallets.find()) {
      if (pending.length > 0) await this.#fileEntries(orgId);
      for (const [id, { at }] of Object.entries(holds)) {
        if (signal.aborted) return;
        if (at.getTime() < beforeMs && !(await isKnown(id))) await this.release(orgId, id);
      }
    }
  }

  async #ensure(orgId: string, currency: string): Promise<void> {
    const now = this.#now();
    const fresh = { mode: 'unlimited' as const, currency, low_balance_nano: null, revision: 0 };
    try {
      await this.#wallets.updateOne(
        { _id: orgId },
        {
          $setOnInsert: {
            ...fresh,
            ...{ org_id: orgId, balance_nano: 0n, reserved_nano: 0n, holds: {}, pending: [] },
            ...{ created_at: now, updated_at: now },
          },
        },
        { upsert: true },
      );
    } catch (error) {
      if (!isDuplicateKey(error, '_id')) throw error;
    }
  }

  /** Changes a wallet by a hold of it, if it has that; computed again when the hold has changed meanwhile. */
  async #onHold(orgId: string, id: string, update: (held: bigint) => Update | null): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const wallet = await this.#wallets.findOne<Partial<Pick<WalletRecord, 'holds'>>>(
        { _id: orgId },
        { ...EXACT, projection: { [`holds.${id}`]: 1 } },
      );
      const held = wallet?.holds?.[id]?.amount;
      const change = held === undefined ? null : update(held);
      if (!change) return;
      if (await this.#change({ _id: orgId, [`holds.${id}.amount`]: held! }, change)) return;
    }
    throw new Error('A hold was changed by others all the time.');
  }

  /** @returns null when the filter does not hold */
  #change(filter: mongo.Filter<WalletRecord>, update: Update): Promise<WalletRecord | null> {
    const set = { ...update.$set, updated_at: this.#now() };
    return this.#wallets.findOneAndUpdate(filter, { ...update, $set: set } as Update, {
      ...EXACT,
      returnDocument: 'after',
      includeResultMetadata: false,
    });
  }

  /** Moves what is pending to the ledger, where each change has one place, however often it is filed. */
  async #fileEntries(orgId: string): Promise<void> {
    const wallet = await this.find(orgId);
    if (!wallet || wallet.pending.length === 0) return;
    for (const { at, id, ...change } of wallet.pending) {
      try {
        await this.#database.insert(walletEntryCollection, {
          _id: `${orgId}:${id}`,
          org_id: orgId,
          ...change,
          currency: wallet.currency,
          created_at: at,
        });
      } catch (error) {
        if (!isDuplicateKey(error, '_id')) throw error;
      }
    }
    const filed = wallet.pending.map(({ id }) => id);
    await this.#wallets.updateOne({ _id: orgId }, { $pull: { pending: { id: { $in: filed } } } });
  }

  #entry(kind: WalletChange['kind'], reference: string, amount: bigint): WalletChange {
    return { id: `${kind}:${reference}`, kind, reference, amount_nano: amount, at: this.#now() };
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }
}
