import { newId } from '@parley/shared/ids/new-id';
import { divideRounded } from '../http/amount.ts';
import type { Charges } from './charges.ts';
import type { Rates } from './rates.ts';
import type { Wallets } from './wallets.ts';

/** Money that was set aside: it is spent, or given back. */
export interface HeldPayment {
  settle(): Promise<void>;
  release(): Promise<void>;
}

/** Speech outside of calls, and voices that are made, which the installation pays for. */
export class SpeechCharges {
  readonly #rates: Rates;
  readonly #wallets: Wallets;
  readonly #charges: Charges;

  constructor(deps: { rates: Rates; wallets: Wallets; charges: Charges }) {
    this.#rates = deps.rates;
    this.#wallets = deps.wallets;
    this.#charges = deps.charges;
  }

  /**
   * Speaks a text, and charges its price once it was spoken.
   * @throws PaymentRequiredError before anything is spoken; what `speak` throws, at no charge
   */
  async pay<T>(
    speech: { orgId: string; ttsId: string; characters: number },
    speak: () => Promise<T>,
  ): Promise<T> {
    const { orgId, ttsId, characters } = speech;
    const price = async () =>
      divideRounded((await this.#rates.price(orgId, ttsId, '1k_characters')) * BigInt(characters), 1000n);
    const payment = await this.#hold(orgId, newId('spk'), 'speech', price);
    try {
      const spoken = await speak();
      await payment.settle();
      return spoken;
    } catch (error) {
      await payment.release();
      throw error;
    }
  }

  /**
   * Sets aside what a clone costs, until it is known whether there is one.
   * @param clone.id of the voice
   * @throws PaymentRequiredError
   */
  holdClone(clone: { orgId: string; ttsId: string; id: string }): Promise<HeldPayment> {
    const { orgId, ttsId, id } = clone;
    return this.#hold(orgId, id, 'voice_clone', () => this.#rates.price(orgId, ttsId, 'clone'));
  }

  async #hold(
    orgId: string,
    id: string,
    kind: 'speech' | 'voice_clone',
    price: () => Promise<bigint>,
  ): Promise<HeldPayment> {
    let priced: Promise<bigint> | undefined;
    const amount = () => (priced ??= price());
    await this.#wallets.hold(orgId, id, amount);
    return {
      settle: async () => this.#charges.settle({ id, orgId, kind, amount: await amount() }),
      release: () => this.#wallets.release(orgId, id),
    };
  }
}
