import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { createSafeFetch, type SafeFetch } from '@parley/shared/http/safe-fetch';
import type { AgentService } from './agents/agent-service.ts';
import { eraseTestReasons } from './agent-tests/agent-test-service.ts';
import { admissionOperations } from './admissions/admission-routes.ts';
import { AdmissionCredentials } from './admissions/admission-credentials.ts';
import { AdmissionService } from './admissions/admission-service.ts';
import { callLogSample } from './calls/call-log-sample.ts';
import { carrierSample } from './carriers/carrier-sample.ts';
import { recordingSample } from './recordings/recording-sample.ts';
import { sessionSample } from './sessions/session-sample.ts';
import { telephonySample } from './telephony/telephony-sample.ts';
import { webhookSample } from './webhooks/webhook-sample.ts';
import { widgetSample } from './widget/widget-sample.ts';
import { SessionLegs } from './admissions/session-legs.ts';
import { SessionPlans } from './admissions/session-plans.ts';
import { callLogRoutes } from './calls/call-log-routes.ts';
import { CallLog, toTurn } from './calls/call-log.ts';
import { carrierCommandCollection } from './calls/carrier-command-model.ts';
import { CarrierCommands } from './calls/carrier-commands.ts';
import { GatewayCommands } from './calls/gateway-commands.ts';
import { sessionEventCollection } from './calls/session-event-model.ts';
import { ToolCallLog } from './calls/tool-call-log.ts';
import { toolCallCollection } from './calls/tool-call-model.ts';
import { toolCallRoutes } from './calls/tool-call-routes.ts';
import { turnCollection } from './calls/turn-model.ts';
import { CallEventHandler } from './calls/call-event-handler.ts';
import { carrierCallbackRoutes } from './carriers/carrier-callback-routes.ts';
import { CallAnswers } from './carriers/call-answers.ts';
import { CallProgress } from './carriers/call-progress.ts';
import { CallTransfers } from './carriers/call-transfers.ts';
import { IncomingCalls } from './carriers/incoming-calls.ts';
import { CarrierCallbackService } from './carriers/carrier-callback-service.ts';
import { Reaper } from './calls/reaper.ts';
import { analysisResultCollection } from './post-call/analysis-result-model.ts';
import { analysisResultRoutes } from './post-call/analysis-result-routes.ts';
import { postCallJobCollection } from './post-call/post-call-job-model.ts';
import { PostCallService } from './post-call/post-call-service.ts';
import { RuleAnalyses } from './post-call/rule-analyses.ts';
import type { RuleSource } from './post-call/rule-analyses.ts';
import type { MemoryService } from './memories/memory-service.ts';
import { SessionMemories } from './memories/session-memories.ts';
import { MediaLinks } from './recordings/media-links.ts';
import { recordingRoutes } from './recordings/recording-routes.ts';
import { AgentWebhookService } from './webhooks/agent-webhook-service.ts';
import { webhookDeliveryCollection } from './webhooks/webhook-delivery-model.ts';
import { WebhookDeliveryService } from './webhooks/webhook-delivery-service.ts';
import { webhookRoutes } from './webhooks/webhook-routes.ts';
import { carrierApiUrls } from './config.ts';
import { idSchema } from './http/operation.ts';
import type { ModelCatalog } from './providers/model-catalog.ts';
import { recordingCollection } from './recordings/recording-model.ts';
import { RecordingService } from './recordings/recording-service.ts';
import { FileRecordingStore } from './recordings/recording-store.ts';
import { PreCallService } from './sessions/pre-call.ts';
import { sessionCollection } from './sessions/session-model.ts';
import type { SessionAgents, SessionTools } from './sessions/session-agent.ts';
import { Retention } from './sessions/retention.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import { SessionChoices, type SessionAnalyses } from './sessions/session-choices.ts';
import { SessionControl } from './sessions/session-control.ts';
import { SessionCreation } from './sessions/session-creation.ts';
import { SessionCredentials } from './sessions/session-credentials.ts';
import { SessionErasure, type SessionEraser } from './sessions/session-erasure.ts';
import { SessionPlaces, type SessionOwnLimits } from './sessions/session-places.ts';
import type { SessionRecord } from './sessions/session-model.ts';
import { SessionCloser } from './sessions/session-closer.ts';
import { SessionStore } from './sessions/session-store.ts';
import type { Feature } from './composition/feature.ts';
import type { Platform } from './composition/platform.ts';
import type { Collection, StoredRecord } from './storage/collection.ts';
import { telephonyAccountRoutes } from './telephony/telephony-account-routes.ts';
import { TelephonyAccountService } from './telephony/telephony-account-service.ts';
import { InboundDeploymentService } from './telephony/inbound-deployment-service.ts';
import { phoneNumberRoutes } from './telephony/phone-number-routes.ts';
import { PhoneNumberService } from './telephony/phone-number-service.ts';
import { inboundDeploymentCollection } from './telephony/inbound-deployment-model.ts';
import { phoneNumberCollection } from './telephony/phone-number-model.ts';
import { telephonyAccountCollection } from './telephony/telephony-account-model.ts';
import { widgetDayCollection } from './widget/widget-day-model.ts';
import { widgetRoutes } from './widget/widget-routes.ts';
import { WidgetService } from './widget/widget-service.ts';
import { wsTicketCollection } from './ws-tickets/ws-ticket-model.ts';
import { WsTicketService } from './ws-tickets/ws-ticket-service.ts';

/** What is stored of calls, from permission to the end. */
const CALL_COLLECTIONS = [
  analysisResultCollection,
  carrierCommandCollection,
  inboundDeploymentCollection,
  phoneNumberCollection,
  postCallJobCollection,
  recordingCollection,
  sessionCollection,
  sessionEventCollection,
  telephonyAccountCollection,
  toolCallCollection,
  turnCollection,
  webhookDeliveryCollection,
  widgetDayCollection,
  wsTicketCollection,
] as readonly Collection<StoredRecord>[];

/** What calls need of the other features. */
export interface CallServiceDeps extends Platform {
  agents: AgentService;
  storedAgents: SessionAgents;
  memories: MemoryService;
  models: ModelCatalog;
  tools: SessionTools;
  analyses: SessionAnalyses & RuleSource;
  rateLimits: SessionOwnLimits;
}

export interface CallServices {
  admissions: AdmissionService;
  agentWebhooks: AgentWebhookService;
  callEvents: CallEventHandler;
  carrierCallbacks: CarrierCallbackService;
  callLog: CallLog;
  carrierCommands: CarrierCommands;
  deliveries: WebhookDeliveryService;
  gatewayCommands: GatewayCommands;
  inboundDeployments: InboundDeploymentService;
  phoneNumbers: PhoneNumberService;
  mediaLinks: MediaLinks;
  postCall: PostCallService;
  preCall: PreCallService;
  reaper: Reaper;
  recordings: RecordingService;
  retention: Retention;
  safeFetch: SafeFetch;
  sessionCloser: SessionCloser;
  sessionControl: SessionControl;
  sessionCreation: SessionCreation;
  sessionCredentials: SessionCredentials;
  sessionErasure: SessionErasure;
  sessionStore: SessionStore;
  telephonyAccounts: TelephonyAccountService;
  tickets: WsTicketService;
  widget: WidgetService;
  /** Names this process in leases. */
  processName: string;
}

/** Wires everything from permission to the end of a call. Starts nothing. */
function createCallServices(deps: CallServiceDeps): CallServices {
  const { config, database, bus, clock, logger, agents, storedAgents, directory, models, signingKeys } = deps;
  const publicUrl = config.PUBLIC_URL;
  const mediaPublicUrl = config.MEDIA_PUBLIC_URL;
  const safeFetch = createSafeFetch({ allow: config.OUTBOUND_ALLOW });
  const tickets = new WsTicketService({ database, clock });
  const callLog = new CallLog({ database, clock });
  const toolCalls = new ToolCallLog({ database });
  const recordings = new RecordingService({
    database,
    store: new FileRecordingStore(config.STORAGE_DIR),
    clock,
  });
  const sessionStore = new SessionStore({ database, events: callLog });
  const gatewayCommands = new GatewayCommands({ bus, clock });
  const telephonyAccounts = new TelephonyAccountService({
    database,
    directory,
    box: deps.box,
    audit: deps.audit,
    clock,
    apiUrls: carrierApiUrls(config),
  });
  const carrierCommands = new CarrierCommands({
    database,
    carriers: telephonyAccounts,
    store: sessionStore,
    publicUrl,
    clock,
    logger,
  });
  const preCall = new PreCallService({
    store: sessionStore,
    call: async (request) => {
      const { method, url, headers, body, timeoutMs, orgId } = request;
      const answer = await safeFetch.request({
        method,
        url,
        headers,
        timeoutMs,
        orgId,
        purpose: 'webhook',
        ...(body === null ? {} : { body }),
      });
      return { status: answer.status, body: answer.body.toString('utf8') };
    },
    clock,
    logger,
  });
  const processName = `cp_${randomUUID()}`;
  const mediaLinks = new MediaLinks({ key: deps.box.deriveKey('media-links'), publicUrl, clock });
  const agentWebhooks = new AgentWebhookService({
    agents,
    database,
    box: deps.box,
    audit: deps.audit,
    clock,
  });
  const deliveries = new WebhookDeliveryService({
    database,
    webhooks: agentWebhooks,
    callLog,
    safeFetch,
    clock,
    logger,
    owner: processName,
  });
  const erasers: SessionEraser[] = [
    (id) => callLog.erase(id),
    (id) => toolCalls.erase(id),
    (id) => recordings.deleteOf(id),
    (id) => deliveries.erase(id),
    (id) => postCall.erase(id),
    (id) => eraseTestReasons(database, id),
  ];
  const sessionPlaces = new SessionPlaces({
    agents: storedAgents,
    ownLimits: deps.rateLimits,
    limits: {
      concurrentSessionsPerOrg: config.CONCURRENT_SESSIONS_PER_ORG,
      sessionStartsPerMinute: config.SESSION_STARTS_PER_MINUTE,
    },
    bus,
    clock,
    logger,
  });
  const sessionErasure = new SessionErasure({
    store: sessionStore,
    erasers,
    memories: deps.memories,
    clock,
  });
  const erase = (session: SessionRecord) => sessionErasure.erase(session);
  const sessionCloser = new SessionCloser({
    store: sessionStore,
    tickets,
    places: sessionPlaces,
    hangup: (session) => carrierCommands.hangup(session),
    erase,
    afterCall: { enqueue: (session, options) => postCall.enqueue(session, options) },
    clock,
  });
  const sessionControl = new SessionControl({
    store: sessionStore,
    closer: sessionCloser,
    gateways: gatewayCommands,
    places: sessionPlaces,
    clock,
  });
  const sessionCredentials = new SessionCredentials({
    store: sessionStore,
    tickets,
    signingKeys,
    clock,
    publicUrl,
    mediaPublicUrl,
  });
  const sessionCreation = new SessionCreation({
    store: sessionStore,
    choices: new SessionChoices({
      agents: storedAgents,
      accounts: telephonyAccounts,
      analyses: deps.analyses,
      catalog: models,
      directory,
    }),
    places: sessionPlaces,
    credentials: sessionCredentials,
    preCall,
    directory,
    clock,
  });
  const sessionMemories = new SessionMemories({
    memories: deps.memories,
    store: sessionStore,
    callLog,
    catalog: models,
    logger,
  });
  const postCall = new PostCallService({
    database,
    store: sessionStore,
    agents: storedAgents,
    callLog,
    recordings,
    mediaLinks,
    deliveries,
    catalog: models,
    directory,
    steps: [
      new RuleAnalyses({ database, analyses: deps.analyses, catalog: models, logger }),
      sessionMemories,
    ],
    clock,
    logger,
  });
  const callEvents = new CallEventHandler({
    store: sessionStore,
    closer: sessionCloser,
    callLog,
    toolCalls,
    recordings,
    carrierCommands,
    gatewayCommands,
    logger,
  });
  const phoneNumbers = new PhoneNumberService({ database, clock });
  const inboundDeployments = new InboundDeploymentService({ database, clock });
  const answers = new CallAnswers({
    credentials: sessionCredentials,
    closer: sessionCloser,
    leases: bus.leases,
    publicUrl,
    clock,
    logger,
  });
  const carrierCallbacks = new CarrierCallbackService({
    accounts: telephonyAccounts,
    store: sessionStore,
    incoming: new IncomingCalls({
      numbers: phoneNumbers,
      deployments: inboundDeployments,
      agents: storedAgents,
      directory,
      creation: sessionCreation,
      answers,
      logger,
    }),
    answers,
    transfers: new CallTransfers({
      store: sessionStore,
      commands: carrierCommands,
      agents: storedAgents,
      answers,
    }),
    progress: new CallProgress({
      store: sessionStore,
      closer: sessionCloser,
      events: callLog,
      clock,
      logger,
    }),
    publicUrl,
    logger,
  });
  const reaper = new Reaper({
    store: sessionStore,
    tickets,
    gatewayCommands,
    closer: sessionCloser,
    bus,
    clock,
    logger,
    owner: processName,
  });
  const retention = new Retention({
    database,
    erase,
    needed: [(id) => postCall.isPending(id), (id) => deliveries.isPending(id)],
    bus,
    clock,
    logger,
    owner: processName,
  });
  const admissions = new AdmissionService({
    credentials: new AdmissionCredentials({
      tickets,
      store: sessionStore,
      carriers: telephonyAccounts,
      signingKeys,
      clock,
      publicUrl,
      mediaPublicUrl,
    }),
    legs: new SessionLegs({ store: sessionStore, tickets, places: sessionPlaces, clock }),
    preCall,
    agents: storedAgents,
    closer: sessionCloser,
    plans: new SessionPlans({
      sources: {
        recording: (session, leg) => recordings.forLeg(session, leg),
        history: async (sessionId) => (await callLog.turns(sessionId)).map(toTurn),
        memories: (session, agent) => sessionMemories.forPlan(session, agent),
      },
      store: sessionStore,
      catalog: models,
      tools: deps.tools,
      directory,
      settings: { recordingStore: config.RECORDING_STORE, outboundAllow: config.OUTBOUND_ALLOW },
    }),
    clock,
  });
  return {
    admissions,
    agentWebhooks,
    callEvents,
    callLog,
    carrierCallbacks,
    carrierCommands,
    deliveries,
    gatewayCommands,
    inboundDeployments,
    phoneNumbers,
    mediaLinks,
    postCall,
    preCall,
    reaper,
    recordings,
    retention,
    safeFetch,
    sessionCloser,
    sessionControl,
    sessionCreation,
    sessionCredentials,
    sessionErasure,
    sessionStore,
    telephonyAccounts,
    tickets,
    widget: new WidgetService({
      agents: storedAgents,
      sessions: sessionCreation,
      database,
      directory,
      bus,
      clock,
    }),
    processName,
  };
}

/** Calls as a feature. */
export function createCalls(deps: CallServiceDeps): { feature: Feature; services: CallServices } {
  const services = createCallServices(deps);
  const publicUrl = deps.config.PUBLIC_URL;
  const all = { ...deps, ...services, publicUrl };
  const feature: Feature = {
    collections: CALL_COLLECTIONS,
    routes: [
      ...sessionRoutes(all),
      ...widgetRoutes(all),
      ...callLogRoutes(all),
      ...toolCallRoutes(),
      ...recordingRoutes(all),
      ...analysisResultRoutes(all),
      ...webhookRoutes(all),
      ...telephonyAccountRoutes(all),
      ...phoneNumberRoutes(all),
      ...carrierCallbackRoutes(all),
    ],
    internalRoutes: admissionOperations(services),
    samples: [
      telephonySample,
      sessionSample,
      callLogSample,
      recordingSample,
      widgetSample,
      webhookSample,
      carrierSample,
    ],
    parameters: {
      session_id: z.uuid(),
      recording_id: idSchema('rec'),
      delivery_id: idSchema('whd'),
      telephony_account_id: idSchema('tel'),
      phone_number_id: idSchema('phn'),
      inbound_deployment_id: idSchema('ibd'),
    },
    flags: [
      { key: 'realtime_websocket', description: 'Realtime sessions over a WebSocket' },
      { key: 'public_widget', description: 'Sessions from public pages' },
    ],
    uses: {
      async agent(scope, agentId) {
        const bound = await scope
          .collection(inboundDeploymentCollection)
          .find({ agent_id: agentId, status: 'active' }, { limit: 20 });
        return bound.map(({ _id, name }) => ({ type: 'inbound_deployment', id: _id, name }));
      },
      async project(scope) {
        const numbers = await scope
          .collection(phoneNumberCollection)
          .find({ status: 'active' }, { limit: 20 });
        return numbers.map((number) => ({ type: 'phone_number', id: number._id, name: number.phone_number }));
      },
    },
  };
  return { feature, services };
}
