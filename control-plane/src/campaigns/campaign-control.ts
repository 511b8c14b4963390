import { ConflictError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { equalities } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { CampaignClosing } from './campaign-closing.ts';
import type { CampaignCounters } from './campaign-counters.ts';
import type { CampaignRecord } from './campaign-model.ts';
import type { CampaignNeeds } from './campaign-needs.ts';
import { campaignAfter, FINISHED_CONTACTS } from './campaign-states.ts';
import type { CampaignEvent, ContactStatus } from './campaign-states.ts';
import type { CampaignChange, CampaignStore } from './campaign-store.ts';
import type { ContactOutcome } from './contact-model.ts';
import type { ContactStore } from './contact-store.ts';

const AT_ONCE = 500;
/** Whom a redial calls that names nobody. */
const REDIALLED: readonly ContactStatus[] = ['failed'];

/** Starts, pauses and ends campaigns, as clients ask for it. */
export class CampaignControl {
  readonly #campaigns: CampaignStore;
  readonly #contacts: ContactStore;
  readonly #counters: CampaignCounters;
  readonly #closing: CampaignClosing;
  readonly #needs: CampaignNeeds;
  readonly #feeder: { wake(campaignId: string): void };
  readonly #clock: Clock;

  constructor(deps: {
    campaigns: CampaignStore;
    contacts: ContactStore;
    counters: CampaignCounters;
    closing: CampaignClosing;
    needs: CampaignNeeds;
    /** Calls contacts; told that there is something to do. */
    feeder: { wake(campaignId: string): void };
    clock: Clock;
  }) {
    this.#campaigns = deps.campaigns;
    this.#contacts = deps.contacts;
    this.#counters = deps.counters;
    this.#closing = deps.closing;
    this.#needs = deps.needs;
    this.#feeder = deps.feeder;
    this.#clock = deps.clock;
  }

  /**
   * Begins a draft: now, or at its `start_at`.
   * @throws ConflictError `invalid_state`; ValidationError without contacts, an agent or a number; PaymentRequiredError
   */
  async start(campaign: CampaignRecord): Promise<CampaignRecord> {
    if (campaign.status !== 'draft') throw notAllowed(campaign, 'start');
    const now = this.#clock.now();
    if (campaign.end_at && campaign.end_at.getTime() <= now)
      throw invalid(['body', 'end_at'], 'must be in the future');
    if (!(await this.#contacts.exists({ campaign_id: campaign._id, due_at: { $ne: null } })))
      throw invalid(['body', 'contacts'], 'The campaign has no contacts. Add some first.', 'missing');
    const agent = await this.#needs.agent(campaign);
    if (!agent) throw invalid(['body', 'agent_id'], 'The agent is archived. Restore it first.');
    if (!(await this.#needs.hasNumber(campaign, agent)))
      throw invalid(
        ['body', 'phone_number_ids'],
        'There is no active phone number that calls can come from. Import one first.',
        'missing',
      );
    await this.#needs.requireFunds(campaign);
    const isLater = campaign.start_at !== null && campaign.start_at.getTime() > now;
    return this.#move(campaign, isLater ? 'schedule' : 'start', {
      active: true,
      ...(!isLater && { started_at: new Date(now) }),
    });
  }

  /** Nobody further is called until it is resumed. @throws ConflictError `invalid_state` */
  pause(campaign: CampaignRecord): Promise<CampaignRecord> {
    return this.#move(campaign, 'pause', { pause_reason: 'user' });
  }

  /** @throws ConflictError `invalid_state` */
  resume(campaign: CampaignRecord): Promise<CampaignRecord> {
    return this.#move(campaign, 'resume', {
      ...{ pause_reason: null, active: true, resumed_at: new Date(this.#clock.now()) },
      ...(campaign.started_at === null && { started_at: new Date(this.#clock.now()) }),
    });
  }

  /** Ends it for good; calls under way go on to their end. @throws ConflictError `invalid_state` */
  async cancel(campaign: CampaignRecord): Promise<CampaignRecord> {
    const cancelled = await this.#move(campaign, 'cancel', {
      ...{ pause_reason: null, active: true },
      finished_at: new Date(this.#clock.now()),
    });
    await this.#closing.close(cancelled);
    return this.#now(cancelled);
  }

  /**
   * Lets contacts be called again that were done with; a campaign that was completed is paused by it.
   * @param which of them, by state and outcome; by default those that failed
   * @returns how many will be called again
   * @throws ConflictError `invalid_state`
   */
  async redial(
    campaign: CampaignRecord,
    which: { statuses?: ContactStatus[] | undefined; outcomes?: ContactOutcome[] | undefined },
  ): Promise<number> {
    const { statuses, outcomes } = which;
    const finished = { pause_reason: 'redial', finished_at: null, active: true } as const;
    const moved =
      (await this.#campaigns.move(campaign._id, 'redial', finished, { status: 'completed' })) ??
      (await this.#move(campaign, 'redial', { active: true }));
    const due = new Date(this.#clock.now());
    const begun = {
      ...{ due_at: due, next_attempt_at: null, skip_reason: null, round_attempts: 0, deferred: false },
    };
    const filter = {
      campaign_id: moved._id,
      ...equalities({
        status: statuses ?? (outcomes ? FINISHED_CONTACTS : [...REDIALLED]),
        outcome: outcomes,
      }),
      removed: false,
      // An erased contact has no number.
      phone_number: { $ne: null },
    };
    let requeued = 0;
    for (let after = ''; ;) {
      const page = await this.#contacts.find({ ...filter, _id: { $gt: after } }, { limit: AT_ONCE });
      if (page.length === 0) break;
      const ids = page.map(({ _id }) => _id);
      requeued += await this.#contacts.moveAll({ _id: { $in: ids } }, 'redial', { set: begun });
      await this.#counters.count(moved._id);
      after = ids.at(-1)!;
    }
    this.#feeder.wake(moved._id);
    return requeued;
  }

  async #move(campaign: CampaignRecord, event: CampaignEvent, set: CampaignChange): Promise<CampaignRecord> {
    const moved = await this.#campaigns.move(campaign._id, event, set);
    if (!moved) throw notAllowed((await this.#campaigns.find(campaign._id)) ?? campaign, event);
    this.#feeder.wake(moved._id);
    return moved;
  }

  async #now(campaign: CampaignRecord): Promise<CampaignRecord> {
    return (await this.#campaigns.find(campaign._id)) ?? campaign;
  }
}

const WORDS: Partial<Record<CampaignEvent, string>> = {
  schedule: 'started',
  start: 'started',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'cancelled',
  redial: 'redialled',
};

function notAllowed({ status }: Pick<CampaignRecord, 'status'>, event: CampaignEvent): ConflictError {
  const what = `The campaign is ${status}: it cannot be ${WORDS[event]}.`;
  return new ConflictError(
    'invalid_state',
    campaignAfter(status, 'resume') && (event === 'start' || event === 'schedule')
      ? `${what} Resume it.`
      : what,
  );
}
