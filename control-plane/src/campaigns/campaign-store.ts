import type { Model, QueryFilter } from 'mongoose';
import type { Database } from '../storage/database.ts';
import { campaignCollection } from './campaign-model.ts';
import type { CampaignRecord } from './campaign-model.ts';
import { campaignAfter, campaignsBefore, FINISHED_CAMPAIGNS } from './campaign-states.ts';
import type { CampaignEvent } from './campaign-states.ts';

/** Fields that a move may set. */
export type CampaignChange = Partial<
  Pick<CampaignRecord, 'pause_reason' | 'started_at' | 'finished_at' | 'resumed_at' | 'active'>
>;

/** Stored campaigns, and the one place where their status moves. */
export class CampaignStore {
  readonly #database: Database;
  readonly #campaigns: Model<CampaignRecord>;

  constructor({ database }: { database: Database }) {
    this.#database = database;
    this.#campaigns = database.model(campaignCollection);
  }

  find(campaignId: string): Promise<CampaignRecord | null> {
    return this.#database.read(campaignCollection, campaignId);
  }

  /** Those of `ids` that call a list of people. */
  async batches(ids: readonly string[]): Promise<string[]> {
    const found = await this.#campaigns
      .find({ _id: { $in: ids }, kind: 'batch' })
      .select({ _id: 1 })
      .lean<{ _id: string }[]>();
    return found.map(({ _id }) => _id);
  }

  /** Campaigns with something to do, by id, behind `after`. */
  active(after: string, limit: number): Promise<CampaignRecord[]> {
    return this.#campaigns
      .find({ active: true, _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<CampaignRecord[]>();
  }

  /**
   * Moves a campaign in one atomic step.
   * @returns the campaign as it is now; null when its state does not allow it or `where` does not hold
   */
  async move(
    campaignId: string,
    event: CampaignEvent,
    set: CampaignChange,
    where: QueryFilter<CampaignRecord> = {},
  ): Promise<CampaignRecord | null> {
    const byTarget = Map.groupBy(campaignsBefore(event), (from) => campaignAfter(from, event)!);
    for (const [status, before] of byTarget) {
      const moved = await this.#campaigns
        .findOneAndUpdate(
          { $and: [{ _id: campaignId, status: { $in: before } }, where] },
          { $set: { ...set, status } },
          { returnDocument: 'after' },
        )
        .lean<CampaignRecord>();
      if (moved) return moved;
    }
    return null;
  }

  /** Notes the list whose people were made contacts. */
  async tookList(campaignId: string, listId: string): Promise<void> {
    await this.#campaigns.updateOne({ _id: campaignId }, { $set: { recipient_list_id: listId } });
  }

  /** There is something to do again in a campaign that is over. */
  async awaken(campaignId: string): Promise<void> {
    await this.#setActive(campaignId, true);
  }

  /** Nothing is left to be done in a campaign that is over. */
  async rest(campaignId: string): Promise<void> {
    await this.#setActive(campaignId, false);
  }

  async #setActive(campaignId: string, active: boolean): Promise<void> {
    await this.#campaigns.updateOne(
      { _id: campaignId, status: { $in: [...FINISHED_CAMPAIGNS] } },
      { $set: { active } },
      { timestamps: false },
    );
  }
}
