import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { Scope } from '../tenancy/scope.ts';
import { chargeCollection } from './charge-model.ts';
import type { ChargeKind } from './charge-model.ts';
import type { Rates } from './rates.ts';
import type { Wallets } from './wallets.ts';

interface Charge {
  id: string;
  orgId: string;
  kind: ChargeKind;
  amount: bigint;
}

/** What is used outside of calls: off a prepaid wallet at once, and on the invoice of the month. */
export class Charges {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #rates: Rates;
  readonly #wallets: Wallets;

  constructor(deps: { database: Database; clock: Clock; rates: Rates; wallets: Wallets }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#rates = deps.rates;
    this.#wallets = deps.wallets;
  }

  /** For what was set aside under the same id. */
  async settle(charge: Charge & { kind: 'speech' | 'voice_clone' }): Promise<void> {
    await this.#record(charge);
    await this.#wallets.settle(charge.orgId, charge.id, charge.kind, charge.amount);
  }

  /** For what nothing was set aside for. */
  async book(charge: Charge & { kind: 'chat' }): Promise<void> {
    await this.#record(charge);
    await this.#wallets.charge(charge.orgId, charge.id, charge.kind, charge.amount);
  }

  /** What the charges of a time came to, in 10⁻⁹ of the currency. */
  async total(
    scope: Scope,
    { fromMs, toMs, currency }: { fromMs: number; toMs: number; currency: string },
  ): Promise<{ count: number; amount_nano: bigint }> {
    const [sum] = await scope
      .collection(chargeCollection)
      .group<{ count: number; nano: number | bigint }>(
        { created_at: { $gte: new Date(fromMs), $lt: new Date(toMs) }, currency },
        { _id: null, count: { $sum: 1 }, nano: { $sum: '$amount_nano' } },
      );
    return { count: Number(sum?.count ?? 0), amount_nano: BigInt(sum?.nano ?? 0) };
  }

  async #record({ id, orgId, kind, amount }: Charge): Promise<void> {
    if (amount <= 0n) return;
    try {
      await this.#database.insert(chargeCollection, {
        _id: id,
        org_id: orgId,
        kind,
        amount_nano: amount,
        currency: await this.#rates.currency(orgId),
        created_at: new Date(this.#clock.now()),
      });
    } catch (error) {
      if (!isDuplicateKey(error, '_id')) throw error;
    }
  }
}
