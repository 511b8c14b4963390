import type { Model } from 'mongoose';
import { UnavailableError } from '@parley/shared/errors/app-error';
import { LIVE_STATUSES } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import { toNano } from '../billing/money.ts';
import type { SessionAgents } from '../sessions/session-agent.ts';
import { speakingAgentOf } from '../sessions/session-agent.ts';
import type { SessionGateways } from '../sessions/session-gateways.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Collection } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import type { CampaignRecord } from './campaign-model.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { ContactStore } from './contact-store.ts';

const PAGE = 200;

/** What the calls of campaigns have cost: `CallCosts`. */
export interface CampaignCosts {
  /** Of calls that are over, and what is counted of those under way; in 10⁻⁹ of the currency. */
  spentBy(campaignId: string): Promise<bigint>;
}

/** Keeps campaigns to what their calls may cost. How far one goes beyond it: what its calls cost in between two looks at it. */
export class CampaignBudget {
  readonly #campaigns: CampaignStore;
  readonly #contacts: ContactStore;
  readonly #sessions: Model<SessionRecord>;
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #costs: CampaignCosts;
  readonly #gateways: SessionGateways;
  readonly #logger: Logger;

  constructor(deps: {
    database: Database;
    campaigns: CampaignStore;
    contacts: ContactStore;
    sessions: Collection<SessionRecord>;
    agents: Pick<SessionAgents, 'version'>;
    costs: CampaignCosts;
    gateways: SessionGateways;
    logger: Logger;
  }) {
    this.#campaigns = deps.campaigns;
    this.#contacts = deps.contacts;
    this.#sessions = deps.database.model(deps.sessions);
    this.#agents = deps.agents;
    this.#costs = deps.costs;
    this.#gateways = deps.gateways;
    this.#logger = deps.logger;
  }

  async isSpent({ _id, max_cost_amount }: CampaignRecord): Promise<boolean> {
    return max_cost_amount !== null && (await this.#costs.spentBy(_id)) >= toNano(max_cost_amount);
  }

  /**
   * Pauses a campaign that has spent what it may, and ends its calls: what is queued waits.
   * @returns the campaign as it is now
   */
  async keep(campaign: CampaignRecord, signal: AbortSignal): Promise<CampaignRecord> {
    const { _id, status } = campaign;
    if ((status !== 'running' && status !== 'paused') || !(await this.isSpent(campaign))) return campaign;
    const paused = await this.#campaigns.move(_id, 'pause', { pause_reason: 'budget' });
    await this.#endCalls(_id, signal);
    return paused ?? campaign;
  }

  async #endCalls(campaign_id: string, signal: AbortSignal): Promise<void> {
    for (let after = ''; !signal.aborted;) {
      const called = await this.#contacts.find(
        { campaign_id, status: 'in_progress', _id: { $gt: after } },
        { limit: PAGE },
      );
      const running = await this.#sessions
        .find({
          _id: { $in: called.flatMap(({ last_session_id: id }) => id ?? []) },
          status: { $in: [...LIVE_STATUSES] },
        })
        .lean<SessionRecord[]>();
      for (const session of running) await this.#end(session);
      if (called.length < PAGE) return;
      after = called.at(-1)!._id;
    }
  }

  /** With the goodbye of the agent that speaks, if it has one. */
  async #end(session: SessionRecord): Promise<void> {
    const { _id: sessionId, gateway_id: gatewayId } = session;
    if (gatewayId === null) return;
    const message = (await speakingAgentOf(this.#agents, session))?.config.end_call.message ?? '';
    try {
      await this.#gateways.send({ gatewayId, sessionId }, 'end', {
        ...{ ended_by: 'system', hangup_reason: 'budget' },
        ...(message !== '' && { message }),
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#logger.warn({ sessionId }, 'a call that costs too much was not ended; it is tried again');
    }
  }
}
