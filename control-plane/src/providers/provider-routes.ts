import { z } from 'zod';
import { providerSchema } from '@parley/shared/contracts/session-values';
import { ForbiddenError } from '@parley/shared/errors/app-error';
import { anyOf, commonFilter, listOf, listQuery, queryInteger, toPage } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody, HttpResponse } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { languageTag } from '../http/value-schemas.ts';
import { compareBy, pageOf } from '../storage/memory-page.ts';
import { queryScope, tenantQuery } from '../tenancy/query-scope.ts';
import { inOrg, item } from '../tenancy/target.ts';
import type { Target } from '../tenancy/target.ts';
import { coversLanguage, isCatalogueModel } from './model-catalog.ts';
import type { CatalogModel, ModelCatalog } from './model-catalog.ts';
import {
  createModelRequest,
  MODEL_FIXED,
  MODEL_READ_ONLY,
  modelKind,
  modelResponse,
  modelStatus,
  patchModelRequest,
  toModelResponse,
} from './model-schema.ts';
import { ownModelCollection } from './own-model-model.ts';
import type { OwnModelRecord } from './own-model-model.ts';
import type { OwnModelService } from './own-model-service.ts';
import { providerCredentialCollection } from './provider-credential-model.ts';
import {
  createCredentialRequest,
  CREDENTIAL_FIXED,
  CREDENTIAL_READ_ONLY,
  credentialResponse,
  patchCredentialRequest,
  toCredentialResponse,
} from './provider-credential-schema.ts';
import type { ProviderCredentialService } from './provider-credential-service.ts';
import { ALL_PROVIDERS } from './providers.ts';

const tag = 'Providers';
const VIEWERS = { key: 'viewer', user: 'viewer' } as const;
const ADMIN = { user: 'admin' } as const;
/** In a sentence: those whose models are mostly others' servers. */
const OTHERS_SERVE = ALL_PROVIDERS.filter(({ api }) => api?.othersServe)
  .map(({ provider }) => `\`${provider}\``)
  .join(' or ');
const credential = item(providerCredentialCollection, 'credential_id');
const ownModel = item(ownModelCollection, 'model_id');

/** The installation's models are there for all to see, and for nobody to change. */
const changeableModel: Target<OwnModelRecord> = {
  ...ownModel,
  resolve(access, request) {
    if (isCatalogueModel(request.params['model_id']!)) {
      throw new ForbiddenError(
        'forbidden',
        'Models of the installation cannot be changed; only an org’s own models can.',
      );
    }
    return ownModel.resolve(access, request);
  },
};
const modelParams = {
  model_id: z.string().regex(/^(llm|stt|tts)_[A-Za-z0-9_-]{1,64}$/, 'must be the id of a model'),
};

const providerResponse = z
  .object({
    provider: z.string(),
    name: z.string(),
    kinds: z.array(modelKind),
    credential_fields: z
      .array(z.object({ name: z.string(), label: z.string(), required: z.boolean() }))
      .meta({ description: 'The fields that `values` of a credential must have.' }),
    self_hosted: z.boolean().meta({ description: 'Runs in this installation and requires no account.' }),
  })
  .meta({ id: 'Provider' });

const modelQuery = listQuery({
  sortable: ['name'],
  q: true,
  filters: {
    kind: anyOf(modelKind).optional(),
    provider: anyOf(providerSchema).optional(),
    language: anyOf(languageTag).optional(),
    status: anyOf(modelStatus).optional(),
    ...tenantQuery,
  },
});

export function providerRoutes({
  models,
  ownModels,
  providerCredentials: credentials,
}: {
  models: ModelCatalog;
  ownModels: OwnModelService;
  providerCredentials: ProviderCredentialService;
}): Operation[] {
  return [
    defineOperation({
      id: 'listProviders',
      method: 'GET',
      path: '/v1/providers',
      tag,
      summary: 'List providers of speech and language models',
      access: VIEWERS,
      query: z.object({
        limit: queryInteger(1, 200).default(50),
        offset: queryInteger(0, 100_000).default(0),
      }),
      responses: { 200: { description: 'Providers', schema: listOf(providerResponse) } },
      handle: ({ query }) =>
        toPage(pageOf(ALL_PROVIDERS, query), (one) => ({
          provider: one.provider,
          name: one.name,
          kinds: [...one.kinds],
          credential_fields: [...one.credentialFields],
          self_hosted: one.api === null,
        })),
    }),
    defineOperation({
      id: 'listModels',
      method: 'GET',
      path: '/v1/providers/models',
      tag,
      summary: 'List models that agents can use',
      description: 'Models of the installation, and the own models of the API key’s org or of `org_id`.',
      access: VIEWERS,
      query: modelQuery,
      responses: { 200: { description: 'A page of models', schema: listOf(modelResponse) } },
      handle: async ({ access, query }) => {
        const scope = await queryScope(access, query);
        const all = await models.list(scope?.orgId ?? null, scope?.projectIdOrNull);
        return toPage(pageOf(selectModels(all, query), query), toModelResponse);
      },
    }),
    defineOperation({
      id: 'createModel',
      method: 'POST',
      path: '/v1/orgs/{org_id}/models',
      tag,
      summary: 'Add a model to an org',
      description: `An ${OTHERS_SERVE} server needs \`base_url\`; other providers have a standard one.`,
      access: ADMIN,
      target: inOrg,
      body: jsonBody(createModelRequest, { readOnly: [...MODEL_READ_ONLY, 'status'] }),
      responses: { 201: { description: 'The model', schema: modelResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, body }) => toModelResponse(await ownModels.create(scope, body)),
    }),
    defineOperation({
      id: 'updateModel',
      method: 'PATCH',
      path: '/v1/models/{model_id}',
      tag,
      summary: 'Update a model of an org',
      description: 'Address, model, credential and status cannot be changed while agents use the model.',
      access: ADMIN,
      params: modelParams,
      target: changeableModel,
      body: patchBody(patchModelRequest, { readOnly: MODEL_FIXED }),
      responses: { 200: { description: 'The model', schema: modelResponse } },
      errors: [409],
      handle: async ({ scope, item, body }) => toModelResponse(await ownModels.update(scope, item, body)),
    }),
    defineOperation({
      id: 'deleteModel',
      method: 'DELETE',
      path: '/v1/models/{model_id}',
      tag,
      summary: 'Delete a model of an org',
      access: ADMIN,
      params: modelParams,
      target: changeableModel,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: async ({ scope, item }) => {
        await ownModels.delete(scope, item);
        return new HttpResponse(204, undefined);
      },
    }),
    defineOperation({
      id: 'listProviderCredentials',
      method: 'GET',
      path: '/v1/orgs/{org_id}/provider-credentials',
      tag,
      summary: 'List provider credentials',
      access: VIEWERS,
      target: inOrg,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: {
          provider: anyOf(providerSchema).optional(),
          status: anyOf(z.enum(['unverified', 'valid', 'invalid'])).optional(),
        },
      }),
      responses: { 200: { description: 'A page of credentials', schema: listOf(credentialResponse) } },
      handle: async ({ scope, query }) => toPage(await credentials.list(scope, query), toCredentialResponse),
    }),
    defineOperation({
      id: 'createProviderCredential',
      method: 'POST',
      path: '/v1/orgs/{org_id}/provider-credentials',
      tag,
      summary: 'Create a provider credential',
      description: 'Replaces the credential of the installation, and is sent only to its own `base_url`.',
      access: ADMIN,
      target: inOrg,
      body: jsonBody(createCredentialRequest, { readOnly: CREDENTIAL_READ_ONLY }),
      responses: { 201: { description: 'The credential', schema: credentialResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, address, body }) =>
        toCredentialResponse(await credentials.create(scope, body, { caller, address })),
    }),
    defineOperation({
      id: 'updateProviderCredential',
      method: 'PATCH',
      path: '/v1/provider-credentials/{credential_id}',
      tag,
      summary: 'Update a provider credential',
      description: '`values` is required when the scheme, host or port of `base_url` changes.',
      access: ADMIN,
      target: credential,
      body: patchBody(patchCredentialRequest, { readOnly: CREDENTIAL_FIXED }),
      responses: { 200: { description: 'The credential', schema: credentialResponse } },
      errors: [409],
      handle: async ({ scope, caller, address, item, body }) =>
        toCredentialResponse(await credentials.update(scope, item, body, { caller, address })),
    }),
    defineOperation({
      id: 'deleteProviderCredential',
      method: 'DELETE',
      path: '/v1/provider-credentials/{credential_id}',
      tag,
      summary: 'Delete a provider credential',
      description: 'Models that use the credential get the status `needs_credentials`.',
      access: ADMIN,
      target: credential,
      responses: { 204: { description: 'Deleted' } },
      handle: async ({ scope, caller, address, item }) => {
        await credentials.delete(scope, item, { caller, address });
        return new HttpResponse(204, undefined);
      },
    }),
    defineOperation({
      id: 'verifyProviderCredential',
      method: 'POST',
      path: '/v1/provider-credentials/{credential_id}/verify',
      tag,
      summary: 'Verify a provider credential',
      access: ADMIN,
      target: credential,
      responses: {
        200: {
          description: 'The outcome of the check',
          schema: z.object({
            ok: z.boolean(),
            error: z.string().optional().meta({
              description:
                'auth, rate_limit, unavailable, timeout, address_not_allowed or unexpected_answer.',
            }),
          }),
        },
      },
      idempotent: {},
      handle: ({ scope, item, signal }) => credentials.verify(scope, item, signal),
    }),
  ];
}

type ModelFilters = ListInput & {
  kind?: string[] | undefined;
  provider?: string[] | undefined;
  language?: string[] | undefined;
  status?: string[] | undefined;
};

/** In the asked order; the installation's have no dates and keep the catalogue's order behind the org's own. */
function selectModels(all: readonly CatalogModel[], query: ModelFilters): CatalogModel[] {
  commonFilter(query); // Only for what it refuses: these are not in the database.
  const { kind, provider, language, status, q, created_after: after, created_before: before } = query;
  const selected = all.filter(
    (model) =>
      (!kind || kind.includes(model.kind)) &&
      (!provider || provider.includes(model.provider)) &&
      (!language || language.some((tag) => coversLanguage(model.languages, tag))) &&
      (!status || status.includes(model.status)) &&
      (q === undefined || model.name.toLowerCase().includes(q.toLowerCase())) &&
      (!after || (model.own && model.own.created_at >= after)) &&
      (!before || (model.own && model.own.created_at < before)),
  );
  const position = new Map(all.map((model, index) => [model, index]));
  const compare = compareBy<CatalogModel>(
    query.sort,
    (model, field) =>
      field === 'name' ? model.name : (model.own?.[field as 'created_at' | 'updated_at'].getTime() ?? 0),
    () => '',
  );
  return selected.sort((a, b) => compare(a, b) || position.get(a)! - position.get(b)!);
}
