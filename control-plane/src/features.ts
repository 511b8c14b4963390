import { DisposableList } from '@parley/shared/async/disposable-list';
import type { TestSessions } from './agent-tests/agent-test-conversation.ts';
import { createAgentTests } from './agent-tests/agent-test-feature.ts';
import { hasPassedRun } from './agent-tests/agent-test-service.ts';
import { createAgents } from './agents/agent-feature.ts';
import { analysisCollection } from './analyses/analysis-model.ts';
import { createAnalyses } from './analyses/analysis-feature.ts';
import { createApiKeys } from './api-keys/api-key-feature.ts';
import { createCalls } from './call-services.ts';
import type { CallServices } from './call-services.ts';
import { AllFeatures } from './composition/all-features.ts';
import { createPlatform, createPlatformFeature } from './composition/platform.ts';
import type { Platform, PlatformDeps } from './composition/platform.ts';
import { createFeatureFlags } from './feature-flags/feature-flag-feature.ts';
import { describeOperations } from './http/openapi.ts';
import { createIdentity, createSignIn } from './identity/identity-feature.ts';
import { knowledgeBaseCollection } from './knowledge-bases/knowledge-base-model.ts';
import { createKnowledgeBases } from './knowledge-bases/knowledge-base-feature.ts';
import { createMe } from './me/me-feature.ts';
import { createMembers } from './members/member-feature.ts';
import { createMemories } from './memories/memory-feature.ts';
import { createOrgs } from './orgs/org-feature.ts';
import { createProjects } from './projects/project-feature.ts';
import { createProviders } from './providers/provider-feature.ts';
import { createRateLimits } from './rate-limits/rate-limit-feature.ts';
import { hasLiveSessions } from './sessions/live-sessions.ts';
import { phoneNumberCollection } from './telephony/phone-number-model.ts';
import { telephonyAccountCollection } from './telephony/telephony-account-model.ts';
import { toolCollection } from './tools/tool-model.ts';
import { createTools } from './tools/tool-feature.ts';
import { createVoiceLookup, createVoices } from './voices/voice-feature.ts';

/** What of a control plane is asked for by name: by its listeners, its command line, its workers and tests. */
export type Services = Awaited<ReturnType<typeof createFeatures>>['services'];

/**
 * Makes the features of a control plane, each from those it needs. Starts nothing. What a feature has to say to
 * those made before it (`AllFeatures`) is asked when it is needed.
 */
export async function createFeatures(deps: PlatformDeps) {
  const platform = await createPlatform(deps);
  const { database } = platform;
  const features = new AllFeatures();
  const naming = (orgId: string, ids: readonly string[]) => features.usesOfModels(orgId, ids);

  const describe = () => describeOperations(features.routes, { url: platform.config.PUBLIC_URL });
  features.add(createPlatformFeature(platform, describe));
  features.add(createMe());
  const { catalog, lookup } = createVoiceLookup(platform);
  const { models, accounts, ...providers } = createProviders({ ...platform, voices: lookup, naming });
  const { identity } = features.add(createIdentity(platform));
  const liveSessions = hasLiveSessions(database);
  const { orgs } = features.add(createOrgs({ ...platform, liveSessions }));
  const { projects } = features.add(
    createProjects({
      ...platform,
      models,
      telephonyAccounts: telephonyAccountCollection,
      uses: (scope) => features.usesOfProject(scope),
    }),
  );
  const { members } = features.add(createMembers({ ...platform, identity }));
  features.add(createSignIn({ ...platform, identity, orgs, projects, members }));
  const { apiKeys } = features.add(createApiKeys(platform));
  features.add(createFeatureFlags({ orgs, features }));
  const { rateLimits } = features.add(createRateLimits(platform));
  const { agents, agentLinks, agentVersions, headerSecrets, storedAgents } = features.add(
    createAgents({
      ...{ ...platform, models, projects, dependents: features, hasPassedTests: hasPassedRun },
      attachable: {
        tools: toolCollection,
        analyses: analysisCollection,
        knowledge_bases: knowledgeBaseCollection,
      },
      named: {
        tool: toolCollection,
        knowledge_base: knowledgeBaseCollection,
        phone_number: phoneNumberCollection,
      },
    }),
  );
  const { memories } = features.add(createMemories(platform));
  const { tools } = features.add(createTools({ ...platform, agents: storedAgents, links: agentLinks }));
  const { analyses } = features.add(
    createAnalyses({ ...platform, agents: storedAgents, links: agentLinks, models, tools: toolCollection }),
  );
  features.add(createKnowledgeBases({ ...platform, links: agentLinks }));
  features.add(providers);
  const { voices } = features.add(createVoices({ ...platform, models, accounts, catalog, naming }));
  const calls = createCalls({
    ...platform,
    agents,
    storedAgents,
    analyses,
    memories,
    models,
    rateLimits,
    tools,
  });
  features.add(calls.feature);
  const {
    sessionCreation,
    sessionControl,
    sessionStore: store,
    callLog,
    processName: owner,
  } = calls.services;
  const sessions: TestSessions = {
    createForTest: (agent, test) => sessionCreation.createForTest(agent, test),
    end: (session) => sessionControl.end(session),
  };
  const { runner: agentTestRunner } = features.add(
    createAgentTests({
      ...platform,
      agents: storedAgents,
      versions: agentVersions,
      models,
      sessions,
      store,
      callLog,
      owner,
    }),
  );

  const services = {
    ...platform,
    ...calls.services,
    ...{
      agents,
      storedAgents,
      agentTestRunner,
      apiKeys,
      headerSecrets,
      identity,
      memories,
      orgs,
      projects,
      rateLimits,
      tools,
    },
  } satisfies Platform & CallServices;
  const owned = new DisposableList();
  for (const one of [platform.mailer, platform.background, platform.providerFetch, services.safeFetch])
    owned.add(one);
  owned.add(voices);
  owned.add(services.preCall);
  return { features, services, [Symbol.asyncDispose]: () => owned.dispose() };
}
