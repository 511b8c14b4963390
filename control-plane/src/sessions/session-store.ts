import type { Model, QueryFilter } from 'mongoose';
import { TERMINAL_STATUSES, type SessionStatus } from '@parley/shared/contracts/session-values';
import type { Database } from '../storage/database.ts';
import {
  ADMITTING_STATUSES,
  isTerminal,
  stateAfterEnd,
  statesBefore,
  type TerminalStatus,
} from './session-states.ts';
import { sessionCollection } from './session-model.ts';
import type { LegAccount, SessionDial, SessionRecord } from './session-record.ts';
import { wordsOf } from './session-words.ts';

/** The log that receives the events of sessions. */
export interface SessionEventLog {
  /**
   * Adds an event of the control plane behind the last one.
   * @param event.key makes it happen once: a second event of the same session and key changes nothing
   * @param event.first the session is new: there is probably no event of it
   * @param event.alone nobody has joined it: there are probably no events of it but those of control planes
   */
  append(
    owner: { session_id: string; org_id: string; project_id: string },
    event: {
      type: string;
      data: Record<string, unknown>;
      key?: string;
      offsetMs?: number;
      first?: boolean;
      alone?: boolean;
    },
  ): Promise<void>;
}

/** Everything but status and identity. */
export type SessionChange = Partial<
  Omit<SessionRecord, '_id' | 'org_id' | 'project_id' | 'status' | 'created_at' | 'updated_at'>
>;

/** The fields of a new session; the store fills in all others. */
export type NewSessionRecord = Partial<SessionRecord> &
  Pick<
    SessionRecord,
    | '_id'
    | 'org_id'
    | 'project_id'
    | 'channel'
    | 'direction'
    | 'transport'
    | 'status'
    | 'llm_id'
    | 'stt_id'
    | 'tts_id'
  >;

export interface Transition {
  set?: SessionChange;
  /** Fields of the session's dial, which it must have. */
  dial?: Partial<SessionDial>;
  /** Further conditions; the states that may come before are always one. */
  where?: QueryFilter<SessionRecord>;
  /** Names the cause of the move, so that a repetition writes its event only once. */
  cause?: string;
}

/** Stored sessions, and the one place where their status moves. */
export class SessionStore {
  readonly #database: Database;
  readonly #sessions: Model<SessionRecord>;
  readonly #log: SessionEventLog;

  constructor({ database, events }: { database: Database; events: SessionEventLog }) {
    this.#database = database;
    this.#sessions = database.model(sessionCollection);
    this.#log = events;
  }

  find(sessionId: string): Promise<SessionRecord | null> {
    return this.#sessions.findOne({ _id: sessionId }).lean<SessionRecord>();
  }

  findMany(
    filter: QueryFilter<SessionRecord>,
    { limit, sort = { _id: 1 } }: { limit: number; sort?: Record<string, 1 | -1> },
  ): Promise<SessionRecord[]> {
    return this.#sessions.find(filter).sort(sort).limit(limit).lean<SessionRecord[]>();
  }

  /** The session of a carrier's call. */
  findCall(accountId: string, carrierCallId: string): Promise<SessionRecord | null> {
    return this.#sessions
      .findOne({ telephony_account_id: accountId, carrier_call_id: carrierCallId })
      .lean<SessionRecord>();
  }

  /**
   * @param beside is done while the session's first event is written
   * @throws MongoServerError 11000 when the carrier's call has a session already
   */
  async insert(
    record: NewSessionRecord,
    beside?: (session: SessionRecord) => Promise<unknown>,
  ): Promise<SessionRecord> {
    const stored = { ...record, numbers: numbersOf(record), words: wordsOf(record) };
    const created = await this.#database.insert(sessionCollection, stored);
    await Promise.all([this.notify(created, 'begin', { first: true }), beside?.(created)]);
    return created;
  }

  /** Changes fields that are no status. @returns the session as it is now, or null when `where` does not hold */
  change(
    sessionId: string,
    set: SessionChange,
    where: QueryFilter<SessionRecord> = {},
  ): Promise<SessionRecord | null> {
    const known =
      'from_number' in set && 'to_number' in set
        ? { ...set, numbers: numbersOf(set), words: wordsOf(set) }
        : set;
    return this.#write({ $and: [{ _id: sessionId }, where] }, known);
  }

  /** Notes what a leg used; the same leg again replaces it. @returns the session as it is now, or null */
  accountLeg(sessionId: string, leg: number, account: LegAccount): Promise<SessionRecord | null> {
    return this.#write({ _id: sessionId }, { [`legs.${leg}`]: account });
  }

  /** Moves a live session in one atomic step, and writes an event of it.
   * @returns the session as it is now; null when its state does not allow it or `where` does not hold
   */
  async transition(
    sessionId: string,
    to: Exclude<SessionStatus, TerminalStatus>,
    options: Transition = {},
  ): Promise<SessionRecord | null> {
    const moved = await this.#move(sessionId, to, options);
    if (moved) {
      await this.notify(moved, options.cause);
      return moved;
    }
    if (options.cause === undefined) return null;
    // A crash may have come between the move and its event: a repetition of the cause writes the event.
    const now = await this.#sessions.findOne({ _id: sessionId, status: to }).lean<SessionRecord>();
    if (now) await this.notify(now, options.cause);
    return null;
  }

  /** All that follows the end of a session is done; for its dial, there is nothing more to do. */
  async followedUp({ _id, dial }: SessionRecord): Promise<void> {
    await this.#write(
      { _id },
      { follow_up: false, ...dialFields(dial && { state: stateAfterEnd(dial.state) }) },
    );
  }

  /**
   * The last move, of which nobody is told yet: `follow_up` says that the rest is still to be done.
   * @returns as `transition`
   */
  end(sessionId: string, to: TerminalStatus, options: Transition): Promise<SessionRecord | null> {
    return this.#move(sessionId, to, { ...options, set: { ...options.set, follow_up: true } });
  }

  #move(
    sessionId: string,
    to: SessionStatus,
    { set, dial, where }: Transition,
  ): Promise<SessionRecord | null> {
    return this.#write(
      { $and: [{ _id: sessionId, status: { $in: statesBefore(to) } }, where ?? {}] },
      { ...set, ...dialFields(dial), status: to },
    );
  }

  #write(where: QueryFilter<SessionRecord>, set: Record<string, unknown>): Promise<SessionRecord | null> {
    return this.#database.change(sessionCollection, where, set);
  }

  /**
   * Binds the session to the socket that claimed a credential of it: the first one, or a new leg.
   * @returns the session with its leg, or null when its state admits nobody
   */
  async admit(
    sessionId: string,
    socket: { gatewayId: string; claimId: string; carrierCallId: string | null },
    at: Date,
  ): Promise<SessionRecord | null> {
    const sameCall =
      socket.carrierCallId === null ? {} : { carrier_call_id: { $in: [null, socket.carrierCallId] } };
    const set = {
      gateway_id: socket.gatewayId,
      claim_id: socket.claimId,
      claimed_at: at,
      unheld_since: null,
      ...(socket.carrierCallId === null ? {} : { carrier_call_id: socket.carrierCallId }),
    };
    return this.#sessions
      .findOneAndUpdate(
        {
          _id: sessionId,
          status: { $in: [...ADMITTING_STATUSES] },
          claim_id: { $ne: socket.claimId },
          ...sameCall,
        },
        { $set: set, $inc: { leg: 1 } },
        { returnDocument: 'after' },
      )
      .lean<SessionRecord>();
  }

  /** Replaces what the reaper had to guess by the report's facts. Changes no status. */
  replaceVerdict(sessionId: string, set: SessionChange): Promise<SessionRecord | null> {
    return this.change(
      sessionId,
      { ...set, follow_up: true },
      {
        status: { $in: [...TERMINAL_STATUSES] },
        closed_by: { $in: ['reaper', 'carrier'] },
        report_id: null,
      },
    );
  }

  /** Writes an event of the session's state: once for each cause, if one is given. */
  async notify(
    session: SessionRecord,
    cause: string | undefined,
    options: { first?: boolean } = {},
  ): Promise<void> {
    const { status, ended_by, hangup_reason, failure_reason, carrier_cause: words } = session;
    const over = isTerminal(status)
      ? { ended_by, hangup_reason, failure_reason, ...(words !== null && { cause: words }) }
      : {};
    await this.#log.append(owner(session), {
      type: 'state',
      data: { status, ...over },
      ...(cause === undefined ? {} : { key: `${status}_${cause}` }),
      offsetMs: session.started_at ? Math.max(0, Date.now() - session.started_at.getTime()) : 0,
      alone: session.leg === -1,
      ...options,
    });
  }
}

/** Each by its path: others of the dial may change at the same time. */
export function dialFields(dial?: Partial<SessionDial> | null): Record<`dial.${string}`, unknown> {
  return Object.fromEntries(Object.entries(dial ?? {}).map(([name, value]) => [`dial.${name}`, value]));
}

export function owner(session: Pick<SessionRecord, '_id' | 'org_id' | 'project_id'>) {
  return { session_id: session._id, org_id: session.org_id, project_id: session.project_id };
}

function numbersOf({ from_number, to_number }: Partial<Pick<SessionRecord, 'from_number' | 'to_number'>>) {
  return [from_number, to_number].filter((number) => typeof number === 'string');
}
