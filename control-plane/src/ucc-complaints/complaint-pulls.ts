import type { Leases } from '@parley/shared/bus/bus';
import type { Clock } from '@parley/shared/time/clock';
import type { Directory } from '../tenancy/directory.ts';
import type { ComplaintAccounts } from './complaint-accounts.ts';
import type { ComplaintFeed } from './complaint-feed.ts';

const LEASE = 'ucc-pull';
/** Accounts that are read at once. */
const PAGE = 100;
/** One account has so long. */
const ACCOUNT_MS = 60_000;

/**
 * Pulls the complaints of all accounts, of every org that has them on, on the installation's interval: carriers tell of
 * complaints by mail, and nobody should have to ask. One process at a time.
 */
export class ComplaintPulls {
  readonly #accounts: Pick<ComplaintAccounts, 'withFeed'>;
  readonly #feed: Pick<ComplaintFeed, 'pull'>;
  readonly #directory: Pick<Directory, 'org'>;
  readonly #leases: Leases;
  readonly #owner: string;
  readonly #everyMs: number;
  readonly #clock: Clock;

  constructor(deps: {
    accounts: Pick<ComplaintAccounts, 'withFeed'>;
    feed: Pick<ComplaintFeed, 'pull'>;
    directory: Pick<Directory, 'org'>;
    leases: Leases;
    /** Names this process. */
    owner: string;
    everyMs: number;
    clock: Clock;
  }) {
    this.#accounts = deps.accounts;
    this.#feed = deps.feed;
    this.#directory = deps.directory;
    this.#leases = deps.leases;
    this.#owner = deps.owner;
    this.#everyMs = deps.everyMs;
    this.#clock = deps.clock;
  }

  /** One round, of at most the interval: the next one begins with the first account again. */
  async run(signal: AbortSignal): Promise<void> {
    // Longer than the interval, so that the process that holds it keeps it; another one goes on once that has died.
    if (!(await this.#leases.acquire(LEASE, this.#owner, this.#everyMs * 1.5))) return;
    const endMs = this.#clock.now() + this.#everyMs;
    const flags = new Map<string, boolean>();
    for (let after = ''; ;) {
      const page = await this.#accounts.withFeed({ after, limit: PAGE });
      for (const account of page) {
        if (signal.aborted || this.#clock.now() >= endMs) return;
        const { org_id: orgId } = account;
        if (!flags.has(orgId)) flags.set(orgId, await this.#isOn(orgId));
        if (!flags.get(orgId)) continue;
        await this.#feed.pull([account], Math.min(endMs, this.#clock.now() + ACCOUNT_MS), signal);
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = last._id;
    }
  }

  /** Lets another process take over at once. */
  release(): Promise<void> {
    return this.#leases.release(LEASE, this.#owner);
  }

  async #isOn(orgId: string): Promise<boolean> {
    const org = await this.#directory.org(orgId);
    return org?.status === 'active' && org.feature_flags['ucc'] !== false;
  }
}
