import { DisposableList } from '@parley/shared/async/disposable-list';
import { createAgentFeatures } from './composition/agents.ts';
import { AllFeatures } from './composition/all-features.ts';
import { createCallFeatures } from './composition/calls.ts';
import { createPlatform, createPlatformFeature } from './composition/platform.ts';
import type { Platform, PlatformDeps } from './composition/platform.ts';
import { createTenantFeatures } from './composition/tenants.ts';
import { describeOperations } from './http/openapi.ts';
import { OrgChats } from './providers/org-chats.ts';
import { createProviders } from './providers/provider-feature.ts';
import { createSearch } from './search/search-feature.ts';
import { LocalVoice } from './voices/local-voice.ts';
import { createVoiceLookup, createVoices } from './voices/voice-feature.ts';

/** What of a control plane is asked for by name: by its listeners, its command line, its workers and tests. */
export type Services = Awaited<ReturnType<typeof createFeatures>>['services'];

/**
 * Makes the features of a control plane, each from those it needs, in the order in which the API describes them.
 * Starts nothing. What a feature has to say to those made before it (`AllFeatures`) is asked when it is needed.
 */
export async function createFeatures(deps: PlatformDeps) {
  const platform = await createPlatform(deps);
  const features = new AllFeatures();
  const naming = (orgId: string, ids: readonly string[]) => features.usesOfModels(orgId, ids);
  const describe = () => describeOperations(features.routes, { url: platform.config.PUBLIC_URL });

  const { catalog, lookup } = createVoiceLookup(platform);
  const { models, accounts, ...providers } = createProviders({ ...platform, voices: lookup, naming });
  features.add(createPlatformFeature(platform, describe));
  const tenants = createTenantFeatures(features, { ...platform, models });
  const agentFeatures = await createAgentFeatures(features, {
    ...platform,
    ...{ models, accounts, projects: tenants.projects, toolCallLimits: tenants.toolCallLimits },
  });
  features.add(providers);
  const localVoice = new LocalVoice();
  const { cloning } = features.add(
    createVoices({
      ...platform,
      models,
      accounts,
      catalog,
      localVoice,
      naming,
      charges: tenants.speechCharges,
    }),
  );
  const calls = createCallFeatures(features, {
    ...platform,
    models,
    chats: new OrgChats({ catalog: models, charges: tenants.chatCharges }),
    localVoice,
    rateLimits: tenants.rateLimits,
    outboundLimits: tenants.outboundLimits,
    toolCallLimits: tenants.toolCallLimits,
    apiKeys: tenants.apiKeys,
    costs: tenants.callCosts,
    usageSums: tenants.usageSums,
    wallets: tenants.wallets,
    agentFeatures,
  });
  features.add(
    createSearch({ sources: features.searches, routes: features.routes, directory: platform.directory }),
  );

  const services = { ...platform, ...tenants, ...agentFeatures, ...calls } satisfies Platform;
  const owned = new DisposableList();
  for (const one of [platform.mailer, platform.background, platform.providerFetch, platform.safeFetch])
    owned.add(one);
  for (const { owns = [] } of features) for (const one of owns) owned.add(one);
  owned.add(localVoice);
  owned.add(tenants.invoicePrinter);
  owned.defer(() => cloning[Symbol.dispose]());
  owned.add(calls.preCall);
  return { features, services, [Symbol.asyncDispose]: () => owned.dispose() };
}
