import type { Leases } from '@parley/shared/bus/bus';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import { isDatabaseUnreachable } from '../storage/unreachable.ts';
import type { CampaignBudget } from './campaign-budget.ts';
import type { CampaignClosing } from './campaign-closing.ts';
import type { CampaignCounters } from './campaign-counters.ts';
import type { CampaignFeed } from './campaign-feed.ts';
import type { CampaignRecord } from './campaign-model.ts';
import type { CampaignReconciler } from './campaign-reconciler.ts';
import { isFinished } from './campaign-states.ts';
import type { CampaignStore } from './campaign-store.ts';

/** Who feeds holds it; when its process dies, another takes over after this. */
const LEASE = 'campaign_feeder';
const LEASE_MS = 10_000;
export const FEED_INTERVAL_MS = 1000;
/** How often calls under way are compared with their sessions and with what they may cost, and campaigns that are over are looked at. */
const RECONCILE_MS = 15_000;
const PAGE = 100;
/** Campaigns that are tended side by side. */
const AT_ONCE = 10;
/** Rounds in a row that go wrong for reasons of our own before a campaign has failed. */
const MOST_FAILURES = 20;

/** Where a feeder runs. */
export interface FeederProcess {
  /** Names it in the lease. */
  name: string;
  bus: { leases: Leases };
  clock: Clock;
  logger: Logger;
}

/** Tends campaigns that have something to do. Of all processes one does, which holds the lease. */
export class CampaignFeeder {
  readonly #campaigns: CampaignStore;
  readonly #feed: CampaignFeed;
  readonly #reconciler: CampaignReconciler;
  readonly #budget: Pick<CampaignBudget, 'keep'>;
  readonly #closing: CampaignClosing;
  readonly #counters: CampaignCounters;
  readonly #process: FeederProcess;
  /** By campaign, when its calls were last compared with their sessions. */
  readonly #reconciled = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #woken = new Set<string>();
  #task: PeriodicTask | undefined;
  #toured = -Infinity;

  constructor(deps: {
    campaigns: CampaignStore;
    feed: CampaignFeed;
    reconciler: CampaignReconciler;
    budget: Pick<CampaignBudget, 'keep'>;
    closing: CampaignClosing;
    counters: CampaignCounters;
    process: FeederProcess;
  }) {
    this.#campaigns = deps.campaigns;
    this.#feed = deps.feed;
    this.#reconciler = deps.reconciler;
    this.#budget = deps.budget;
    this.#closing = deps.closing;
    this.#counters = deps.counters;
    this.#process = deps.process;
  }

  /** The task that runs `work`, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  /** There is something to do in a campaign. In other processes it is noticed within a second. */
  wake(campaignId: string): void {
    this.#woken.add(campaignId);
    void this.#task?.runNow();
  }

  /** One round: over all campaigns, or, in between, over those that were woken. */
  async work(signal: AbortSignal): Promise<void> {
    const { clock } = this.#process;
    const woken = [...this.#woken];
    this.#woken.clear();
    if (!(await this.#holdsLease())) return;
    const now = clock.monotonic();
    if (now - this.#toured >= FEED_INTERVAL_MS) {
      this.#toured = now;
      await this.#tour(signal);
    } else
      for (const campaignId of woken) {
        const campaign = await this.#campaigns.find(campaignId);
        if (campaign?.active) await this.#tend(campaign, true, signal);
      }
  }

  /** Lets another process take over at once. */
  async release(): Promise<void> {
    await this.#process.bus.leases.release(LEASE, this.#process.name);
  }

  async #tour(signal: AbortSignal): Promise<void> {
    const seen = new Set<string>();
    for (let after = ''; ;) {
      const page = await this.#campaigns.active(after, PAGE);
      for (let at = 0; at < page.length; at += AT_ONCE) {
        if (signal.aborted || !(await this.#holdsLease())) return;
        const next = page.slice(at, at + AT_ONCE);
        for (const { _id } of next) seen.add(_id);
        // A large campaign holds up no other.
        await settled(next.map((campaign) => this.#tend(campaign, false, signal)));
      }
      if (page.length < PAGE) break;
      after = page.at(-1)!._id;
    }
    for (const known of [this.#reconciled, this.#failures])
      for (const id of known.keys()) if (!seen.has(id)) known.delete(id);
  }

  async #tend(campaign: CampaignRecord, woken: boolean, signal: AbortSignal): Promise<void> {
    const { _id } = campaign;
    try {
      await this.#advance(campaign, woken, signal);
      this.#failures.delete(_id);
    } catch (error) {
      if (signal.aborted || isDatabaseUnreachable(error)) throw error;
      const failures = (this.#failures.get(_id) ?? 0) + 1;
      this.#failures.set(_id, failures);
      this.#process.logger.error({ err: error, campaignId: _id, failures }, 'a campaign could not be tended');
      if (failures >= MOST_FAILURES)
        await this.#campaigns.move(_id, 'fail', { finished_at: new Date(this.#process.clock.now()) });
    }
  }

  async #advance(campaign: CampaignRecord, woken: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.#process;
    const since = clock.monotonic() - (this.#reconciled.get(campaign._id) ?? -Infinity);
    const isDue = since >= RECONCILE_MS;
    if (isDue) {
      this.#reconciled.set(campaign._id, clock.monotonic());
      await this.#reconciler.reconcile(campaign, signal);
    }
    const { status, start_at } = campaign;
    let current: CampaignRecord | null = isDue ? await this.#budget.keep(campaign, signal) : campaign;
    if (status === 'scheduled' && (start_at?.getTime() ?? 0) <= clock.now())
      current = await this.#campaigns.move(campaign._id, 'start', { started_at: new Date(clock.now()) });
    if (current?.status === 'running') current = await this.#feed.feed(current, signal);
    if (current && isFinished(current.status) && (isDue || woken || !isFinished(campaign.status)))
      await this.#closing.close(current);
    else await this.#counters.count(campaign._id);
  }

  async #holdsLease(): Promise<boolean> {
    const { bus, name } = this.#process;
    return bus.leases.acquire(LEASE, name, LEASE_MS);
  }
}

/** Waits for all, whatever becomes of the others. @throws what the first of them fails with */
async function settled(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
