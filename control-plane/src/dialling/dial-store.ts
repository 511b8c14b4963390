import type { Model, QueryFilter } from 'mongoose';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { dialFields } from '../sessions/session-store.ts';
import type { DialState, SessionDial, SessionRecord } from '../sessions/session-record.ts';
import type { Collection } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { dialStatesBefore } from './dial-states.ts';

/** Another process does not take up what is claimed or sent for so long: longer than any request to a carrier takes. */
export const DIAL_LEASE_MS = 30_000;

type Filter = QueryFilter<SessionRecord>;

/** The dials of sessions, and the one place where their states move. */
export class DialStore {
  readonly #database: Database;
  readonly #collection: Collection<SessionRecord>;
  readonly #sessions: Model<SessionRecord>;
  readonly #clock: Clock;

  constructor(deps: { database: Database; sessions: Collection<SessionRecord>; clock: Clock }) {
    this.#database = deps.database;
    this.#collection = deps.sessions;
    this.#sessions = deps.database.model(deps.sessions);
    this.#clock = deps.clock;
  }

  /** Calls that wait, of all orgs behind `afterOrg`: by org, and then by when they may be dialled. */
  byOrg(priority: number, afterOrg: string, limit: number): Promise<SessionRecord[]> {
    return this.#sessions
      .find({ 'dial.state': 'waiting', 'dial.priority': priority, org_id: { $gt: afterOrg } })
      .sort({ org_id: 1, 'dial.not_before': 1, _id: 1 })
      .limit(limit)
      .lean<SessionRecord[]>();
  }

  /** Calls of an org that may be dialled, oldest first. */
  due(orgId: string, priority: number, where: Filter, limit: number): Promise<SessionRecord[]> {
    return this.#sessions
      .find({ $and: [{ ...this.#due(priority), org_id: orgId }, where] })
      .sort({ 'dial.not_before': 1, _id: 1 })
      .limit(limit)
      .lean<SessionRecord[]>();
  }

  /** How many calls of an org wait, counted to `limit`. */
  countWaiting(orgId: string, priority: number, limit: number): Promise<number> {
    return this.#sessions.countDocuments(
      { 'dial.state': 'waiting', 'dial.priority': priority, org_id: orgId },
      { limit },
    );
  }

  /** Those in a state, in no order that means anything. */
  inState(state: DialState, where: Filter, limit: number): Promise<SessionRecord[]> {
    return this.#sessions
      .find({ $and: [{ 'dial.state': state }, where] })
      .limit(limit)
      .lean<SessionRecord[]>();
  }

  /** The session of a dial; null for one that was given up for another, or never was. */
  byDial(dialId: string): Promise<SessionRecord | null> {
    return this.#sessions.findOne({ 'dial.id': dialId }).lean<SessionRecord>();
  }

  /** Sessions that any of these calls of an account are known to be. */
  async takenCalls(accountId: string, callIds: readonly string[], except: string): Promise<Set<string>> {
    const known = await this.#sessions
      .find({ telephony_account_id: accountId, carrier_call_id: { $in: [...callIds] }, _id: { $ne: except } })
      .select({ carrier_call_id: 1 })
      .lean<Pick<SessionRecord, 'carrier_call_id'>[]>();
    return new Set(known.flatMap(({ carrier_call_id: id }) => (id === null ? [] : [id])));
  }

  /** Takes a call up that waits: of several who try, one does. @returns null for the others */
  claim(
    session: SessionRecord,
    owner: string,
    fields: Partial<SessionRecord>,
  ): Promise<SessionRecord | null> {
    const now = this.#clock.now();
    return this.move(session._id, 'claimed', {
      where: { status: 'queued' },
      dial: {
        id: newId('dia', now),
        owner,
        lease_until: new Date(now + DIAL_LEASE_MS),
        tries: session.dial!.tries + 1,
      },
      fields,
    });
  }

  /** @returns the session as it is now; null when the dial's state does not allow it or `where` does not hold */
  move(
    sessionId: string,
    to: DialState,
    change: { where?: Filter; dial?: Partial<SessionDial>; fields?: Partial<SessionRecord> } = {},
  ): Promise<SessionRecord | null> {
    const { where = {}, dial, fields } = change;
    return this.change(
      sessionId,
      { $and: [{ 'dial.state': { $in: dialStatesBefore(to) } }, where] },
      { dial: { ...dial, state: to }, ...(fields && { fields }) },
    );
  }

  /** Changes a dial, and fields of its session that are no status. */
  change(
    sessionId: string,
    where: Filter,
    { dial, fields }: { dial?: Partial<SessionDial>; fields?: Partial<SessionRecord> },
  ): Promise<SessionRecord | null> {
    return this.#database.change(
      this.#collection,
      { $and: [{ _id: sessionId }, where] },
      { ...fields, ...dialFields(dial) },
    );
  }

  #due(priority: number) {
    return {
      'dial.state': 'waiting' as const,
      'dial.priority': priority,
      'dial.not_before': { $lte: new Date(this.#clock.now()) },
    };
  }
}
