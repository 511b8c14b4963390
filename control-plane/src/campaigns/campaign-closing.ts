import type { CampaignCalls } from './campaign-calls.ts';
import type { CampaignCounters } from './campaign-counters.ts';
import type { CampaignRecord } from './campaign-model.ts';
import { CALLED_CONTACTS } from './campaign-states.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { ContactStore } from './contact-store.ts';

const AT_ONCE = 500;

/** Settles what a campaign that is over has left: contacts nobody will call, calls that nobody has dialled. */
export class CampaignClosing {
  readonly #campaigns: CampaignStore;
  readonly #contacts: ContactStore;
  readonly #counters: CampaignCounters;
  readonly #calls: Pick<CampaignCalls, 'withdraw'>;

  constructor(deps: {
    campaigns: CampaignStore;
    contacts: ContactStore;
    counters: CampaignCounters;
    calls: Pick<CampaignCalls, 'withdraw'>;
  }) {
    this.#campaigns = deps.campaigns;
    this.#contacts = deps.contacts;
    this.#counters = deps.counters;
    this.#calls = deps.calls;
  }

  /** Safe to repeat; to be repeated until its last call is over. */
  async close(campaign: CampaignRecord): Promise<void> {
    const campaign_id = campaign._id;
    for (;;) {
      const waiting = await this.#contacts.find(
        { campaign_id, due_at: { $ne: null } },
        { limit: AT_ONCE, sort: { due_at: 1, _id: 1 } },
      );
      if (waiting.length === 0) break;
      const where = { _id: { $in: waiting.map(({ _id }) => _id) } };
      const nothing = { due_at: null, next_attempt_at: null, deferred: false };
      if (campaign.status === 'cancelled') await this.#contacts.moveAll(where, 'cancel', { set: nothing });
      else
        await this.#contacts.moveAll(where, 'skip', { set: { ...nothing, skip_reason: 'campaign_ended' } });
      await this.#counters.count(campaign_id);
    }
    await this.#calls.withdraw({ campaignId: campaign_id });
    const isOver = !(await this.#contacts.exists({ campaign_id, status: { $in: [...CALLED_CONTACTS] } }));
    // What has become of its last calls is counted before it rests.
    await this.#counters.count(campaign_id);
    if (isOver) await this.#campaigns.rest(campaign_id);
  }
}
