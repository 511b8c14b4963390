import { agentCollection, agentVersionCollection } from './agents/agent-model.ts';
import { memberCollection } from './members/member-model.ts';
import { orgCollection } from './orgs/org-model.ts';
import { projectCollection } from './projects/project-model.ts';
import { sessionCollection } from './sessions/session-model.ts';
import { DisposableList } from '@parley/shared/async/disposable-list';
import type { TestSessions } from './agent-tests/agent-test-conversation.ts';
import { createAgentTests } from './agent-tests/agent-test-feature.ts';
import { hasPassedRun } from './agent-tests/agent-test-service.ts';
import { createAdmissions } from './admissions/admission-feature.ts';
import { createAgents } from './agents/agent-feature.ts';
import { analysisCollection } from './analyses/analysis-model.ts';
import { createAnalyses } from './analyses/analysis-feature.ts';
import { createApiKeys } from './api-keys/api-key-feature.ts';
import { createCallCommands, createCallEvents, createCallLog } from './calls/call-feature.ts';
import { createCarriers } from './carriers/carrier-feature.ts';
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
import { SessionMemories } from './memories/session-memories.ts';
import { createOrgs } from './orgs/org-feature.ts';
import { createPostCall } from './post-call/post-call-feature.ts';
import { createProjects } from './projects/project-feature.ts';
import { createProviders } from './providers/provider-feature.ts';
import { createRateLimits } from './rate-limits/rate-limit-feature.ts';
import { createRecordings } from './recordings/recording-feature.ts';
import { hasLiveSessions } from './sessions/live-sessions.ts';
import { createSessions } from './sessions/session-feature.ts';
import { SessionStore } from './sessions/session-store.ts';
import { phoneNumberCollection } from './telephony/phone-number-model.ts';
import { telephonyAccountCollection } from './telephony/telephony-account-model.ts';
import { createTelephony } from './telephony/telephony-feature.ts';
import { toolCollection } from './tools/tool-model.ts';
import { createTools } from './tools/tool-feature.ts';
import { createVoiceLookup, createVoices } from './voices/voice-feature.ts';
import { createWebhooks } from './webhooks/webhook-feature.ts';
import { createWidget } from './widget/widget-feature.ts';
import { createWsTickets } from './ws-tickets/ws-ticket-feature.ts';

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
  const { userAccounts, signIns, passwordSignIn, passwordReset } = features.add(createIdentity(platform));
  const liveSessions = hasLiveSessions(database);
  const { orgs } = features.add(createOrgs({ ...platform, liveSessions, members: memberCollection }));
  const { projects } = features.add(
    createProjects({
      ...platform,
      models,
      telephonyAccounts: telephonyAccountCollection,
      uses: (scope) => features.usesOfProject(scope),
    }),
  );
  const { members } = features.add(createMembers({ ...platform, userAccounts }));
  features.add(
    createSignIn({
      ...platform,
      userAccounts,
      signIns,
      passwordSignIn,
      passwordReset,
      orgs,
      projects,
      members,
    }),
  );
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
  const { audition, cloning } = features.add(
    createVoices({ ...platform, models, accounts, catalog, naming }),
  );
  const { tickets } = features.add(createWsTickets(platform));
  const log = createCallLog(platform);
  const { callLog } = log;
  const store = new SessionStore({ database, events: callLog });
  const media = createRecordings(platform);
  const { recordings, mediaLinks } = media;
  const telephony = createTelephony({
    ...platform,
    targets: { agents: agentCollection, agentVersions: agentVersionCollection },
  });
  const { telephonyAccounts, phoneNumbers, inboundDeployments } = telephony;
  const webhooks = createWebhooks({ ...platform, agents, agentRecords: agentCollection, callLog });
  const { agentWebhooks, deliveries } = webhooks;
  const sessionMemories = new SessionMemories({ ...platform, memories, store, callLog, catalog: models });
  const ofSessions = { ...platform, store, tickets, agents: storedAgents, catalog: models };
  const afterCalls = createPostCall({
    ...ofSessions,
    ...{ callLog, recordings, mediaLinks, deliveries, analyses, memories: sessionMemories },
  });
  const { postCall } = afterCalls;
  const { carrierCommands, gatewayCommands } = features.add(
    createCallCommands({ ...ofSessions, carriers: telephonyAccounts }),
  );
  const sessions = features.add(
    createSessions({
      ...{ ...ofSessions, accounts: telephonyAccounts, analyses, memories, ownLimits: rateLimits },
      gateways: gatewayCommands,
      tenants: { orgs: orgCollection, projects: projectCollection },
      hangup: (session) => carrierCommands.hangup(session),
      afterCall: postCall,
      eraseParts: (id) => features.eraseSession(id),
      needed: [(id) => postCall.isPending(id), (id) => deliveries.isPending(id)],
    }),
  );
  const { preCall, retention, sessionSlots, sessionCloser: closer } = sessions;
  const { sessionControl, sessionCreation, sessionCredentials, sessionErasure } = sessions;
  const { widget } = features.add(
    createWidget({ ...ofSessions, sessions: sessionCreation, sessionCredentials }),
  );
  // What belongs to sessions comes after them: in the description, and as samples.
  for (const made of [log, media, afterCalls, webhooks, telephony]) features.add(made);
  const { carrierCallbacks } = features.add(
    createCarriers({
      ...{ ...ofSessions, accounts: telephonyAccounts, commands: carrierCommands, events: callLog, closer },
      ...{ numbers: phoneNumbers, deployments: inboundDeployments },
      ...{ creation: sessionCreation, credentials: sessionCredentials },
    }),
  );
  const { callEvents, reaper } = createCallEvents({
    ...{ ...ofSessions, closer, callLog, toolCalls: log.toolCalls },
    ...{ recordings, carrierCommands, gatewayCommands },
  });
  const { admissions } = features.add(
    createAdmissions({
      ...{ ...ofSessions, closer, slots: sessionSlots, carriers: telephonyAccounts, preCall, tools },
      ...{ callLog, memories: sessionMemories, recordings },
    }),
  );
  const testSessions: TestSessions = {
    createForTest: (agent, test) => sessionCreation.createForTest(agent, test),
    end: (session) => sessionControl.end(session),
  };
  const { runner: agentTestRunner } = features.add(
    createAgentTests({
      ...{ ...platform, models, store, callLog },
      agents: storedAgents,
      versions: agentVersions,
      sessions: testSessions,
      named: { sessions: sessionCollection, tools: toolCollection },
      owner: platform.processName,
    }),
  );

  const services = {
    ...platform,
    ...{
      admissions,
      callEvents,
      callLog,
      carrierCallbacks,
      carrierCommands,
      gatewayCommands,
      reaper,
      tickets,
    },
    ...{ agentWebhooks, deliveries, inboundDeployments, mediaLinks, phoneNumbers, postCall, recordings },
    ...{ preCall, retention, sessionControl, sessionCreation, sessionCredentials, sessionErasure },
    ...{ sessionCloser: closer, sessionStore: store, telephonyAccounts, widget },
    ...{
      agents,
      storedAgents,
      agentTestRunner,
      apiKeys,
      headerSecrets,
      memories,
      orgs,
      projects,
      rateLimits,
      signIns,
      tools,
      userAccounts,
    },
  } satisfies Platform;
  const owned = new DisposableList();
  for (const one of [platform.mailer, platform.background, platform.providerFetch, platform.safeFetch])
    owned.add(one);
  owned.add(audition);
  owned.defer(() => cloning[Symbol.dispose]());
  owned.add(preCall);
  return { features, services, [Symbol.asyncDispose]: () => owned.dispose() };
}
