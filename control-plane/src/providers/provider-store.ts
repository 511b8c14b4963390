import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import { DIRECTORY_TTL_MS } from '../tenancy/directory.ts';
import { ownModelCollection } from './own-model-model.ts';
import type { OwnModelRecord } from './own-model-model.ts';
import { providerCredentialCollection } from './provider-credential-model.ts';
import type { ProviderCredentialRecord } from './provider-credential-model.ts';

/** Of each kind and org: they are read together for every session that starts. */
export const MAX_PER_ORG = 200;

export interface OrgProviders {
  /** Oldest first. */
  credentials: readonly ProviderCredentialRecord[];
  /** Newest first. */
  models: readonly OwnModelRecord[];
}

/** What an org has added to the installation's providers: read at each use, remembered for seconds. */
export interface OrgProviderSource {
  ofOrg(orgId: string): Promise<OrgProviders>;
}

export class ProviderStore implements OrgProviderSource {
  readonly #database: Database;
  readonly #cache: ExpiringCache<OrgProviders>;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#cache = new ExpiringCache({ clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 5000 });
  }

  ofOrg(orgId: string): Promise<OrgProviders> {
    return this.#cache.get(orgId, async () => {
      const [credentials, models] = await Promise.all([
        this.#database
          .model(providerCredentialCollection)
          .find({ org_id: orgId })
          .sort({ created_at: 1, _id: 1 })
          .limit(MAX_PER_ORG)
          .lean<ProviderCredentialRecord[]>(),
        this.#database
          .model(ownModelCollection)
          .find({ org_id: orgId })
          .sort({ created_at: -1, _id: -1 })
          .limit(MAX_PER_ORG)
          .lean<OwnModelRecord[]>(),
      ]);
      return { credentials, models };
    });
  }

  /** Call after a write, so that this process sees it at once. */
  forget(orgId: string): void {
    this.#cache.forget(orgId);
  }
}
