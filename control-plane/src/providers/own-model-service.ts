import type { z } from 'zod';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { invalid } from '../http/validation.ts';
import { defined } from '../storage/defined.ts';
import { checkReferences } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { CatalogModel, ModelCatalog } from './model-catalog.ts';
import type { createModelRequest, patchModelRequest } from './model-schema.ts';
import { ownModelCollection } from './own-model-model.ts';
import type { OwnModelRecord } from './own-model-model.ts';
import { sameOrigin } from './provider-accounts.ts';
import { checkBaseUrl } from './provider-address.ts';
import { providerCredentialCollection } from './provider-credential-model.ts';
import { providerDescriptor, standardUrl } from './providers.ts';
import { MAX_PER_ORG } from './provider-store.ts';
import type { ProviderStore } from './provider-store.ts';

/** Live records of the org that name one of these ids, such as its agents. */
export type NamingRecords = (orgId: string, ids: readonly string[]) => Promise<ErrorRef[]>;

/** What calls run on: not changed under the feet of who uses it. */
const OPERATIVE = ['base_url', 'model', 'credential_id'] as const;

/** Models that an org brought along. */
export class OwnModelService {
  readonly #store: ProviderStore;
  readonly #models: ModelCatalog;
  readonly #fetch: SafeFetch;
  readonly #naming: NamingRecords;
  readonly #clock: Clock;

  constructor(deps: {
    store: ProviderStore;
    models: ModelCatalog;
    fetch: SafeFetch;
    naming: NamingRecords;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#models = deps.models;
    this.#fetch = deps.fetch;
    this.#naming = deps.naming;
    this.#clock = deps.clock;
  }

  async create(scope: Scope, request: z.output<typeof createModelRequest>): Promise<CatalogModel> {
    const { kind, provider } = request;
    const { api, kinds } = providerDescriptor(provider);
    if (!api || !kinds.includes(kind)) {
      throw invalid(
        ['body', 'provider'],
        `has no ${kind} models that this version supports`,
        'not_available',
      );
    }
    if (api.othersServe && request.base_url === null) {
      throw invalid(['body', 'base_url'], 'Field required', 'missing');
    }
    await this.#check(scope, request);
    const models = scope.collection(ownModelCollection);
    if ((await models.count({}, { limit: MAX_PER_ORG })) >= MAX_PER_ORG) {
      throw new ConflictError(
        'limit_reached',
        `Limit of models in an org reached (${MAX_PER_ORG}). Delete one first.`,
      );
    }
    const created = await models.insert({ _id: newId(kind, this.#clock.now()), ...request, disabled: false });
    return this.#written(scope, created._id);
  }

  /** @throws ConflictError `resource_in_use` for what calls run on, while something names the model */
  async update(
    scope: Scope,
    model: OwnModelRecord,
    request: z.output<typeof patchModelRequest>,
  ): Promise<CatalogModel> {
    const { status, ...rest } = request;
    const sent = defined(rest);
    const next: OwnModelRecord = {
      ...model,
      ...sent,
      disabled: status === undefined ? model.disabled : status === 'disabled',
    };
    if (providerDescriptor(next.provider).api?.othersServe && next.base_url === null) {
      throw invalid(['body', 'base_url'], 'must be an absolute URL', 'missing');
    }
    const differs = (field: (typeof OPERATIVE)[number]) => next[field] !== model[field];
    if (differs('base_url') || differs('credential_id')) await this.#check(scope, next);
    if (OPERATIVE.some(differs) || (next.disabled && !model.disabled))
      await this.#checkUnused(scope, model._id);
    const changed = await scope
      .collection(ownModelCollection)
      .update({ _id: model._id }, { $set: { ...sent, disabled: next.disabled } });
    if (!changed) throw new NotFoundError();
    return this.#written(scope, model._id);
  }

  /** @throws ConflictError `resource_in_use` */
  async delete(scope: Scope, model: OwnModelRecord): Promise<void> {
    await this.#checkUnused(scope, model._id);
    await scope.collection(ownModelCollection).delete({ _id: model._id });
    this.#store.forget(scope.orgId);
  }

  async #check(
    scope: Scope,
    fields: Pick<OwnModelRecord, 'provider' | 'base_url' | 'credential_id'>,
  ): Promise<void> {
    const { provider, base_url: baseUrl, credential_id: id } = fields;
    if (baseUrl !== null) checkBaseUrl(this.#fetch, baseUrl, scope.orgId);
    if (id === null) return;
    const loc = ['body', 'credential_id'];
    await checkReferences(scope, [{ collection: providerCredentialCollection, id, loc }]);
    const credential = await scope.collection(providerCredentialCollection).get(id);
    if (credential.provider !== provider) throw invalid(loc, 'belongs to another provider', 'mismatch');
    // A key is sent nowhere but to the address it was entered for.
    if (!sameOrigin(credential.base_url ?? standardUrl(provider), baseUrl ?? standardUrl(provider))) {
      throw invalid(loc, 'was stored for another address than base_url', 'mismatch');
    }
  }

  async #checkUnused(scope: Scope, id: string): Promise<void> {
    const refs = await this.#naming(scope.orgId, [id]);
    if (refs.length > 0)
      throw new ConflictError('resource_in_use', 'The model is in use: see refs.', { refs });
  }

  async #written(scope: Scope, id: string): Promise<CatalogModel> {
    this.#store.forget(scope.orgId);
    const model = await this.#models.find(scope.orgId, id, scope.projectIdOrNull);
    if (!model) throw new NotFoundError();
    return model;
  }
}
