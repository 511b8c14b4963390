import type { Model } from 'mongoose';
import type { Database } from '../storage/database.ts';
import { attemptCollection, CONTACT_OUTCOMES } from './contact-model.ts';
import type { AttemptRecord, ContactOutcome } from './contact-model.ts';

/** Lengths of the stretches that a campaign is told in, in seconds: from a minute to four weeks. */
const LENGTHS = [60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_419_200] as const;
/** Stretches that are told at most. */
export const MAX_STRETCHES = 36;

/** Attempts that ended in a stretch of time. */
export interface OutcomeStretch {
  from: Date;
  to: Date;
  /** By what they came to, each that occurred. */
  outcomes: { outcome: ContactOutcome; attempts: number }[];
}

/** What the calls of campaigns came to, over time. */
export class CampaignOutcomes {
  readonly #attempts: Model<AttemptRecord>;

  constructor({ database }: { database: Database }) {
    this.#attempts = database.model(attemptCollection);
  }

  /**
   * The attempts of a campaign that are over, in stretches of one length without gaps, the oldest first. Of a campaign that
   * is longer than `MAX_STRETCHES` of the longest length, the last ones.
   */
  async of(campaignId: string): Promise<{ lengthSeconds: number | null; stretches: OutcomeStretch[] }> {
    const [first, last] = await Promise.all([this.#endOf(campaignId, 1), this.#endOf(campaignId, -1)]);
    if (!first || !last) return { lengthSeconds: null, stretches: [] };
    const length = LENGTHS.find((one) => stretchesOf(first, last, one) <= MAX_STRETCHES) ?? LENGTHS.at(-1)!;
    const end = startOf(last, length) + length;
    const begin = Math.max(startOf(first, length), end - MAX_STRETCHES * length);
    const starts = Array.from({ length: (end - begin) / length }, (_, n) => begin + n * length);
    const time = (seconds: number) => new Date(seconds * 1000);
    const occurred = await this.#countEach(campaignId, time(begin), time(end), CONTACT_OUTCOMES);
    const which = occurred.map(({ outcome }) => outcome);
    const stretches = await Promise.all(
      starts.map(async (start) => {
        const [from, to] = [time(start), time(start + length)];
        return { from, to, outcomes: await this.#countEach(campaignId, from, to, which) };
      }),
    );
    return { lengthSeconds: length, stretches };
  }

  /** When the first, or the last, attempt was over, in seconds. */
  async #endOf(campaign_id: string, order: 1 | -1): Promise<number | null> {
    const attempt = await this.#attempts
      .findOne({ campaign_id, ended_at: { $gt: new Date(0) } })
      .sort({ ended_at: order })
      .select({ ended_at: 1 })
      .lean<Pick<AttemptRecord, 'ended_at'>>();
    return attempt ? Math.floor(attempt.ended_at!.getTime() / 1000) : null;
  }

  async #countEach(
    campaign_id: string,
    from: Date,
    to: Date,
    which: readonly ContactOutcome[],
  ): Promise<OutcomeStretch['outcomes']> {
    const counted = await Promise.all(
      which.map(async (outcome) => ({
        outcome,
        // Keys of an index are counted, and no attempt is read.
        attempts: await this.#attempts.countDocuments({
          ...{ campaign_id, outcome },
          ended_at: { $gte: from, $lt: to },
        }),
      })),
    );
    return counted.filter(({ attempts }) => attempts > 0);
  }
}

function startOf(seconds: number, length: number): number {
  return Math.floor(seconds / length) * length;
}

function stretchesOf(first: number, last: number, length: number): number {
  return (startOf(last, length) - startOf(first, length)) / length + 1;
}
