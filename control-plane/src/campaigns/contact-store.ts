import type { Model, QueryFilter } from 'mongoose';
import { nameWords } from '../composition/name-words.ts';
import type { Database } from '../storage/database.ts';
import { contactAfter, contactsBefore } from './campaign-states.ts';
import type { ContactEvent, ContactStatus } from './campaign-states.ts';
import { contactCollection } from './contact-model.ts';
import type { ContactRecord } from './contact-model.ts';

/** Fields that a move may set. */
export type ContactChange = Partial<
  Omit<
    ContactRecord,
    | '_id'
    | 'org_id'
    | 'project_id'
    | 'campaign_id'
    | 'status'
    | 'revision'
    | 'counted'
    | 'counted_batch'
    | 'uncounted'
    | 'created_at'
    | 'updated_at'
  >
>;
type Tallies = Partial<
  Record<'attempts_made' | 'round_attempts' | 'answered_count' | 'voicemail_count', number>
>;

export interface ContactMove {
  set?: ContactChange;
  /** What numbers rise by. */
  add?: Tallies;
}

/** What is kept of nobody's name. */
const NO_NAME = nameWords(null);

/** Stored contacts, and the one place where their status moves. Their campaign is to be counted after it. */
export class ContactStore {
  readonly #database: Database;
  readonly #contacts: Model<ContactRecord>;

  constructor({ database }: { database: Database }) {
    this.#database = database;
    this.#contacts = database.model(contactCollection);
  }

  read(contactId: string): Promise<ContactRecord | null> {
    return this.#database.read(contactCollection, contactId);
  }

  find(
    filter: QueryFilter<ContactRecord>,
    { limit, sort = { _id: 1 } }: { limit: number; sort?: Record<string, 1 | -1> },
  ): Promise<ContactRecord[]> {
    return this.#contacts.find(filter).sort(sort).limit(limit).lean<ContactRecord[]>();
  }

  async exists(filter: QueryFilter<ContactRecord>): Promise<boolean> {
    return (await this.#contacts.exists(filter)) !== null;
  }

  count(filter: QueryFilter<ContactRecord>, limit: number): Promise<number> {
    return this.#contacts.countDocuments(filter, { limit });
  }

  /**
   * Moves a contact in one atomic step.
   * @param where which one, and in which condition
   * @returns the contact as it is now; null when its state does not allow it or `where` does not hold
   */
  move(
    where: QueryFilter<ContactRecord> & { _id: string },
    event: ContactEvent,
    move: ContactMove = {},
  ): Promise<ContactRecord | null> {
    return this.#contacts
      .findOneAndUpdate({ $and: [where, movable(event)] }, changeOf(event, move), {
        returnDocument: 'after',
      })
      .lean<ContactRecord>();
  }

  /** The same for many. @returns how many have moved */
  async moveAll(
    where: QueryFilter<ContactRecord>,
    event: ContactEvent,
    move: ContactMove = {},
  ): Promise<number> {
    return (await this.#contacts.updateMany({ $and: [where, movable(event)] }, changeOf(event, move)))
      .modifiedCount;
  }

  /** Changes fields that are no status, and are not counted. */
  async change(where: QueryFilter<ContactRecord>, set: ContactChange): Promise<void> {
    await this.#contacts.updateMany(where, { $set: set });
  }

  /** Takes contacts away, whatever their state: they are deleted when they are counted. @returns how many there were */
  async remove(where: QueryFilter<ContactRecord>): Promise<number> {
    const gone = {
      ...{ removed: true, uncounted: true, due_at: null, unique_number: null, external_id: null },
      words: NO_NAME,
    };
    const { modifiedCount } = await this.#contacts.updateMany(
      { $and: [where, { removed: false }] },
      { $set: gone, $inc: { revision: 1 } },
    );
    return modifiedCount;
  }
}

function movable(event: ContactEvent): QueryFilter<ContactRecord> {
  return { status: { $in: contactsBefore(event) }, removed: false };
}

function changeOf(event: ContactEvent, { set, add }: ContactMove) {
  // Each event leads to one state, whatever the state before.
  const status: ContactStatus = contactAfter(contactsBefore(event)[0]!, event)!;
  return { $set: { ...set, status, uncounted: true }, $inc: { ...add, revision: 1 } };
}
