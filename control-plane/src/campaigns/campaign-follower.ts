import type { SessionRecord } from '../sessions/session-record.ts';
import type { CampaignStore } from './campaign-store.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import type { ContactAttempts, ContactSession } from './contact-attempts.ts';
import { isTechnical } from './contact-outcome.ts';

/** The part of a session that a campaign follows. */
export type FollowedSession = ContactSession & Pick<SessionRecord, 'campaign_id'>;

/** Follows the calls of campaigns: what becomes of a call becomes of its contact. */
export class CampaignFollower {
  readonly #campaigns: CampaignStore;
  readonly #attempts: ContactAttempts;
  readonly #breaker: CircuitBreaker;
  readonly #feeder: { wake(campaignId: string): void };

  constructor(deps: {
    campaigns: CampaignStore;
    attempts: ContactAttempts;
    breaker: CircuitBreaker;
    feeder: { wake(campaignId: string): void };
  }) {
    this.#campaigns = deps.campaigns;
    this.#attempts = deps.attempts;
    this.#breaker = deps.breaker;
    this.#feeder = deps.feeder;
  }

  /** A call was answered. Safe to repeat. Who feeds the campaign counts it within a second. */
  async answered(session: FollowedSession): Promise<void> {
    if (session.campaign_id !== null) await this.#attempts.answered(session);
  }

  /** A call is over. Safe to repeat. */
  async ended(session: FollowedSession): Promise<void> {
    const campaign = session.campaign_id === null ? null : await this.#campaigns.find(session.campaign_id);
    if (!campaign) return;
    if (!(await this.#attempts.settle(campaign, session))) return;
    if (session.failure_reason === 'insufficient_balance')
      await this.#campaigns.move(campaign._id, 'pause', { pause_reason: 'insufficient_balance' });
    else if (isTechnical(session)) await this.#judge(campaign._id);
    // Of many calls, the next ones wait already, and what they come to is counted in the feeder's next round.
    if (campaign.kind === 'single') this.#feeder.wake(campaign._id);
  }

  /** An analysis has found whether the goal of a call was reached, before or after the attempt was settled. Safe to repeat. */
  goalFound(session: FollowedSession, goal: string): Promise<void> {
    return this.#attempts.goalFound(session, goal);
  }

  /** Pauses a campaign too many of whose calls fail, unless it was resumed while that was found out. */
  async #judge(campaignId: string): Promise<void> {
    const campaign = await this.#campaigns.find(campaignId);
    if (campaign?.status !== 'running' || !(await this.#breaker.isTripped(campaign))) return;
    const { resumed_at } = campaign;
    await this.#campaigns.move(campaignId, 'pause', { pause_reason: 'circuit_breaker' }, { resumed_at });
  }
}
