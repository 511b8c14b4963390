import type { z } from 'zod';
import { ConflictError, NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { maskSecret } from '../crypto/secret-box.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkProjects } from '../tenancy/project-references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { sameOrigin } from './provider-accounts.ts';
import type { ProviderAccounts } from './provider-accounts.ts';
import { checkBaseUrl } from './provider-address.ts';
import { checkAccount } from './provider-check.ts';
import type { CheckResult } from './provider-check.ts';
import { providerCredentialCollection } from './provider-credential-model.ts';
import type { ProviderCredentialRecord } from './provider-credential-model.ts';
import type { createCredentialRequest, patchCredentialRequest } from './provider-credential-schema.ts';
import { providerDescriptor, standardUrl } from './providers.ts';
import type { ProviderName } from '@parley/shared/contracts/session-values';
import { MAX_PER_ORG } from './provider-store.ts';
import type { ProviderStore } from './provider-store.ts';

/** What it writes to the audit trail. */
export const PROVIDER_AUDIT = ['credential.created', 'credential.changed', 'credential.deleted'] as const;

type SentValue = string | { set: boolean; last_four: string };

/** Who asks, for the audit trail. */
export interface Origin {
  caller: Principal;
  address: string;
}

/** Accounts at providers that an org brought along. */
export class ProviderCredentialService {
  readonly #store: ProviderStore;
  readonly #accounts: ProviderAccounts;
  readonly #fetch: SafeFetch;
  readonly #box: SecretBox;
  readonly #audit: AuditLog<(typeof PROVIDER_AUDIT)[number]>;
  readonly #clock: Clock;

  constructor(deps: {
    store: ProviderStore;
    accounts: ProviderAccounts;
    fetch: SafeFetch;
    box: SecretBox;
    audit: AuditLog<(typeof PROVIDER_AUDIT)[number]>;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#accounts = deps.accounts;
    this.#fetch = deps.fetch;
    this.#box = deps.box;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
  }

  list(
    scope: Scope,
    list: ListInput & AnyOf<ProviderCredentialRecord, 'provider' | 'status'>,
  ): Promise<ListPage<ProviderCredentialRecord>> {
    const filter = { ...commonFilter(list), ...equalities({ provider: list.provider, status: list.status }) };
    return scope.collection(providerCredentialCollection).page(filter, list);
  }

  async create(
    scope: Scope,
    request: z.output<typeof createCredentialRequest>,
    origin: Origin,
  ): Promise<ProviderCredentialRecord> {
    const { provider, name, base_url: baseUrl, project_ids: projects } = request;
    await this.#check(scope, provider, { base_url: baseUrl, project_ids: projects });
    const values = takeValues(provider, request.values, {});
    const credentials = scope.collection(providerCredentialCollection);
    if ((await credentials.count({}, { limit: MAX_PER_ORG })) >= MAX_PER_ORG) {
      throw new ConflictError(
        'limit_reached',
        `Limit of credentials in an org reached (${MAX_PER_ORG}). Delete one first.`,
      );
    }
    const created = await credentials.insert({
      _id: newId('prv', this.#clock.now()),
      provider,
      name,
      ...this.#seal(values),
      base_url: baseUrl,
      project_ids: projects,
      status: 'unverified',
      last_verified_at: null,
    });
    await this.#written(scope, origin, 'credential.created', created._id);
    return created;
  }

  /** @throws ValidationError `secret_required` for another address without the values, or ConflictError */
  async update(
    scope: Scope,
    credential: ProviderCredentialRecord,
    request: z.output<typeof patchCredentialRequest>,
    origin: Origin,
  ): Promise<ProviderCredentialRecord> {
    const { provider } = credential;
    const { name, values: sent, base_url: baseUrl, project_ids: projects } = request;
    await this.#check(scope, provider, request);
    const moved =
      baseUrl !== undefined && !sameOrigin(addressOf(credential), addressOf({ provider, base_url: baseUrl }));
    const stored = moved ? {} : this.#unseal(credential);
    const values = sent || moved ? takeValues(provider, sent ?? {}, stored) : undefined;
    const changed = await scope.collection(providerCredentialCollection).update(
      { _id: credential._id, values: credential.values, base_url: credential.base_url },
      {
        $set: {
          ...(name === undefined ? {} : { name }),
          ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
          ...(projects === undefined ? {} : { project_ids: projects }),
          ...(values ? this.#seal(values) : {}),
          ...(values || baseUrl !== undefined ? { status: 'unverified', last_verified_at: null } : {}),
        },
      },
    );
    if (!changed) {
      await scope.collection(providerCredentialCollection).get(credential._id);
      throw new ConflictError(
        'version_conflict',
        'The credential was changed by another request at the same time. Retry the request.',
      );
    }
    await this.#written(scope, origin, 'credential.changed', changed._id);
    return changed;
  }

  /** At once, whatever uses it: a key that has leaked must be removable. Its models need credentials then. */
  async delete(scope: Scope, credential: ProviderCredentialRecord, origin: Origin): Promise<void> {
    const deleted = await scope.collection(providerCredentialCollection).delete({ _id: credential._id });
    if (!deleted) throw new NotFoundError();
    await this.#written(scope, origin, 'credential.deleted', credential._id);
  }

  /** Asks the provider. Only a refusal says something of the credential; a provider that is down does not. */
  async verify(
    scope: Scope,
    credential: ProviderCredentialRecord,
    signal: AbortSignal,
  ): Promise<CheckResult> {
    const result = await checkAccount(this.#accounts.open(credential), this.#fetch, signal);
    const status = result.ok ? 'valid' : result.error === 'auth' ? 'invalid' : credential.status;
    // What was changed meanwhile has not been checked.
    await scope
      .collection(providerCredentialCollection)
      .update(
        { _id: credential._id, values: credential.values, base_url: credential.base_url },
        { $set: { status, last_verified_at: new Date(this.#clock.now()) } },
      );
    this.#store.forget(scope.orgId);
    return result;
  }

  async #check(
    scope: Scope,
    provider: ProviderName,
    fields: { base_url?: string | null | undefined; project_ids?: string[] | null | undefined },
  ): Promise<void> {
    if (providerDescriptor(provider).credentialFields.length === 0) {
      throw invalid(['body', 'provider'], 'is a provider that requires no credentials', 'not_available');
    }
    if (fields.base_url != null) checkBaseUrl(this.#fetch, fields.base_url, scope.orgId);
    const references = (fields.project_ids ?? []).map((id, index) => ({
      id,
      loc: ['body', 'project_ids', index],
    }));
    await checkProjects(scope, references);
  }

  #seal(values: Record<string, string>): Pick<ProviderCredentialRecord, 'values' | 'masked'> {
    return {
      values: this.#box.encryptSecret(JSON.stringify(values)),
      masked: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, maskSecret(value)])),
    };
  }

  #unseal({ values }: ProviderCredentialRecord): Record<string, string> {
    return JSON.parse(this.#box.decryptSecret(values)) as Record<string, string>;
  }

  async #written(
    scope: Scope,
    { caller, address }: Origin,
    action: (typeof PROVIDER_AUDIT)[number],
    target: string,
  ): Promise<void> {
    this.#store.forget(scope.orgId);
    await this.#audit.record({ scope, caller, address, action, target });
  }
}

function addressOf({ provider, base_url }: Pick<ProviderCredentialRecord, 'provider' | 'base_url'>): string {
  return base_url ?? standardUrl(provider);
}

/**
 * The provider's values: as sent, or kept from what is stored.
 * @throws ValidationError `extra_forbidden`, `missing`; `secret_required` for one that is not stored for this address
 */
function takeValues(
  provider: ProviderName,
  sent: Readonly<Record<string, SentValue>>,
  stored: Readonly<Record<string, string>>,
): Record<string, string> {
  const { credentialFields } = providerDescriptor(provider);
  const details: ValidationDetail[] = Object.keys(sent)
    .filter((name) => !credentialFields.some((field) => field.name === name))
    .map((name) => ({
      loc: ['body', 'values', name],
      msg: 'Extra inputs are not permitted',
      type: 'extra_forbidden',
    }));
  const values: Record<string, string> = {};
  for (const { name } of credentialFields) {
    const given = Object.hasOwn(sent, name) ? sent[name] : undefined;
    const value = typeof given === 'string' ? given : stored[name];
    if (value !== undefined) values[name] = value;
    else {
      details.push({
        loc: ['body', 'values', name],
        msg: 'Field required: no value is stored for this address',
        type: 'secret_required',
      });
    }
  }
  if (details.length > 0) throw new ValidationError(details);
  return values;
}
