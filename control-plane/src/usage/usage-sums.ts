import type { mongo } from 'mongoose';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { BookedCall, BookedCalls } from '../billing/booked-call.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { NewFields } from '../storage/new-record.ts';
import { REPLY_BOUNDS_MS, usageEntryCollection, usageSumCollection } from './usage-model.ts';
import type { Goal, UsageEntryRecord, UsageSumRecord } from './usage-model.ts';

const QUARTER_MS = 15 * 60_000;
/** ISO 4217. */
const NO_CURRENCY = 'XXX';
/** Entries that one write adds to a sum, and so the length of its `unconfirmed`. */
const MAX_ADDED = 200;
/** Entries that are looked at to find the sums that lack some. */
const PAGE = 500;
/** Calls that are booked within this time are added together. */
const APART_MS = 1000;
/** Each loss of a race is another process's addition to the same sum. */
const MAX_ATTEMPTS = 100;

type Counted = Pick<UsageSumRecord, '_id' | 'revision' | 'unconfirmed'>;

/**
 * Sums of calls by project and quarter of an hour, which hold every call exactly once.
 *
 * A call is first stored as an entry, whose id is the session's. An addition then reads the sum's revision, marks the
 * entries of the addition before it as counted, and takes those that are not: none of them is in the sum, or the
 * revision would be another. One write adds them, notes which they were, and raises the revision; it succeeds only
 * while the revision is what was read. Whoever dies before it has added nothing, and whoever dies behind it has left
 * the note.
 */
export class UsageSums implements BookedCalls {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #entries: mongo.Collection<UsageEntryRecord>;
  readonly #sums: mongo.Collection<UsageSumRecord>;
  #task: PeriodicTask | undefined;
  #timer: Timer | undefined;
  #workedAt = -Infinity;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
    this.#entries = database.model(usageEntryCollection)
      .collection as unknown as mongo.Collection<UsageEntryRecord>;
    this.#sums = database.model(usageSumCollection).collection as unknown as mongo.Collection<UsageSumRecord>;
  }

  /** `task` runs `work`: a call that is booked wakes it. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  async booked(call: BookedCall): Promise<void> {
    if (!/^[A-Z]{3}$/.test(call.currency)) throw new Error('A call is booked in a currency that is none.');
    await this.#enter({
      ...whose(call),
      _id: call.session_id,
      connected: call.connected,
      connected_ms: call.connected_ms,
      reply_count: call.replies.count,
      reply_ms: call.replies.total_ms,
      end_reason: call.end_reason,
      latencies: call.latencies,
      amount_nano: call.amount_nano,
      currency: call.currency,
    });
  }

  /** Takes in what was found of the goal of a call that is over. The first word counts; it may be told again. */
  async goalFound(
    { _id, ended_at, ...session }: Whose & { _id: string; ended_at: Date | null },
    goal: Goal,
  ): Promise<void> {
    if (session.agent_version === null || ended_at === null) return;
    const nothing = { connected: false, connected_ms: 0, amount_nano: 0n, currency: NO_CURRENCY };
    await this.#enter({ ...whose({ ...session, ended_at }), ...nothing, _id: `${_id}:goal`, goal });
  }

  async #enter(entry: NewEntry): Promise<void> {
    try {
      await this.#database.insert(usageEntryCollection, {
        ...entry,
        created_at: new Date(this.#clock.now()),
      });
    } catch (error) {
      if (!isDuplicateKey(error, '_id')) throw error;
    }
    const waitMs = this.#workedAt + APART_MS - this.#clock.monotonic();
    if (waitMs <= 0) void this.#task?.runNow();
    else
      this.#timer ??= this.#clock.setTimeout(() => {
        this.#timer = undefined;
        void this.#task?.runNow();
      }, waitMs);
  }

  /** Adds the entries that no sum has yet. */
  async work(signal: AbortSignal): Promise<void> {
    this.#workedAt = this.#clock.monotonic();
    for (let found = PAGE; found === PAGE;) {
      const left = await this.#entries
        .find({ counted: false }, { projection: { sum_id: 1 }, limit: PAGE })
        .toArray();
      found = left.length;
      for (const sumId of new Set(left.map(({ sum_id }) => sum_id))) {
        if (signal.aborted) return;
        await this.#addTo(sumId);
      }
    }
  }

  async #addTo(sumId: string): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const sum = await this.#sums.findOne<Counted>(
        { _id: sumId },
        { projection: { revision: 1, unconfirmed: 1 } },
      );
      if (sum) await this.#confirm(sum.unconfirmed);
      const added = await this.#entries
        .find({ sum_id: sumId, counted: false }, { limit: MAX_ADDED, useBigInt64: true })
        .toArray();
      if (added.length === 0) return;
      if (!(await this.#add(sumId, sum?.revision ?? 0, added))) continue;
      await this.#confirm(added.map(({ _id }) => _id));
      if (added.length < MAX_ADDED) return;
      attempt = -1;
    }
    throw new Error(`The sum ${sumId} was changed by others all the time.`);
  }

  /** @returns whether the sum was still at this revision */
  async #add(sumId: string, revision: number, added: readonly UsageEntryRecord[]): Promise<boolean> {
    const { org_id, project_id, quarter } = added[0]!;
    const now = new Date(this.#clock.now());
    try {
      const { modifiedCount, upsertedCount } = await this.#sums.updateOne(
        { _id: sumId, revision },
        {
          $setOnInsert: { org_id, project_id, quarter, created_at: now },
          $set: {
            revision: revision + 1,
            unconfirmed: added.map(({ _id }) => _id),
            updated_at: now,
          },
          $inc: increments(added),
        } as mongo.UpdateFilter<UsageSumRecord>,
        // One that is there with another revision is refused by its id.
        { upsert: revision === 0 },
      );
      return modifiedCount + upsertedCount === 1;
    } catch (error) {
      if (isDuplicateKey(error, '_id')) return false;
      throw error;
    }
  }

  async #confirm(sessions: readonly string[]): Promise<void> {
    await this.#entries.updateMany({ _id: { $in: [...sessions] } }, { $set: { counted: true } });
  }
}

type Whose = Pick<UsageEntryRecord, 'org_id' | 'project_id' | 'agent_id' | 'agent_version'>;
type NewEntry = Omit<NewFields<UsageEntryRecord>, 'created_at'>;

/** Whose call it was, and of which sum it is. */
function whose({ org_id, project_id, agent_id, agent_version, ended_at }: Whose & { ended_at: Date }) {
  const quarter = Math.floor(ended_at.getTime() / QUARTER_MS);
  return {
    ...{ org_id, project_id, agent_id, agent_version },
    sum_id: `${project_id}:${quarter}`,
    quarter: new Date(quarter * QUARTER_MS),
  };
}

/** By path within the sum. */
function increments(added: readonly UsageEntryRecord[]): Record<string, number | bigint> {
  const by: Record<string, number | bigint> = {};
  const count = (path: string, more: number) => (by[path] = ((by[path] as number | undefined) ?? 0) + more);
  const sum = (path: string, more: bigint) => (by[path] = ((by[path] as bigint | undefined) ?? 0n) + more);
  for (const { agent_id, agent_version, goal, ...entry } of added) {
    const version = agent_id !== null && (agent_version ?? null) !== null;
    const ofVersion = version ? [`versions.${agent_id}.v${agent_version}.`] : [];
    if (goal) {
      for (const path of ofVersion) count(`${path}goals.${goal}`, 1);
      continue;
    }
    for (const path of ['', `agents.${agent_id ?? 'none'}.`, ...ofVersion]) {
      count(`${path}sessions`, 1);
      count(`${path}connected_sessions`, entry.connected ? 1 : 0);
      sum(`${path}connected_ms`, BigInt(entry.connected_ms));
      sum(`${path}amounts.${entry.currency}`, BigInt(entry.amount_nano));
    }
    // A session of an agent without a version is a test's.
    if (version || agent_id === null) {
      const path = `statistics.${agent_id ?? 'none'}.`;
      count(`${path}sessions`, 1);
      count(`${path}connected_sessions`, entry.connected ? 1 : 0);
      sum(`${path}connected_ms`, BigInt(entry.connected_ms));
      count(`${path}ended.${wordOf(entry.end_reason ?? null)}`, 1);
      if (entry.reply_count > 0)
        count(`${path}replies.b${replyBucket(entry.reply_ms / entry.reply_count)}`, 1);
      for (const [part, bars] of Object.entries(entry.latencies ?? {}))
        for (const [bar, replies] of Object.entries(bars))
          count(`${path}latencies.${part}.${bar}`, Number(replies));
    }
    for (const path of ofVersion) {
      count(`${path}reply_count`, entry.reply_count ?? 0);
      sum(`${path}reply_ms`, BigInt(entry.reply_ms ?? 0));
    }
  }
  return by;
}

/** A reason as part of a path: whatever else a gateway of another version says is `other`. */
function wordOf(reason: string | null): string {
  return reason === null ? 'unknown' : /^[a-z][a-z_]{0,39}$/.test(reason) ? reason : 'other';
}

function replyBucket(ms: number): number {
  const at = REPLY_BOUNDS_MS.findIndex((bound) => ms <= bound);
  return at === -1 ? REPLY_BOUNDS_MS.length : at;
}
