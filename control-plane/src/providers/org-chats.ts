import { openChatModel, type ChatModel, type ChatTokens } from './chat.ts';
import type { ModelCatalog } from './model-catalog.ts';

/** A language model that something of a project asks outside of calls. */
export interface ChatUse {
  orgId: string;
  projectId: string;
  llmId: string;
}

/** Who pays for it: `ChatCharges`. */
export interface ChatPayment {
  /** @throws PaymentRequiredError where the installation pays for the model and the org's wallet is empty */
  requireFunds(use: ChatUse): Promise<void>;
  /** Books an answer, where the installation pays for the model. */
  charge(use: ChatUse, tokens: ChatTokens): Promise<void>;
}

/** Language models of orgs, as they are asked outside of calls: each answer is booked. */
export class OrgChats {
  readonly #catalog: Pick<ModelCatalog, 'resolve' | 'fetchFor'>;
  readonly #charges: ChatPayment;

  constructor(deps: { catalog: Pick<ModelCatalog, 'resolve' | 'fetchFor'>; charges: ChatPayment }) {
    this.#catalog = deps.catalog;
    this.#charges = deps.charges;
  }

  /** @returns undefined for a model that cannot be used */
  async open(use: ChatUse): Promise<ChatModel | undefined> {
    const { orgId, projectId, llmId } = use;
    const provider = await this.#catalog.resolve(orgId, llmId, { language: 'en', projectId });
    if (!provider) return undefined;
    const model = await openChatModel(provider, this.#catalog.fetchFor(orgId));
    return {
      answer: async (question, signal) => {
        const answer = await model.answer(question, signal);
        await this.#charges.charge(use, answer.tokens);
        return answer;
      },
    };
  }

  /** For what is asked for by a request. @throws PaymentRequiredError */
  requireFunds(use: ChatUse): Promise<void> {
    return this.#charges.requireFunds(use);
  }
}
