import type { Model } from 'mongoose';
import type { Bus } from '@parley/shared/bus/bus';
import { TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';

export const RETENTION_INTERVAL_MS = 60_000;
const LEASE = 'retention';
const DAY_MS = 24 * 3_600_000;
const PAGE = 100;
/** How many sessions one round examines; the next round continues there. */
const MAX_PER_ROUND = 1000;
/** How long after a call's end its post-call work may begin; none after this time means none will. */
const REPORT_DUE_MS = 3_600_000;

/** Whether an analysis or a delivery of the session is still to be done. */
export type NeedsSession = (sessionId: string) => Promise<boolean>;

/** Whose `retention_days` hold for the sessions of a tenant. */
export interface RetainingTenants {
  orgs: Collection<StoredRecord & Days>;
  projects: Collection<StoredRecord & Days & { org_id: string }>;
}

interface Days {
  retention_days: number | null;
}

/**
 * Erases sessions whose time is over: the shortest `retention_days` of org, project and agent counts from their end.
 * 0 erases as soon as the analyses and the delivery have ended, and nothing is erased before that. The agent's is
 * the one of the version that had the call.
 */
export class Retention {
  readonly #sessions: Model<SessionRecord>;
  readonly #database: Database;
  readonly #tenants: RetainingTenants;
  readonly #erase: (session: SessionRecord) => Promise<unknown>;
  readonly #needed: readonly NeedsSession[];
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #owner: string;
  /** The position at which the last round stopped. */
  #due: AsyncGenerator<SessionRecord, void, undefined> | undefined;

  constructor(deps: {
    database: Database;
    tenants: RetainingTenants;
    /** Forgets a session that is over. */
    erase: (session: SessionRecord) => Promise<unknown>;
    needed: readonly NeedsSession[];
    bus: Bus;
    clock: Clock;
    logger: Logger;
    /** Names this process. */
    owner: string;
  }) {
    this.#database = deps.database;
    this.#tenants = deps.tenants;
    this.#sessions = deps.database.model(sessionCollection);
    this.#erase = deps.erase;
    this.#needed = deps.needed;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#owner = deps.owner;
  }

  /** One round; one process of the installation at a time. @returns how many sessions were erased */
  async sweep(signal: AbortSignal, maxPerRound = MAX_PER_ROUND): Promise<number> {
    if (!(await this.#bus.leases.acquire(LEASE, this.#owner, RETENTION_INTERVAL_MS * 3))) return 0;
    let erased = 0;
    this.#due ??= this.#walk();
    for (let seen = 0; seen < maxPerRound; seen++) {
      if (signal.aborted) return erased;
      let next: IteratorResult<SessionRecord, void>;
      try {
        next = await this.#due.next();
      } catch (error) {
        this.#due = undefined;
        throw error;
      }
      if (next.done) {
        this.#due = undefined;
        break;
      }
      if (await this.#isNeeded(next.value)) continue;
      await this.#erase(next.value);
      erased++;
    }
    if (erased > 0)
      this.#logger.info({ sessions: erased }, 'sessions were erased at the end of their retention');
    return erased;
  }

  /** Lets another process take over at once. */
  async release(): Promise<void> {
    await this.#bus.leases.release(LEASE, this.#owner);
  }

  async #isNeeded(session: SessionRecord): Promise<boolean> {
    const lately = this.#clock.now() - (session.ended_at?.getTime() ?? 0) < REPORT_DUE_MS;
    if (lately && (session.post_call_status === 'pending' || session.post_call_status === 'running'))
      return true;
    for (const needs of this.#needed) if (await needs(session._id)) return true;
    return false;
  }

  /** Whatever is due, by each rule by itself: so the shortest one holds. */
  async *#walk(): AsyncGenerator<SessionRecord, void, undefined> {
    const projects = this.#database.model(this.#tenants.projects);
    for await (const org of this.#withDays(this.#database.model(this.#tenants.orgs))) {
      const theirs = projects.find({ org_id: org._id }).select({ _id: 1 }).lean().cursor({ batchSize: PAGE });
      for await (const project of theirs) {
        yield* this.#ended({ org_id: org._id, project_id: project._id }, org.retention_days!);
      }
    }
    for await (const project of this.#withDays(projects)) {
      const { _id: project_id, org_id } = project;
      yield* this.#ended({ org_id, project_id }, project.retention_days!);
    }
    // Few different numbers over very many sessions: from each to the next.
    for (let days = -1; ;) {
      const next = await this.#sessions
        .findOne({ retention_days: { $gt: days } })
        .sort({ retention_days: 1 })
        .select({ retention_days: 1 })
        .lean<Days>();
      if (!next) return;
      days = next.retention_days!;
      yield* this.#ended({ retention_days: days }, days);
    }
  }

  async *#withDays<T extends Days & { _id: string }>(model: Model<T>): AsyncGenerator<T, void, undefined> {
    for (let after = ''; ;) {
      const page = await model
        .find({ retention_days: { $gte: 0 }, _id: { $gt: after } } as never)
        .sort({ _id: 1 })
        .limit(PAGE)
        .lean<T[]>();
      yield* page;
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = last._id;
    }
  }

  /** Those that ended so long ago, the oldest first. */
  async *#ended(
    which: Partial<Pick<SessionRecord, 'org_id' | 'project_id' | 'retention_days'>>,
    days: number,
  ): AsyncGenerator<SessionRecord, void, undefined> {
    const until = new Date(this.#clock.now() - days * DAY_MS);
    let after: { ended_at: Date; _id: string } | undefined;
    for (;;) {
      const further = after && {
        $or: [{ ended_at: { $gt: after.ended_at } }, { ended_at: after.ended_at, _id: { $gt: after._id } }],
      };
      const page = await this.#sessions
        .find({
          ...which,
          erased_at: null,
          ended_at: { ...(after && { $gte: after.ended_at }), $lte: until },
          status: { $in: [...TERMINAL_STATUSES] },
          ...further,
        })
        .sort({ ended_at: 1, _id: 1 })
        .limit(PAGE)
        .lean<SessionRecord[]>();
      yield* page;
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = { ended_at: last.ended_at!, _id: last._id };
    }
  }
}
