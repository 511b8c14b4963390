import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bus } from '@parley/shared/bus/bus';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { AUDIO_ASSET_FOLDER } from '../audio-assets/audio-storage.ts';
import { KNOWLEDGE_FOLDER } from '../knowledge-bases/files/knowledge-storage.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { Scope } from '../tenancy/scope.ts';
import { orgCollection } from './org-model.ts';
import type { OrgRecord } from './org-model.ts';

/** How long a deleted org can be brought back by the operator. */
const KEPT_MS = 30 * 24 * 3_600_000;
const EVERY_MS = 3_600_000;
const LEASE_MS = 600_000;

/** Removes what belongs to orgs that were deleted 30 days ago; one process of the installation at a time. */
export class OrgRemover {
  readonly #database: Database;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #collections: readonly Collection<StoredRecord>[];
  readonly #giveUp: (scope: Scope) => Promise<unknown>;
  readonly #storageDir: string;
  readonly #owner: string;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: {
    database: Database;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    collections: readonly Collection<StoredRecord>[];
    /** Gives up what an org has elsewhere. Safe to repeat. */
    giveUp: (scope: Scope) => Promise<unknown>;
    storageDir: string;
    /** Names this process in the lease. */
    owner: string;
  }) {
    this.#database = deps.database;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#collections = deps.collections;
    this.#giveUp = deps.giveUp;
    this.#storageDir = deps.storageDir;
    this.#owner = deps.owner;
  }

  /** Looks every hour, the first time in an hour. */
  start(): this {
    this.#schedule();
    return this;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.setTimeout(() => {
      this.#running = this.runOnce()
        .then(
          () => {},
          (error: unknown) => this.#logger.error({ err: error }, 'deleted orgs could not be removed'),
        )
        .then(() => this.#schedule());
    }, EVERY_MS);
  }

  /** @returns how many orgs are gone now */
  async runOnce(): Promise<number> {
    if (!(await this.#bus.leases.acquire('org-remover', this.#owner, LEASE_MS))) return 0;
    const before = new Date(this.#clock.now() - KEPT_MS);
    const due = await this.#database
      .model(orgCollection)
      .find({ status: 'deleting', deleting_since: { $lte: before } })
      .limit(100)
      .lean<OrgRecord[]>();
    for (const org of due) {
      await this.#remove(org._id);
      this.#logger.info({ orgId: org._id }, 'deleted org was removed');
    }
    return due.length;
  }

  /** Safe to repeat: the org's own record goes last. */
  async #remove(orgId: string): Promise<void> {
    await this.#giveUp(new Scope(this.#database, { orgId, projectId: null, projects: null, role: 'owner' }));
    for (const collection of this.#collections) {
      // What is no tenant's, such as who did what, outlives the org.
      if (collection.tenancy === 'none') continue;
      await this.#database.model(collection).deleteMany({ org_id: orgId } as never);
    }
    for (const folder of ['recordings', KNOWLEDGE_FOLDER, AUDIO_ASSET_FOLDER])
      await rm(join(this.#storageDir, folder, orgId), { recursive: true, force: true });
    await this.#database.model(orgCollection).deleteOne({ _id: orgId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }
}
