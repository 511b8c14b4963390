import type { Model } from 'mongoose';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import type { CampaignRecord } from './campaign-model.ts';
import { attemptCollection } from './contact-model.ts';
import type { AttemptRecord } from './contact-model.ts';

/** Says when so many calls of a campaign fail for technical reasons that it is to be paused. */
export class CircuitBreaker {
  readonly #attempts: Model<AttemptRecord>;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#attempts = database.model(attemptCollection);
    this.#clock = clock;
  }

  /** Calls that ended before the campaign was resumed are not looked at. */
  async isTripped(campaign: CampaignRecord): Promise<boolean> {
    const { enabled, failure_percent, min_calls, window_seconds } = campaign.circuit_breaker;
    if (!enabled) return false;
    const since = Math.max(this.#clock.now() - window_seconds * 1000, campaign.resumed_at?.getTime() ?? 0);
    const ended = { campaign_id: campaign._id, ended_at: { $gt: new Date(since) } };
    const [calls, failures] = await Promise.all([
      this.#attempts.countDocuments(ended),
      this.#attempts.countDocuments({ ...ended, technical: true }),
    ]);
    return calls >= min_calls && failures * 100 >= failure_percent * calls;
  }
}
