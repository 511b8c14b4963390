import { PaymentRequiredError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { isOpen, nextOpening } from '../calling-hours/calling-windows.ts';
import type { AgentChoice, SessionAgent } from '../sessions/session-agent.ts';
import type { CampaignBudget } from './campaign-budget.ts';
import type { CampaignCounters } from './campaign-counters.ts';
import type { CampaignRecord, PauseReason } from './campaign-model.ts';
import type { CampaignNeeds } from './campaign-needs.ts';
import { CALLED_CONTACTS } from './campaign-states.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { ContactAttempts, Ordered } from './contact-attempts.ts';
import type { ContactRecord } from './contact-model.ts';
import type { SuppressedNumbers } from './contact-service.ts';
import type { ContactStore } from './contact-store.ts';

/** Calls of a campaign that wait in the queue at least; otherwise those of so many seconds. */
const LEAST_QUEUED = 5;
const SECONDS_QUEUED = 4;
/** Contacts that are looked at in one round: those that are skipped take no place in the queue. */
const MOST_LOOKED_AT = 1000;
const PAGE = 100;
/** Calls that are ordered side by side: what they write shares commands. */
const AT_ONCE = 20;
/** When a contact is looked at again whose hours never come. */
const NEVER_OPEN_MS = 24 * 3_600_000;

/** Hands the contacts of one running campaign over to be dialled, as fast as they are. */
export class CampaignFeed {
  readonly #campaigns: CampaignStore;
  readonly #contacts: ContactStore;
  readonly #attempts: ContactAttempts;
  readonly #needs: CampaignNeeds;
  readonly #suppressions: SuppressedNumbers;
  readonly #budget: Pick<CampaignBudget, 'isSpent'>;
  readonly #counters: CampaignCounters;
  readonly #clock: Clock;

  constructor(deps: {
    campaigns: CampaignStore;
    contacts: ContactStore;
    attempts: ContactAttempts;
    needs: CampaignNeeds;
    suppressions: SuppressedNumbers;
    budget: Pick<CampaignBudget, 'isSpent'>;
    counters: CampaignCounters;
    clock: Clock;
  }) {
    this.#campaigns = deps.campaigns;
    this.#contacts = deps.contacts;
    this.#attempts = deps.attempts;
    this.#needs = deps.needs;
    this.#suppressions = deps.suppressions;
    this.#budget = deps.budget;
    this.#counters = deps.counters;
    this.#clock = deps.clock;
  }

  /**
   * Orders calls until enough of them wait.
   * @returns the campaign as it is now where this was its last round
   */
  async feed(campaign: CampaignRecord, signal: AbortSignal): Promise<CampaignRecord | null> {
    const { _id: campaign_id, end_at } = campaign;
    if (end_at && end_at.getTime() <= this.#clock.now()) return this.#complete(campaign);
    const enough = Math.max(LEAST_QUEUED, Math.ceil(campaign.calls_per_second * SECONDS_QUEUED));
    let room = enough - (await this.#contacts.count({ campaign_id, status: 'queued' }, enough));
    // Several are ordered at a time: what one needs, the others need, too.
    if (room < enough / 2) return null;
    let agent: AgentChoice | undefined;
    for (let seen = 0; room > 0 && seen < MOST_LOOKED_AT && !signal.aborted;) {
      const due = await this.#contacts.find(
        { campaign_id, due_at: { $lte: new Date(this.#clock.now()) } },
        { limit: Math.min(room, PAGE), sort: { due_at: 1, _id: 1 } },
      );
      if (due.length === 0) break;
      seen += due.length;
      if (!agent) {
        const ready = await this.#ready(campaign);
        if ('not' in ready) return this.#pause(campaign, ready.not);
        agent = ready.agent;
      }
      const round = await this.#order(campaign, agent, due, signal);
      if (round.pause) return this.#pause(campaign, round.pause);
      if (round.full) return null;
      room -= round.ordered;
    }
    return agent || (await this.#hasOpen(campaign_id)) ? null : this.#complete(campaign);
  }

  async #order(
    campaign: CampaignRecord,
    choice: AgentChoice,
    due: readonly ContactRecord[],
    signal: AbortSignal,
  ): Promise<{ ordered: number; full?: boolean; pause?: PauseReason }> {
    const at = { orgId: campaign.org_id, projectId: campaign.project_id };
    const blocked = await this.#suppressions.blocks(
      at,
      due.map(({ phone_number }) => phone_number!),
    );
    let ordered = 0;
    for (let at = 0; at < due.length && !signal.aborted; at += AT_ONCE) {
      const results = await Promise.all(
        due.slice(at, at + AT_ONCE).map(async (contact, place): Promise<Ordered> => {
          if (blocked.has(contact.phone_number!)) {
            const set = { skip_reason: 'suppressed' as const, due_at: null, next_attempt_at: null };
            await this.#contacts.move({ _id: contact._id, revision: contact.revision }, 'skip', { set });
            return { is: 'skipped' };
          }
          const agent = choice.of(contact.phone_number!);
          if (await this.#isDeferred(campaign, agent, contact)) return { is: 'skipped' };
          return this.#attempts.begin(campaign, agent, contact, at + place);
        }),
      );
      ordered += results.filter(({ is }) => is === 'queued').length;
      const refused = results.find((result) => result.is === 'refused');
      if (refused) return { ordered, pause: refused.why };
      if (results.some(({ is }) => is === 'full')) return { ordered, full: true };
    }
    return { ordered };
  }

  /** Lets a contact wait for its calling hours. */
  async #isDeferred(campaign: CampaignRecord, agent: SessionAgent, contact: ContactRecord): Promise<boolean> {
    const hours = campaign.calling_hours ?? agent.config.telephony.calling_hours;
    const now = this.#clock.now();
    const zone = { contactTimezone: contact.timezone };
    if (!hours || isOpen(hours, now, zone)) return false;
    const due = nextOpening(hours, now, zone) ?? now + NEVER_OPEN_MS;
    await this.#contacts.change(
      { _id: contact._id, revision: contact.revision, due_at: contact.due_at },
      { due_at: new Date(due), deferred: true },
    );
    return true;
  }

  /** What calls are made with, or why none can be made. */
  async #ready(campaign: CampaignRecord): Promise<{ agent: AgentChoice } | { not: PauseReason }> {
    if (await this.#budget.isSpent(campaign)) return { not: 'budget' };
    const agent = await this.#needs.agent(campaign);
    if (!agent) return { not: 'agent_unavailable' };
    if (!(await this.#needs.hasNumber(campaign, agent))) return { not: 'number_unavailable' };
    try {
      await this.#needs.requireFunds(campaign);
    } catch (error) {
      if (error instanceof PaymentRequiredError) return { not: 'insufficient_balance' };
      throw error;
    }
    return { agent };
  }

  async #hasOpen(campaign_id: string): Promise<boolean> {
    return (
      (await this.#contacts.exists({ campaign_id, due_at: { $ne: null } })) ||
      (await this.#contacts.exists({ campaign_id, status: { $in: [...CALLED_CONTACTS] } }))
    );
  }

  #pause(campaign: CampaignRecord, pause_reason: PauseReason): Promise<CampaignRecord | null> {
    return this.#campaigns.move(campaign._id, 'pause', { pause_reason });
  }

  /** Who reads that it is over also reads how it went. */
  async #complete(campaign: CampaignRecord): Promise<CampaignRecord | null> {
    await this.#counters.count(campaign._id);
    return this.#campaigns.move(campaign._id, 'complete', { finished_at: new Date(this.#clock.now()) });
  }
}
