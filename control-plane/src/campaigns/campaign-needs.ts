import type { Model } from 'mongoose';
import type { AgentChoice, SessionAgents } from '../sessions/session-agent.ts';
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

  /** The agent that calls, in the version that each contact gets; null when it is archived or gone. */
  async agent(campaign: Pick<CampaignRecord, 'agent_id' | 'agent_version'>): Promise<AgentChoice | null> {
    const choice = await choiceOf(this.#agents, campaign);
    return choice?.versions.some(({ archived }) => archived) ? null : choice;
  }

  /** Whether there is a number that calls can come from, whichever version makes them. */
  async hasNumber(campaign: CampaignRecord, { versions }: AgentChoice): Promise<boolean> {
    const { phone_number_ids } = campaign;
    if (phone_number_ids.length > 0) return this.#isUsable(campaign, phone_number_ids);
    for (const own of new Set(versions.map(({ config }) => config.telephony.phone_number_id)))
      if (!(await this.#isUsable(campaign, own === null ? null : [own]))) return false;
    return true;
  }

  /** @throws PaymentRequiredError where the org pays in advance and has nothing left */
  requireFunds({ org_id }: CampaignRecord): Promise<void> {
    return this.#funds.requireFunds(org_id);
  }

  /** Whether one of these numbers, or any of the project, may call. */
  async #isUsable({ org_id, project_id }: CampaignRecord, ids: readonly string[] | null): Promise<boolean> {
    const found = await this.#numbers.exists({
      ...{ org_id, project_id, status: 'active', outbound_enabled: { $ne: false } },
      ...(ids && { _id: { $in: [...ids] } }),
    });
    return found !== null;
  }
}

/** A campaign's agent: the version that it names, or those by which the agent answers at present. */
export async function choiceOf(
  agents: SessionAgents,
  { agent_id, agent_version }: Pick<CampaignRecord, 'agent_id' | 'agent_version'>,
): Promise<AgentChoice | null> {
  if (agent_version === null) return agents.choice(agent_id);
  const agent = await agents.version(agent_id, agent_version);
  return agent && { versions: [agent], of: () => agent };
}
