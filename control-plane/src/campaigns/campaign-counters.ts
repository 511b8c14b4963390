import type { Model } from 'mongoose';
import type { Database } from '../storage/database.ts';
import { campaignCollection } from './campaign-model.ts';
import type { CampaignRecord } from './campaign-model.ts';
import { CONTACT_STATUSES } from './campaign-states.ts';
import type { ContactStatus } from './campaign-states.ts';
import { contactCollection } from './contact-model.ts';
import type { ContactRecord } from './contact-model.ts';

export const COUNTERS = ['total', ...CONTACT_STATUSES, 'attempts', 'answered', 'voicemail'] as const;
/** How many contacts of a campaign are in which state, and what was tried. */
export type Counters = Record<(typeof COUNTERS)[number], number>;

/** The part of a contact that is counted. */
export interface Counted {
  status: ContactStatus;
  attempts: number;
  answered: number;
  voicemail: number;
}

/** A contact of a batch, as it was counted. */
export interface CountedContact {
  id: string;
  revision: number;
  counted: Counted;
  removed: boolean;
}

/** Contacts that are counted by one change of their campaign. */
const BATCH = 500;
/** Each loss of a race is another process's progress with the same campaign. */
const MAX_ATTEMPTS = 1000;

export function noCounters(): Counters {
  return Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Counters;
}

type CountedFields = Pick<
  ContactRecord,
  'status' | 'attempts_made' | 'answered_count' | 'voicemail_count' | 'counted' | 'revision' | 'removed'
>;
const COUNTED_FIELDS: Readonly<Record<keyof CountedFields, 1>> = {
  ...{ status: 1, attempts_made: 1, answered_count: 1, voicemail_count: 1 },
  ...{ counted: 1, revision: 1, removed: 1 },
};

/** What a contact adds to the counters of its campaign. */
export function countedOf(contact: Omit<CountedFields, 'counted' | 'revision' | 'removed'>): Counted {
  return {
    status: contact.status,
    attempts: contact.attempts_made,
    answered: contact.answered_count,
    voicemail: contact.voicemail_count,
  };
}

/** Adds a contact to counters, `times` over; -1 takes it away. */
export function addTo(counters: Counters, counted: Counted, times: 1 | -1): void {
  counters.total += times;
  counters[counted.status] += times;
  for (const name of ['attempts', 'answered', 'voicemail'] as const) counters[name] += times * counted[name];
}

/**
 * Keeps the counters of campaigns. Whoever changes a contact marks it `uncounted` in the same write; counting then takes
 * such contacts in batches. A batch is one atomic change of the campaign, which adds the differences and names the
 * contacts; afterwards these are marked as counted, and the batch is forgotten. A process that dies in between leaves the
 * batch in the campaign, and the next one marks its contacts: so each change is counted once.
 */
export class CampaignCounters {
  readonly #campaigns: Model<CampaignRecord>;
  readonly #contacts: Model<ContactRecord>;

  constructor({ database }: { database: Database }) {
    this.#campaigns = database.model(campaignCollection);
    this.#contacts = database.model(contactCollection);
  }

  /** Counts what has changed in a campaign until now. */
  async count(campaignId: string): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const campaign = await this.#campaigns
        .findOne({ _id: campaignId })
        .select({ counting: 1, counted_batches: 1 })
        .lean<Pick<CampaignRecord, 'counting' | 'counted_batches'>>();
      if (!campaign) return;
      // Read behind the number of the batch: who counts one of them meanwhile raises it.
      if (campaign.counting)
        await this.#mark(campaignId, campaign.counted_batches, campaign.counting.contacts);
      else if ((await this.#countBatch(campaignId, campaign.counted_batches)) === 'last') return;
    }
    throw new Error('The counters of a campaign were changed by others all the time.');
  }

  /**
   * Counts contacts that were just stored, without reading them again, unless somebody else has counted since.
   * @param batches `counted_batches` of the campaign, as it was read before they were stored
   * @param contacts as they were stored, `BATCH` at most
   */
  async countAdded(
    campaignId: string,
    batches: number,
    contacts: readonly (CountedFields & { _id: string })[],
  ): Promise<void> {
    if (contacts.length === 0) return;
    if (contacts.length > BATCH || !(await this.#add(campaignId, batches, contacts)))
      await this.count(campaignId);
  }

  /** Counts what processes that died have left. */
  async sweep(signal: AbortSignal): Promise<void> {
    for (let after = ''; !signal.aborted;) {
      const left = await this.#contacts
        .findOne({ uncounted: true, campaign_id: { $gt: after } })
        .sort({ campaign_id: 1 })
        .select({ campaign_id: 1 })
        .lean<Pick<ContactRecord, 'campaign_id'>>();
      if (!left) return;
      await this.count(left.campaign_id);
      after = left.campaign_id;
    }
  }

  /** @returns whether there is more to count of what had changed before */
  async #countBatch(campaignId: string, batches: number): Promise<'last' | 'more'> {
    const changed = await this.#contacts
      .find({ uncounted: true, campaign_id: campaignId })
      .sort({ _id: 1 })
      .limit(BATCH)
      .select(COUNTED_FIELDS)
      .lean<(CountedFields & { _id: string })[]>();
    if (changed.length === 0) return 'last';
    const ours = await this.#add(campaignId, batches, changed);
    return ours && changed.length < BATCH ? 'last' : 'more';
  }

  /** Counts a batch behind the batch `batches`. @returns whether no other was faster */
  async #add(
    campaignId: string,
    batches: number,
    changed: readonly (CountedFields & { _id: string })[],
  ): Promise<boolean> {
    const differences = noCounters();
    const contacts = changed.map((contact) => {
      const counted = countedOf(contact);
      if (contact.counted) addTo(differences, contact.counted, -1);
      if (!contact.removed) addTo(differences, counted, 1);
      return { id: contact._id, revision: contact.revision, counted, removed: contact.removed };
    });
    const increments = Object.entries(differences).filter(([, by]) => by !== 0);
    const ours = await this.#campaigns.findOneAndUpdate(
      { _id: campaignId, counting: null, counted_batches: batches },
      {
        $set: { counting: { contacts }, counted_batches: batches + 1 },
        ...(increments.length > 0 && {
          $inc: Object.fromEntries(increments.map(([name, by]) => [`counters.${name}`, by])),
        }),
      },
      { timestamps: false, projection: { _id: 1 } },
    );
    if (ours) await this.#mark(campaignId, batches + 1, contacts);
    return ours !== null;
  }

  /** Marks the contacts of a batch as counted, and forgets the batch. Safe to repeat, however late. */
  async #mark(campaignId: string, batch: number, contacts: readonly CountedContact[]): Promise<void> {
    const quietly = { timestamps: false };
    const alike = Map.groupBy(contacts, ({ counted, revision }) => JSON.stringify([counted, revision]));
    const marks = [...alike.values()].map((same) => {
      const { counted, revision } = same[0]!;
      const filter = { _id: { $in: same.map(({ id }) => id) }, counted_batch: { $lt: batch } };
      return { filter, revision, set: { counted, counted_batch: batch } };
    });
    const mark = (writes: { filter: object; set: object }[]) =>
      // Past the model, which would note when contacts were changed.
      this.#contacts.collection.bulkWrite(
        writes.map(({ filter, set }) => ({ updateMany: { filter, update: { $set: set } } })) as never[],
      );
    const { matchedCount } = await mark(
      marks.map(({ filter, revision, set }) => ({
        ...{ filter: { ...filter, revision }, set: { ...set, uncounted: false } },
      })),
    );
    // What has changed since is counted again.
    if (matchedCount < contacts.length) await mark(marks);
    const removed = contacts.filter((contact) => contact.removed).map(({ id }) => id);
    if (removed.length > 0) await this.#contacts.deleteMany({ _id: { $in: removed }, removed: true });
    await this.#campaigns.updateOne(
      { _id: campaignId, counted_batches: batch },
      { $set: { counting: null } },
      quietly,
    );
  }
}
