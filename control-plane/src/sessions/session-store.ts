import type { Model, QueryFilter } from 'mongoose';
import type { Bus } from '@parley/shared/bus/bus';
import { TERMINAL_STATUSES, type SessionStatus } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { CallLog } from '../calls/call-log.ts';
import type { Database } from '../storage/database.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import { ADMITTING_STATUSES, isTerminal, statesBefore } from './session-states.ts';
import { sessionCollection } from './session-model.ts';
import type { LegAccount, SessionRecord } from './session-model.ts';

/** Everything but status and identity. */
export type SessionChange = Partial<
  Omit<SessionRecord, '_id' | 'org_id' | 'project_id' | 'status' | 'created_at' | 'updated_at'>
>;

export interface Transition {
  set?: SessionChange;
  /** Further conditions; the states that may come before are always one. */
  where?: QueryFilter<SessionRecord>;
  /** Names what caused it, so that the same cause tells of it once. */
  cause?: string;
}

/** Stored sessions, and the one place where their status moves. */
export class SessionStore {
  readonly #sessions: Model<SessionRecord>;
  readonly #log: CallLog;
  readonly #tickets: WsTicketService;
  readonly #bus: Bus;
  readonly #logger: Logger;

  constructor(deps: {
    database: Database;
    callLog: CallLog;
    tickets: WsTicketService;
    bus: Bus;
    logger: Logger;
  }) {
    this.#sessions = deps.database.model(sessionCollection);
    this.#log = deps.callLog;
    this.#tickets = deps.tickets;
    this.#bus = deps.bus;
    this.#logger = deps.logger;
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

  /** @throws MongoServerError 11000 when the carrier's call has a session already */
  async insert(record: Omit<SessionRecord, 'updated_at' | 'numbers'>): Promise<SessionRecord> {
    const stored = { ...record, numbers: numbersOf(record) };
    const created = (await this.#sessions.create(stored)).toObject() as SessionRecord;
    await this.#tell(created, created.status, 'begin');
    return created;
  }

  /** Changes fields that are no status. @returns the session as it is now, or null when `where` does not hold */
  change(
    sessionId: string,
    set: SessionChange,
    where: QueryFilter<SessionRecord> = {},
  ): Promise<SessionRecord | null> {
    const known = 'from_number' in set && 'to_number' in set ? { ...set, numbers: numbersOf(set) } : set;
    return this.#sessions
      .findOneAndUpdate({ $and: [{ _id: sessionId }, where] }, { $set: known }, { returnDocument: 'after' })
      .lean<SessionRecord>();
  }

  /** Notes what a leg used; the same leg again replaces it. @returns the session as it is now, or null */
  accountLeg(sessionId: string, leg: number, account: LegAccount): Promise<SessionRecord | null> {
    return this.#sessions
      .findOneAndUpdate(
        { _id: sessionId },
        { $set: { [`legs.${leg}`]: account } },
        { returnDocument: 'after' },
      )
      .lean<SessionRecord>();
  }

  /**
   * Moves the session in one atomic step, and tells of it in its events.
   * @returns the session as it is now; null when its state does not allow it or `where` does not hold
   */
  async transition(
    sessionId: string,
    to: SessionStatus,
    options: Transition = {},
  ): Promise<SessionRecord | null> {
    const moved = await this.#sessions
      .findOneAndUpdate(
        { $and: [{ _id: sessionId, status: { $in: statesBefore(to) } }, options.where ?? {}] },
        { $set: { ...options.set, status: to } },
        { returnDocument: 'after' },
      )
      .lean<SessionRecord>();
    if (moved) {
      await this.#tell(moved, to, options.cause);
      if (isTerminal(to)) await this.#letGo(moved);
      return moved;
    }
    if (options.cause === undefined) return null;
    // A crash may have come between the step and the telling: the same cause again makes up for it.
    const now = await this.#sessions.findOne({ _id: sessionId, status: to }).lean<SessionRecord>();
    if (now) {
      await this.#tell(now, to, options.cause);
      if (isTerminal(to)) await this.#letGo(now);
    }
    return null;
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

  /** Puts the last word over what the reaper had to guess. Changes no status. */
  replaceVerdict(sessionId: string, set: SessionChange): Promise<SessionRecord | null> {
    return this.change(sessionId, set, {
      status: { $in: [...TERMINAL_STATUSES] },
      closed_by: { $in: ['reaper', 'carrier'] },
      report_id: null,
    });
  }

  async #tell(session: SessionRecord, status: SessionStatus, cause: string | undefined): Promise<void> {
    const { ended_by, hangup_reason, failure_reason } = session;
    const over = isTerminal(status) ? { ended_by, hangup_reason, failure_reason } : {};
    await this.#log.append(owner(session), {
      type: 'state',
      data: { status, ...over },
      ...(cause === undefined ? {} : { key: `${status}_${cause}` }),
      offsetMs: session.started_at ? Math.max(0, Date.now() - session.started_at.getTime()) : 0,
    });
  }

  /** What a session that is over holds no longer. */
  async #letGo(session: SessionRecord): Promise<void> {
    await this.#tickets.revokeUnclaimed(session._id);
    if (session.slot_scopes.length === 0) return;
    try {
      await this.#bus.slots.release(session._id, session.slot_scopes);
    } catch (error) {
      // Places are leases: they end by themselves.
      this.#logger.warn({ err: error, sessionId: session._id }, 'slots not given back');
    }
  }
}

export function owner(session: Pick<SessionRecord, '_id' | 'org_id' | 'project_id'>) {
  return { session_id: session._id, org_id: session.org_id, project_id: session.project_id };
}

function numbersOf({ from_number, to_number }: Partial<Pick<SessionRecord, 'from_number' | 'to_number'>>) {
  return [from_number, to_number].filter((number) => typeof number === 'string');
}
