import type { Model } from 'mongoose';
import type { SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import type { CampaignRecord } from './campaign-model.ts';

/** The part of a telephone number that decides whether calls may come from it. */
export type CallerNumber = StoredRecord & {
  org_id: string;
  project_id: string;
  status: string;
  outbound_enabled?: boolean;
};

/** What a campaign needs for its calls: an agent, a number, money. */
export class CampaignNeeds {
  readonly #numbers: Model<CallerNumber>;
  readonly #agents: SessionAgents;
  readonly #funds: { requireFunds(orgId: string): Promise<void> };

  constructor(deps: {
    database: Database;
    numbers: Collection<CallerNumber>;
    agents: SessionAgents;
    funds: { requireFunds(orgId: string): Promise<void> };
  }) {
    this.#numbers = deps.database.model(deps.numbers);
    this.#agents = deps.agents;
    this.#funds = deps.funds;
  }

  /** The agent that calls; null when it is archived or gone. */
  async agent({ agent_id, agent_version }: CampaignRecord): Promise<SessionAgent | null> {
    const agent = await (agent_version === null
      ? this.#agents.forNewSession(agent_id)
      : this.#agents.version(agent_id, agent_version));
    return agent?.archived ? null : agent;
  }

  /** Whether there is a number that calls can come from. */
  async hasNumber(campaign: CampaignRecord, agent: SessionAgent): Promise<boolean> {
    const { org_id, project_id, phone_number_ids } = campaign;
    const own = agent.config.telephony.phone_number_id;
    const ids = phone_number_ids.length > 0 ? phone_number_ids : own === null ? null : [own];
    const found = await this.#numbers.exists({
      ...{ org_id, project_id, status: 'active', outbound_enabled: { $ne: false } },
      ...(ids && { _id: { $in: ids } }),
    });
    return found !== null;
  }

  /** @throws PaymentRequiredError where the org pays in advance and has nothing left */
  requireFunds({ org_id }: CampaignRecord): Promise<void> {
    return this.#funds.requireFunds(org_id);
  }
}
