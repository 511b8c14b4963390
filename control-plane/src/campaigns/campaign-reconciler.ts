import type { Model } from 'mongoose';
import { LIVE_STATUSES, TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Collection } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import type { CampaignFollower } from './campaign-follower.ts';
import type { CampaignRecord } from './campaign-model.ts';
import type { CampaignNeeds } from './campaign-needs.ts';
import { CALLED_CONTACTS } from './campaign-states.ts';
import type { ContactAttempts } from './contact-attempts.ts';
import type { ContactRecord } from './contact-model.ts';
import type { ContactStore } from './contact-store.ts';

const PAGE = 200;

/** Compares contacts that are being called with their sessions, and makes up for what a process that died has left undone. */
export class CampaignReconciler {
  readonly #sessions: Model<SessionRecord>;
  readonly #contacts: ContactStore;
  readonly #attempts: ContactAttempts;
  readonly #follower: CampaignFollower;
  readonly #needs: CampaignNeeds;

  constructor(deps: {
    database: Database;
    sessions: Collection<SessionRecord>;
    contacts: ContactStore;
    attempts: ContactAttempts;
    follower: CampaignFollower;
    needs: CampaignNeeds;
  }) {
    this.#sessions = deps.database.model(deps.sessions);
    this.#contacts = deps.contacts;
    this.#attempts = deps.attempts;
    this.#follower = deps.follower;
    this.#needs = deps.needs;
  }

  async reconcile(campaign: CampaignRecord, signal: AbortSignal): Promise<void> {
    for (let after = ''; !signal.aborted;) {
      const called = await this.#contacts.find(
        { campaign_id: campaign._id, status: { $in: [...CALLED_CONTACTS] }, _id: { $gt: after } },
        { limit: PAGE },
      );
      const sessions = await this.#sessions
        .find({ _id: { $in: called.flatMap(({ last_session_id: id }) => id ?? []) } })
        .lean<SessionRecord[]>();
      const byId = new Map(sessions.map((session) => [session._id, session]));
      for (const contact of called) {
        if (signal.aborted) return;
        await this.#follow(campaign, contact, byId.get(contact.last_session_id ?? ''));
      }
      if (called.length < PAGE) return;
      after = called.at(-1)!._id;
    }
  }

  async #follow(
    campaign: CampaignRecord,
    contact: ContactRecord,
    session: SessionRecord | undefined,
  ): Promise<void> {
    if (!session) return this.#orphan(campaign, contact);
    if (TERMINAL_STATUSES.includes(session.status)) await this.#follower.ended(session);
    else if (contact.status === 'queued' && LIVE_STATUSES.includes(session.status))
      await this.#follower.answered(session);
  }

  /** It was claimed, and its call was not ordered. */
  async #orphan(campaign: CampaignRecord, contact: ContactRecord): Promise<void> {
    const agent = campaign.status === 'running' ? await this.#needs.agent(campaign) : null;
    if (agent) await this.#attempts.order(campaign, agent.of(contact.phone_number!), contact);
    else await this.#attempts.release(contact);
  }
}
