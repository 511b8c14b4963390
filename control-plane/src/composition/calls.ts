import { analysisCollection } from '../analyses/analysis-model.ts';
import type { ApiKeyService } from '../api-keys/api-key-service.ts';
import { createAdmissions } from '../admissions/admission-feature.ts';
import type { TestSessions } from '../agent-tests/agent-test-conversation.ts';
import { createAgentTests } from '../agent-tests/agent-test-feature.ts';
import { agentCollection, agentVersionCollection } from '../agents/agent-model.ts';
import { AgentNotes } from '../calls/agent-notes.ts';
import { createCallCommands, createCallEvents, createCallLog } from '../calls/call-feature.ts';
import { toolCallCollection } from '../calls/tool-call-model.ts';
import { turnCollection } from '../calls/turn-model.ts';
import { createCampaigns } from '../campaigns/campaign-feature.ts';
import type { CommandOutcome } from '../calls/carrier-commands.ts';
import { createCarriers } from '../carriers/carrier-feature.ts';
import { Consults } from '../consults/consults.ts';
import { createDialling } from '../dialling/dialling-feature.ts';
import { ProviderPressure } from '../dialling/provider-pressure.ts';
import { createExports } from '../exports/export-feature.ts';
import { createLive } from '../live/live-feature.ts';
import { SessionRows } from '../databases/session-rows.ts';
import { SessionMemories } from '../memories/session-memories.ts';
import { orgCollection } from '../orgs/org-model.ts';
import { createPostCall } from '../post-call/post-call-feature.ts';
import { projectCollection } from '../projects/project-model.ts';
import type { Wallets } from '../billing/wallets.ts';
import type { CallCosts } from '../billing/call-costs.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { OrgChats } from '../providers/org-chats.ts';
import type { OutboundLimits } from '../rate-limits/outbound-limits.ts';
import type { RateLimitService } from '../rate-limits/rate-limit-service.ts';
import type { ToolCallLimits } from '../rate-limits/tool-call-limits.ts';
import { createRecipientLists } from '../recipient-lists/recipient-list-feature.ts';
import { createReplays } from '../replays/replay-feature.ts';
import { createRecordings } from '../recordings/recording-feature.ts';
import { createSessions } from '../sessions/session-feature.ts';
import { sessionFilter, sessionFilters } from '../sessions/session-filters.ts';
import type { SessionFilters } from '../sessions/session-filters.ts';
import { sessionCollection } from '../sessions/session-model.ts';
import { isLive } from '../sessions/session-states.ts';
import { SessionStore } from '../sessions/session-store.ts';
import { TranscriptWords } from '../sessions/transcript-words.ts';
import { phoneNumberCollection } from '../telephony/phone-number-model.ts';
import { createStartCalls } from '../start-calls/start-call-feature.ts';
import { createTelephony } from '../telephony/telephony-feature.ts';
import { telephonyAccountCollection } from '../telephony/telephony-account-model.ts';
import { toolCollection } from '../tools/tool-model.ts';
import { createUccComplaints } from '../ucc-complaints/ucc-complaint-feature.ts';
import type { UsageSums } from '../usage/usage-sums.ts';
import type { LocalVoice } from '../voices/local-voice.ts';
import { createWebhooks } from '../webhooks/webhook-feature.ts';
import { createWidget } from '../widget/widget-feature.ts';
import { createWsTickets } from '../ws-tickets/ws-ticket-feature.ts';
import type { createAgentFeatures } from './agents.ts';
import type { AllFeatures } from './all-features.ts';
import type { Platform } from './platform.ts';

/** Sessions, the calls that they are, and what is left of them. */
export function createCallFeatures(
  features: AllFeatures,
  deps: Platform & {
    models: ModelCatalog;
    chats: OrgChats;
    localVoice: LocalVoice;
    rateLimits: RateLimitService;
    outboundLimits: OutboundLimits;
    toolCallLimits: ToolCallLimits;
    apiKeys: ApiKeyService;
    costs: CallCosts;
    usageSums: UsageSums;
    wallets: Wallets;
    agentFeatures: Awaited<ReturnType<typeof createAgentFeatures>>;
  },
) {
  const {
    models,
    chats,
    localVoice,
    rateLimits,
    outboundLimits,
    toolCallLimits,
    apiKeys,
    costs,
    usageSums,
    wallets,
    agentFeatures,
    ...platform
  } = deps;
  const { agents, agentVersions, analyses, audioAssets, autoDatabases, databaseRows } = agentFeatures;
  const { imports, importKinds } = agentFeatures;
  const { agentOverrides, memories, storedAgents, tools } = agentFeatures;
  const { database } = platform;
  const { tickets } = features.add(createWsTickets(platform));
  const live = features.add(createLive(platform));
  const log = createCallLog({
    ...{ ...platform, live, words: new TranscriptWords(platform) },
    async watch(sessionId, until): Promise<void> {
      const session = await store.find(sessionId);
      if (!session || session.gateway_id === null || !isLive(session.status)) return;
      const target = { gatewayId: session.gateway_id, sessionId };
      await gatewayCommands.send(target, 'watch', { until: until.toISOString() });
    },
  });
  const { callLog } = log;
  const store = new SessionStore({ database, events: callLog });
  const media = createRecordings(platform);
  const { recordings, mediaLinks } = media;
  const telephony = createTelephony({
    ...platform,
    targets: { agents: agentCollection, agentVersions: agentVersionCollection },
    funds: wallets,
    numberUses: (scope, numberId) => features.usesOfNumber(scope, numberId),
  });
  const { telephonyAccounts, phoneNumbers, inboundDeployments } = telephony;
  const webhooks = createWebhooks({ ...platform, agents, agentRecords: agentCollection, callLog });
  const { agentWebhooks, deliveries } = webhooks;
  const sessionMemories = new SessionMemories({ ...platform, memories, store, callLog, chats });
  const ofSessions = { ...platform, store, tickets, agents: storedAgents, catalog: models };
  const afterCalls = createPostCall({
    ...ofSessions,
    ...{ callLog, chats, tools, recordings, mediaLinks, deliveries, analyses, memories: sessionMemories },
    sessionRows: new SessionRows({ ...platform, autoDatabases, rows: databaseRows, store }),
    named: { analyses: analysisCollection, sessions: sessionCollection },
    goals: [
      usageSums,
      { goalFound: (session, goal): Promise<void> => campaignFollower.goalFound(session, goal) },
    ],
  });
  const { postCall } = afterCalls;
  const { carrierCommands, gatewayCommands } = features.add(
    createCallCommands({
      ...{ ...ofSessions, carriers: telephonyAccounts },
      consults: {
        begin: (session, command): Promise<CommandOutcome> => consults.begin(session, command),
        cancel: (session, command): Promise<CommandOutcome> => consults.cancel(session, command),
        bridge: (session, again): Promise<CommandOutcome> => consults.bridge(session, again),
      },
      suppressions: {
        blocks: (at, numbers): Promise<ReadonlySet<string>> => suppressions.blocks(at, numbers),
      },
    }),
  );
  const sessions = features.add(
    createSessions({
      ...{ ...ofSessions, accounts: telephonyAccounts, analyses, memories, ownLimits: rateLimits },
      rows: databaseRows,
      named: { tools: toolCollection },
      contacts: {
        forgetSubject: (scope, subject): Promise<number> => campaignContacts.forgetSubject(scope, subject),
      },
      gateways: gatewayCommands,
      costs: {
        reserve: (session) => costs.reserve(session),
        release: (session) => costs.release(session),
        book: async (session) => telephony.accountSpend.add(session, await costs.book(session)),
      },
      tenants: { orgs: orgCollection, projects: projectCollection },
      hangup: (session) => carrierCommands.hangup(session),
      afterCall: postCall,
      recordings,
      streams: live.liveStreams,
      eraseParts: (id) => features.eraseSession(id),
      needed: [(id) => postCall.isPending(id), (id) => deliveries.isPending(id)],
      async dialEnded(session): Promise<void> {
        await dialling.dialEnded(session);
        await consults.sessionEnded(session);
      },
    }),
  );
  const { preCall, retention, sessionSlots, sessionCloser: closer } = sessions;
  const { sessionControl, sessionCreation, sessionCredentials, sessionErasure } = sessions;
  const { widget } = features.add(
    createWidget({ ...ofSessions, sessions: sessionCreation, sessionCredentials }),
  );
  // What belongs to sessions comes after them: in the description, and as samples.
  for (const made of [log, media, afterCalls, webhooks, telephony]) features.add(made);
  features.add(
    createExports({
      ...platform,
      exported: { sessions: sessionCollection, turns: turnCollection, tool_calls: toolCallCollection },
      filters: {
        fields: sessionFilters,
        toFilter: (scope, filters) => sessionFilter(scope, filters as SessionFilters),
      },
    }),
  );
  const { recipientLists, recipientImports, suppressions } = features.add(
    createRecipientLists({
      ...{ ...platform, imports, projects: projectCollection },
      uses: (scope, id) => features.usesOfList(scope, id),
    }),
  );
  importKinds.push(recipientImports);
  const dialling = features.add(
    createDialling({
      ...{ ...ofSessions, accounts: telephonyAccounts, numbers: phoneNumbers, sessions: sessionCollection },
      ...{ closer, costs, events: callLog, preCall, suppressions, wallets, limits: sessionSlots },
      ...{ creation: sessionCreation, credentials: sessionCredentials, orderLimits: outboundLimits },
    }),
  );
  const consults: Consults = new Consults({
    ...{ ...ofSessions, accounts: telephonyAccounts, closer, events: callLog },
    ...{ calls: dialling.outboundCalls, gateways: gatewayCommands },
    site: { publicUrl: platform.config.PUBLIC_URL, clock: platform.clock, logger: platform.logger },
  });
  const providerPressure = new ProviderPressure({ ...platform, models });
  dialling.dialGates.push(outboundLimits, providerPressure);
  dialling.dialFollowers.push(afterCalls.unansweredCalls, consults);
  const { carrierCallbacks, callbackSignatures } = features.add(
    createCarriers({
      ...{ ...ofSessions, accounts: telephonyAccounts, commands: carrierCommands, events: callLog, closer },
      ...{ numbers: phoneNumbers, deployments: inboundDeployments, forwards: telephonyAccounts },
      ...{ creation: sessionCreation, credentials: sessionCredentials, dials: dialling.dialCallbacks },
      ...{ consults, gateways: gatewayCommands },
    }),
  );
  const campaigns = features.add(
    createCampaigns({
      ...{ ...platform, agents: storedAgents, agentOverrides, costs, funds: wallets, suppressions },
      targets: { agents: agentCollection, phoneNumbers: phoneNumberCollection },
      ...{ projects: projectCollection, sessions: sessionCollection },
      calls: dialling.outboundCalls,
      ...{ imports, lists: recipientLists, gateways: gatewayCommands },
    }),
  );
  const { campaignContacts, campaignFeeder, campaignFollower, campaignGate, singleCalls } = campaigns;
  importKinds.push(campaigns.contactImports);
  dialling.dialGates.push(campaignGate);
  dialling.dialFollowers.push(campaignFollower);
  features.add(
    createStartCalls({
      ...{ ...platform, analyses, agents: storedAgents, overrides: agentOverrides, funds: wallets },
      ...{ campaigns: singleCalls, phoneNumbers: phoneNumberCollection, secrets: agentWebhooks },
    }),
  );
  features.add(
    createUccComplaints({
      ...{ ...platform, accounts: telephonyAccounts, accountCollection: telephonyAccountCollection },
      ...{ doNotCall: suppressions, signatures: callbackSignatures },
    }),
  );
  const agentNotes = new AgentNotes({ agents: storedAgents, memories, suppressions });
  const { callEvents, reaper } = features.add(
    createCallEvents({
      ...{ ...ofSessions, closer, callLog, followers: [log.toolCalls, agentNotes, providerPressure], costs },
      ...{ recordings, carrierCommands, gatewayCommands },
    }),
  );
  const { admissions } = features.add(
    createAdmissions({
      ...{ ...ofSessions, closer, slots: sessionSlots, carriers: telephonyAccounts, preCall, tools },
      ...{ callLog, costs, memories: sessionMemories, recordings, creation: sessionCreation, apiKeys },
      toolCallLimits,
      audioAssets,
    }),
  );
  const testSessions: TestSessions = {
    createForTest: (agent, test) => sessionCreation.createForTest(agent, test),
    end: (session) => sessionControl.end(session),
  };
  const { runner: agentTestRunner, hold } = features.add(
    createAgentTests({
      ...{ ...platform, models, chats, store, callLog, localVoice },
      agents: storedAgents,
      versions: agentVersions,
      sessions: testSessions,
      named: { sessions: sessionCollection, tools: toolCollection },
      owner: platform.processName,
    }),
  );
  const { replays, replayRunner } = features.add(
    createReplays({
      ...{ ...platform, store, callLog, hold, agents: storedAgents, toolCalls: toolCallCollection },
      eraseSession: (session) => sessionErasure.erase(session),
    }),
  );

  return {
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
    ...{
      campaignFeeder,
      singleCalls,
      recipientLists,
      suppressions,
      agentTestRunner,
      replays,
      replayRunner,
      sessionCloser: closer,
      sessionStore: store,
      liveStreams: live.liveStreams,
      telephonyAccounts,
      dispatcher: dialling.dispatcher,
      dialGates: dialling.dialGates,
      outboundCalls: dialling.outboundCalls,
      widget,
    },
  };
}
