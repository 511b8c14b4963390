import type { z } from 'zod';
import { ValidationError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { ListPage } from '../storage/list.ts';
import { DIRECTORY_TTL_MS } from '../tenancy/directory.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkProjects } from '../tenancy/project-references.ts';
import { checkReferences, referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { CONCURRENT_RESOURCES, QUEUED_RESOURCES, rateLimitCollection } from './rate-limit-model.ts';
import type { LimitedResource, RateLimitRecord } from './rate-limit-model.ts';
import type { createRateLimitRequest, patchRateLimitRequest } from './rate-limit-schema.ts';

/** What the installation allows at most, per resource: per minute, or at one time. 0: no bound. */
export type InstallationMaximum = Record<LimitedResource, number>;

/** What a limit may be for: it holds where all that it names is so. */
export interface LimitTarget {
  orgId: string;
  projectId: string | null;
  agentId?: string | null;
  /** The telephony account whose call it is. */
  accountId?: string | null;
}

/** Where agents and telephony accounts are kept. */
export interface LimitTargets {
  agents: Collection<StoredRecord & { org_id: string; project_id: string }>;
  telephonyAccounts: Collection<StoredRecord & { org_id: string; project_ids: string[] | null }>;
}

/** Limits that an org sets itself, below those of the installation. */
export class RateLimitService {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #maximum: InstallationMaximum;
  readonly #targets: LimitTargets;
  readonly #known: ExpiringCache<RateLimitRecord[]>;

  constructor(deps: {
    database: Database;
    clock: Clock;
    maximum: InstallationMaximum;
    targets: LimitTargets;
  }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#maximum = deps.maximum;
    this.#targets = deps.targets;
    this.#known = new ExpiringCache({ clock: deps.clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 10_000 });
  }

  /** Enabled limits of a resource that hold there: all of them count. */
  async matching(resource: LimitedResource, target: LimitTarget): Promise<RateLimitRecord[]> {
    const { orgId, projectId, agentId = null, accountId = null } = target;
    const all = await this.#known.get(orgId, () =>
      this.#database
        .model(rateLimitCollection)
        .find({ org_id: orgId, enabled: true })
        .limit(1000)
        .lean<RateLimitRecord[]>(),
    );
    return all.filter(
      (limit) =>
        limit.resource === resource &&
        [null, projectId].includes(limit.project_id) &&
        [null, agentId].includes(limit.agent_id ?? null) &&
        [null, accountId].includes(limit.telephony_account_id ?? null),
    );
  }

  list(
    scope: Scope,
    list: ListInput & AnyOf<RateLimitRecord, 'resource' | 'project_id'>,
  ): Promise<ListPage<RateLimitRecord>> {
    const filter = {
      ...commonFilter(list),
      ...equalities({ resource: list.resource, project_id: list.project_id }),
    };
    return scope.collection(rateLimitCollection).page(filter, list);
  }

  /** A key's config is always of its own project. @throws ConflictError `duplicate`, ValidationError */
  async create(
    scope: Scope,
    caller: Principal,
    request: z.output<typeof createRateLimitRequest>,
  ): Promise<RateLimitRecord> {
    const { agent_id = null, telephony_account_id = null } = request;
    const agent = agent_id === null ? null : await this.#agent(scope, agent_id);
    const projectId =
      caller.auth === 'api_key' ? caller.project_id : (agent?.project_id ?? request.project_id ?? null);
    if (
      (request.project_id != null && request.project_id !== projectId) ||
      (agent && agent.project_id !== projectId)
    ) {
      throw invalid(['body', 'project_id'], 'Record not found in this project', 'reference_not_found');
    }
    if (projectId !== null) {
      await checkProjects(scope, [{ id: projectId, loc: ['body', 'project_id'] }]);
    }
    if (telephony_account_id !== null)
      await checkReferences(scope, [
        {
          collection: this.#targets.telephonyAccounts,
          id: telephony_account_id,
          loc: ['body', 'telephony_account_id'],
        },
      ]);
    const fields = {
      ...{ agent_id, telephony_account_id },
      resource: request.resource,
      limit: request.limit,
      window_seconds: request.window_seconds,
      burst: request.burst,
      action: request.action,
      enabled: request.enabled,
    };
    this.#check(fields);
    const record = await orDuplicate(
      scope
        .collection(rateLimitCollection)
        .insert({ _id: newId('rlc', this.#clock.now()), project_id: projectId, ...fields }),
      'A rate limit for this resource and target already exists.',
    );
    this.#known.forget(scope.orgId);
    return record;
  }

  async update(
    scope: Scope,
    record: RateLimitRecord,
    change: z.output<typeof patchRateLimitRequest>,
  ): Promise<RateLimitRecord> {
    const basis = ['limit', 'window_seconds', 'burst', 'action'] as const;
    const changed = await scope.collection(rateLimitCollection).change(record, basis, (current) => {
      this.#check({ ...current, ...defined(change) });
      return Promise.resolve(change);
    });
    this.#known.forget(scope.orgId);
    return changed;
  }

  async delete(scope: Scope, record: RateLimitRecord): Promise<void> {
    await scope.collection(rateLimitCollection).delete({ _id: record._id });
    this.#known.forget(scope.orgId);
  }

  /** @throws ValidationError `reference_not_found` */
  async #agent(scope: Scope, id: string): Promise<{ project_id: string }> {
    const agent = await scope.collection(this.#targets.agents).findOne({ _id: id });
    if (!agent) throw new ValidationError([referenceNotFound(['body', 'agent_id'])]);
    return agent;
  }

  #check(
    fields: Pick<
      RateLimitRecord,
      'resource' | 'limit' | 'window_seconds' | 'burst' | 'action' | 'agent_id' | 'telephony_account_id'
    >,
  ): void {
    for (const field of ['agent_id', 'telephony_account_id'] as const)
      if (fields.resource === 'api_requests' && fields[field] != null)
        throw invalid(
          ['body', field],
          'must be null for api_requests: requests are counted by org and project, whatever they are about',
        );
    if (fields.action === 'queue' && !QUEUED_RESOURCES.includes(fields.resource))
      throw invalid(
        ['body', 'action'],
        `must be reject for ${fields.resource}: only outbound calls can wait`,
      );
    const concurrent = CONCURRENT_RESOURCES.includes(fields.resource);
    if (concurrent && fields.window_seconds !== null) {
      throw invalid(['body', 'window_seconds'], 'must be null for concurrency limits');
    }
    if (!concurrent && fields.window_seconds === null)
      throw invalid(['body', 'window_seconds'], 'Field required', 'missing');
    if (fields.burst !== null && fields.resource !== 'api_requests') {
      throw invalid(['body', 'burst'], 'is allowed only for the resource api_requests');
    }
    const maximum = this.#maximum[fields.resource];
    const perMinute = concurrent ? fields.limit : (fields.limit * 60) / fields.window_seconds!;
    if (maximum > 0 && perMinute > maximum) {
      throw invalid(['body', 'limit'], `must not exceed the installation's ${maximum}`, 'less_than_equal');
    }
  }
}
