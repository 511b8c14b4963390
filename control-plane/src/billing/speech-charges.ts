import { newId } from '@parley/shared/ids/new-id';
import { divideRounded } from '../http/amount.ts';
import type { Rates } from './rates.ts';
import type { Wallets } from './wallets.ts';

/** Speech outside of calls that the installation pays for. */
export class SpeechCharges {
  readonly #rates: Rates;
  readonly #wallets: Wallets;

  constructor({ rates, wallets }: { rates: Rates; wallets: Wallets }) {
    this.#rates = rates;
    this.#wallets = wallets;
  }

  /**
   * Speaks a text, and takes its price off a prepaid wallet once it was spoken.
   * @throws PaymentRequiredError before anything is spoken; what `speak` throws, at no charge
   */
  async pay<T>(
    speech: { orgId: string; ttsId: string; characters: number },
    speak: () => Promise<T>,
  ): Promise<T> {
    const { orgId, ttsId, characters } = speech;
    const id = newId('spk');
    let amount = 0n;
    await this.#wallets.hold(orgId, id, async () => {
      amount = divideRounded((await this.#rates.speechPrice(orgId, ttsId)) * BigInt(characters), 1000n);
      return amount;
    });
    try {
      const spoken = await speak();
      await this.#wallets.settle(orgId, id, 'speech', amount);
      return spoken;
    } catch (error) {
      await this.#wallets.release(orgId, id);
      throw error;
    }
  }
}
