import { costOf, NOTHING_USED } from '@parley/shared/contracts/call-prices';
import type { CallPrices } from '@parley/shared/contracts/call-prices';
import type { CallMetrics } from '@parley/shared/contracts/call-events';
import type { Channel, Direction } from '@parley/shared/contracts/session-values';
import type { Clock } from '@parley/shared/time/clock';
import type { LogHistogram } from '@parley/shared/values/log-histogram';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { BookedCall, BookedCalls } from './booked-call.ts';
import { costEntryCollection } from './cost-entry-model.ts';
import type { CostEntryRecord } from './cost-entry-model.ts';
import type { PlannedModel, Rates } from './rates.ts';
import { usageByAgent } from './usage-by-agent.ts';
import type { SharedUsage } from './usage-by-agent.ts';
import type { Wallets } from './wallets.ts';

/** A session as far as its cost depends on it: of `SessionRecord`. */
export interface CostedSession extends SharedUsage {
  _id: string;
  org_id: string;
  project_id: string;
  agent_id: string | null;
  agent_version: number | null;
  hangup_reason: string | null;
  failure_reason: string | null;
  test_run_id: string | null;
  parent_session_id?: string | null;
  channel: Channel;
  direction: Direction;
  to_number: string | null;
  llm_id: string;
  stt_id: string;
  tts_id: string;
  tts_voice_id: string | null;
  started_at: Date | null;
  ended_at: Date | null;
  duration_seconds: number | null;
  metrics: CallMetrics | null;
  reply_latencies?: Record<string, LogHistogram> | null;
  closed_by: string | null;
  campaign_id: string | null;
}

/** A session that is about to be made. */
export type NewCostedSession = Pick<
  CostedSession,
  | '_id'
  | 'org_id'
  | 'project_id'
  | 'channel'
  | 'direction'
  | 'to_number'
  | 'llm_id'
  | 'stt_id'
  | 'tts_id'
  | 'tts_voice_id'
>;

/** The models that a session may use. */
type PlannedModels = () => Promise<readonly PlannedModel[]>;

/** How late the change of a currency may be seen by what costs nothing. */
const CURRENCY_MS = 4000;

/** Whole numbers of 64 bits, as the driver reads them. */
type Stored<T> = { [K in keyof T]: T[K] extends bigint | null ? T[K] | number : T[K] };

/**
 * What sessions cost, from the money set aside for one before it is made to its booking. An entry is `reserved` while
 * its session runs and `booked` for good by one conditional write: whoever comes second books the amount of the first.
 */
export class CallCosts {
  readonly #database: Database;
  readonly #rates: Rates;
  readonly #wallets: Wallets;
  readonly #booked: BookedCalls;
  readonly #clock: Clock;
  /** Of orgs, for calls that cost nothing. */
  readonly #currencies: ExpiringCache<string>;

  constructor(deps: {
    database: Database;
    rates: Rates;
    wallets: Wallets;
    bookedCalls: BookedCalls;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#rates = deps.rates;
    this.#wallets = deps.wallets;
    this.#booked = deps.bookedCalls;
    this.#clock = deps.clock;
    this.#currencies = new ExpiringCache({ clock: deps.clock, ttlMs: CURRENCY_MS, maxEntries: 10_000 });
  }

  /**
   * Sets aside what the first minute of a session costs at least, where its org pays in advance.
   * @throws PaymentRequiredError when that is not available
   */
  reserve(session: NewCostedSession): Promise<void> {
    return this.#wallets.hold(session.org_id, session._id, async () => {
      const prices = await this.#pricesFor(session);
      return prices ? BigInt(prices.per_minute) + BigInt(prices.stt_minute) : 0n;
    });
  }

  /** Gives back what was set aside for a session that was not made. */
  release(session: Pick<CostedSession, '_id' | 'org_id'>): Promise<void> {
    return this.#wallets.release(session.org_id, session._id);
  }

  /**
   * Fixes the prices of a session whose first leg begins; those of later legs are the same. Where another agent takes it
   * over, what its models cost is fixed then.
   * @param session with the models of the agent that speaks
   * @param models all that the agent may use; asked for where prices are to be fixed
   * @returns null where there are no rates; `spent`: what was counted before
   */
  async open(
    session: CostedSession,
    models: PlannedModels,
  ): Promise<(CallPrices & { spent: number }) | null> {
    const handOver = session.hand_overs?.at(-1);
    // What had no prices when it began has none later.
    const entry =
      (await this.#find(session._id)) ?? (handOver ? null : await this.#insertReserved(session, models));
    if (!entry?.prices) return null;
    const prices = handOver
      ? await this.#pricesFrom(handOver.handover_id, entry, session, models)
      : entry.prices;
    return { ...prices, spent: Number(entry.reserved_nano) };
  }

  /** Notes what a gateway has counted of a session that runs: more than before, or nothing changes. */
  async spent(sessionId: string, amount: bigint): Promise<void> {
    const entry = await this.#database
      .model(costEntryCollection)
      .findOneAndUpdate(
        { _id: sessionId, state: 'reserved', reserved_nano: { $lt: amount } },
        { $set: { reserved_nano: amount } },
      )
      .lean<Pick<CostEntryRecord, 'org_id'>>();
    if (entry) await this.#wallets.raise(entry.org_id, sessionId, amount);
  }

  /**
   * Books a session that is over. Each of the three steps may be repeated: the entry keeps its first amount, the wallet
   * pays for a hold once, and who sums up calls takes each session once.
   * @returns the amount, of 10⁻⁹ of the currency
   */
  async book(session: CostedSession): Promise<bigint> {
    const entry = await this.#close(session);
    const amount = BigInt(entry.amount_nano ?? 0);
    await this.#wallets.settle(session.org_id, session._id, 'call', amount);
    await this.#booked.booked({
      session_id: session._id,
      org_id: session.org_id,
      project_id: session.project_id,
      agent_id: session.agent_id,
      // Tests, and calls to whom callers are transferred to, say nothing of how good a version is.
      agent_version:
        session.test_run_id === null && session.parent_session_id == null ? session.agent_version : null,
      channel: session.channel,
      direction: session.direction,
      connected: session.started_at !== null,
      connected_ms: connectedMs(session),
      replies: repliesOf(session.metrics),
      latencies: session.reply_latencies ?? null,
      end_reason: session.hangup_reason ?? session.failure_reason,
      ended_at: session.ended_at ?? entry.booked_at ?? new Date(this.#clock.now()),
      amount_nano: amount,
      currency: entry.currency,
    });
    return amount;
  }

  /** What the calls of a campaign have cost: those that are over, and of those under way what is counted so far. */
  async spentBy(campaignId: string): Promise<bigint> {
    const sums = await this.#database
      .model(costEntryCollection)
      .collection.aggregate<{ _id: string; booked: bigint; reserved: bigint }>(
        [
          { $match: { campaign_id: campaignId } },
          {
            $group: {
              _id: '$state',
              booked: { $sum: '$amount_nano' },
              reserved: { $sum: '$reserved_nano' },
            },
          },
        ],
        { useBigInt64: true },
      )
      .toArray();
    return sums.reduce(
      (sum, { _id, booked, reserved }) => sum + BigInt(_id === 'booked' ? booked : reserved),
      0n,
    );
  }

  /** The entry of the session, booked: now, or by whoever was first. */
  async #close(session: CostedSession): Promise<Stored<CostEntryRecord>> {
    const booked = { state: 'booked', booked_at: new Date(this.#clock.now()) } as const;
    // Of one that nobody has joined there is none as a rule.
    const probable = session.started_at === null ? null : await this.#find(session._id);
    if (!probable) {
      const currency = await this.#currencies.get(session.org_id, () => this.#rates.currency(session.org_id));
      const entry = { ...tenantOf(session), ...booked, currency, reserved_nano: 0n, amount_nano: 0n };
      const inserted = await this.#insert(entry);
      if (inserted) return inserted;
    }
    const known = probable ?? (await this.#find(session._id))!;
    if (known.state === 'booked') return known;
    const changed = await this.#database
      .model(costEntryCollection)
      .findOneAndUpdate(
        { _id: session._id, state: 'reserved', reserved_nano: BigInt(known.reserved_nano) },
        { $set: { ...booked, amount_nano: amountOf(session, known) } },
        { returnDocument: 'after' },
      )
      .lean<Stored<CostEntryRecord>>();
    return changed ?? this.#close(session);
  }

  async #insertReserved(
    session: CostedSession,
    models: PlannedModels,
  ): Promise<Stored<CostEntryRecord> | null> {
    const prices = await this.#pricesFor(session, models);
    if (!prices) return null;
    const { currency } = prices;
    const entry = { ...tenantOf(session), state: 'reserved' as const, currency, prices, reserved_nano: 0n };
    return (await this.#insert(entry)) ?? this.#find(session._id);
  }

  /** The prices from a hand-over on: a minute costs what it did, and so does everything without rates in its currency. */
  async #pricesFrom(
    handover_id: string,
    entry: Stored<CostEntryRecord>,
    session: CostedSession,
    models: PlannedModels,
  ): Promise<CallPrices> {
    const first = entry.prices!;
    const known = pricesAfter(handover_id, entry);
    if (known) return known;
    const now = await this.#pricesFor(session, models);
    const prices = now?.currency === first.currency ? { ...now, per_minute: first.per_minute } : first;
    const changed = await this.#database
      .model(costEntryCollection)
      .findOneAndUpdate(
        { _id: entry._id, state: 'reserved', 'hand_overs.handover_id': { $ne: handover_id } },
        { $push: { hand_overs: { handover_id, prices } } },
        { returnDocument: 'after' },
      )
      .lean<Stored<CostEntryRecord>>();
    const stored = changed ?? (await this.#find(entry._id));
    return (stored && pricesAfter(handover_id, stored)) ?? prices;
  }

  /** @returns null when there is one already */
  async #insert(
    entry: Omit<CostEntryRecord, 'created_at' | 'updated_at' | 'amount_nano' | 'booked_at' | 'prices'> &
      Partial<CostEntryRecord>,
  ): Promise<CostEntryRecord | null> {
    try {
      return await this.#database.insert(costEntryCollection, entry);
    } catch (error) {
      if (isDuplicateKey(error, '_id')) return null;
      throw error;
    }
  }

  #find(sessionId: string): Promise<Stored<CostEntryRecord> | null> {
    return this.#database.read(costEntryCollection, sessionId);
  }

  #pricesFor(session: NewCostedSession, planned?: PlannedModels): Promise<CallPrices | null> {
    return this.#rates.pricesFor(
      {
        orgId: session.org_id,
        projectId: session.project_id,
        channel: session.channel,
        direction: session.direction,
        to: session.to_number,
        models: { stt: session.stt_id, llm: session.llm_id, tts: session.tts_id },
        voice: session.tts_voice_id,
      },
      planned,
    );
  }
}

function tenantOf({ _id, org_id, project_id, agent_id, campaign_id }: CostedSession) {
  return { _id, org_id, project_id, agent_id, campaign_id };
}

/**
 * By the report of the call, each agent's part by its own models; where it is missing, by its time, and at least what its gateway
 * had counted.
 */
function amountOf(session: CostedSession, entry: Stored<CostEntryRecord>): bigint {
  const { prices, reserved_nano } = entry;
  if (!prices) return 0n;
  let cost = costOf(prices, { ...NOTHING_USED, connected_ms: connectedMs(session) });
  for (const [handOver, used] of usageByAgent(session))
    cost += costOf((handOver === null ? null : pricesAfter(handOver, entry)) ?? prices, {
      ...{ ...used, connected_ms: 0 },
    });
  const counted = BigInt(reserved_nano);
  return session.closed_by === 'report' || counted < cost ? cost : counted;
}

/** The prices that hold from a hand-over on; undefined: those of the first agent. */
function pricesAfter(handOver: string, { hand_overs }: Stored<CostEntryRecord>): CallPrices | undefined {
  return hand_overs?.find(({ handover_id }) => handover_id === handOver)?.prices;
}

function repliesOf(metrics: CallMetrics | null): BookedCall['replies'] {
  const { count = 0, avg = 0 } = metrics?.turn_e2e_ms ?? {};
  return { count, total_ms: Math.round(count * avg) };
}

function connectedMs({ started_at, duration_seconds }: CostedSession): number {
  return started_at === null ? 0 : Math.max(0, Math.round((duration_seconds ?? 0) * 1000));
}
