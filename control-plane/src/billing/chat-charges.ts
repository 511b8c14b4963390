import { newId } from '@parley/shared/ids/new-id';
import { divideRounded } from '../http/amount.ts';
import type { ChatPayment, ChatUse } from '../providers/org-chats.ts';
import type { ChatTokens } from '../providers/chat.ts';
import type { Charges } from './charges.ts';
import type { Rates } from './rates.ts';
import type { Wallets } from './wallets.ts';

const MILLION = 1_000_000n;

/** Language models outside of calls that the installation pays for. What follows a call is booked whatever the balance is. */
export class ChatCharges implements ChatPayment {
  readonly #rates: Rates;
  readonly #wallets: Wallets;
  readonly #charges: Charges;

  constructor(deps: { rates: Rates; wallets: Wallets; charges: Charges }) {
    this.#rates = deps.rates;
    this.#wallets = deps.wallets;
    this.#charges = deps.charges;
  }

  async requireFunds(use: ChatUse): Promise<void> {
    if (await this.#rates.isPaidFor(use.orgId, use.llmId, use.projectId))
      await this.#wallets.requireFunds(use.orgId);
  }

  async charge(use: ChatUse, { read, written }: ChatTokens): Promise<void> {
    const { orgId, llmId, projectId } = use;
    if (!(await this.#rates.isPaidFor(orgId, llmId, projectId))) return;
    const part = async (unit: '1m_input_tokens' | '1m_output_tokens', tokens: number) =>
      divideRounded((await this.#rates.price(orgId, llmId, unit)) * BigInt(tokens), MILLION);
    const amount = (await part('1m_input_tokens', read)) + (await part('1m_output_tokens', written));
    await this.#charges.book({ id: newId('cht'), orgId, kind: 'chat', amount });
  }
}
