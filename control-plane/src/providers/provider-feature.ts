import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { ControlPlaneConfig } from '../config.ts';
import { idSchema } from '../http/operation.ts';
import { OrgModelCatalog } from './model-catalog.ts';
import type { VoiceSource } from './model-catalog.ts';
import { ownModelCollection } from './own-model-model.ts';
import { OwnModelService } from './own-model-service.ts';
import type { NamingRecords } from './own-model-service.ts';
import { ProviderAccounts } from './provider-accounts.ts';
import type { InstallationProviders, ProviderSettings } from './provider-accounts.ts';
import { providerCredentialCollection } from './provider-credential-model.ts';
import { PROVIDER_AUDIT, ProviderCredentialService } from './provider-credential-service.ts';
import { providerRoutes } from './provider-routes.ts';
import { providerSample } from './provider-sample.ts';
import { CALLED_PROVIDERS } from './providers.ts';
import { ProviderStore } from './provider-store.ts';

/** @param deps.naming what names models or voices */
export function createProviders({
  database,
  clock,
  box,
  audit,
  config,
  providerFetch: fetch,
  voices,
  naming,
}: Pick<Platform, 'audit' | 'box' | 'clock' | 'config' | 'database' | 'providerFetch'> & {
  voices: VoiceSource;
  naming: NamingRecords;
}) {
  const store = new ProviderStore({ database, clock });
  const accounts = new ProviderAccounts({ source: store, box, installation: installationProviders(config) });
  const models = new OrgModelCatalog({ accounts, source: store, voices, fetch });
  const providerCredentials = new ProviderCredentialService({ store, accounts, fetch, box, audit, clock });
  const ownModels = new OwnModelService({ store, models, fetch, naming, clock });
  return {
    accounts,
    models,
    collections: [ownModelCollection, providerCredentialCollection],
    searches: [
      namedRecords('provider_credential', providerCredentialCollection, { list: 'listProviderCredentials' }),
    ],
    routes: providerRoutes({ models, ownModels, providerCredentials }),
    parameters: { credential_id: idSchema('prv') },
    audit: PROVIDER_AUDIT,
    samples: [providerSample],
  } satisfies Feature & { accounts: ProviderAccounts; models: OrgModelCatalog };
}

function installationProviders(config: ControlPlaneConfig): InstallationProviders {
  const settings = CALLED_PROVIDERS.map(({ provider, api }) => {
    const apiKey = config[`${api.variable}_API_KEY`] ?? null;
    const baseUrl = config[`${api.variable}_BASE_URL`];
    const emulated = config.EMULATED_PROVIDERS.includes(api.variable.toLowerCase());
    // A server of the operator's own may need no key; the vendor's always does.
    if (!apiKey && !emulated && baseUrl === api.standardUrl) return [provider, undefined];
    const model = 'operatorNamesModel' in api ? config[`${api.variable}_MODEL`] : undefined;
    return [provider, { baseUrl, apiKey, emulated, model } satisfies ProviderSettings];
  });
  return Object.fromEntries(settings) as InstallationProviders;
}
