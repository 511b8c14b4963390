import { randomUUID } from 'node:crypto';
import { createSafeFetch, type SafeFetch } from '@parley/shared/http/safe-fetch';
import type { AgentService } from './agents/agent-service.ts';
import { admissionOperations } from './admissions/admission-routes.ts';
import { AdmissionService } from './admissions/admission-service.ts';
import type { AuditTrail } from './audit/audit-trail.ts';
import { callLogRoutes } from './calls/call-log-routes.ts';
import { CallLog } from './calls/call-log.ts';
import { carrierCommandCollection } from './calls/carrier-command-model.ts';
import { CarrierCommands } from './calls/carrier-commands.ts';
import { GatewayCommands } from './calls/gateway-commands.ts';
import { sessionEventCollection } from './calls/session-event-model.ts';
import { turnCollection } from './calls/turn-model.ts';
import type { SecretBox } from './crypto/secret-box.ts';
import type { SigningKeys } from './crypto/signing-keys.ts';
import type { Operation } from './http/operation.ts';
import type { ModelCatalog } from './providers/model-catalog.ts';
import { recordingCollection } from './recordings/recording-model.ts';
import { RecordingService } from './recordings/recording-service.ts';
import { FileRecordingStore } from './recordings/recording-store.ts';
import { PreCallService } from './sessions/pre-call.ts';
import { sessionCollection } from './sessions/session-model.ts';
import { sessionRoutes } from './sessions/session-routes.ts';
import { SessionService, type SessionEraser } from './sessions/session-service.ts';
import { SessionStore } from './sessions/session-store.ts';
import type { ServiceDeps } from './services.ts';
import type { Collection, StoredRecord } from './storage/collection.ts';
import { telephonyAccountRoutes } from './telephony/telephony-account-routes.ts';
import { TelephonyAccountService } from './telephony/telephony-account-service.ts';
import { inboundDeploymentCollection } from './telephony/inbound-deployment-model.ts';
import { phoneNumberCollection } from './telephony/phone-number-model.ts';
import { telephonyAccountCollection } from './telephony/telephony-account-model.ts';
import type { Directory } from './tenancy/directory.ts';
import { wsTicketCollection } from './ws-tickets/ws-ticket-model.ts';
import { WsTicketService } from './ws-tickets/ws-ticket-service.ts';

/** What is stored of calls, from permission to the end. */
export const CALL_COLLECTIONS = [
  carrierCommandCollection,
  inboundDeploymentCollection,
  phoneNumberCollection,
  recordingCollection,
  sessionCollection,
  sessionEventCollection,
  telephonyAccountCollection,
  turnCollection,
  wsTicketCollection,
] as readonly Collection<StoredRecord>[];

/** What calls need of the other features. */
export interface CallServiceDeps extends ServiceDeps {
  agents: AgentService;
  audit: AuditTrail;
  box: SecretBox;
  directory: Directory;
  models: ModelCatalog;
  signingKeys: SigningKeys;
}

export interface CallServices {
  admissions: AdmissionService;
  callLog: CallLog;
  carrierCommands: CarrierCommands;
  gatewayCommands: GatewayCommands;
  preCall: PreCallService;
  recordings: RecordingService;
  safeFetch: SafeFetch;
  sessionStore: SessionStore;
  sessions: SessionService;
  telephonyAccounts: TelephonyAccountService;
  tickets: WsTicketService;
  /** Names this process in leases. */
  processName: string;
}

/** Wires everything from permission to the end of a call. Starts nothing. */
export function createCallServices(deps: CallServiceDeps): CallServices {
  const { config, database, bus, clock, logger, agents, directory, models, signingKeys } = deps;
  const publicUrl = config.PUBLIC_URL;
  const mediaPublicUrl = config.MEDIA_PUBLIC_URL;
  const safeFetch = createSafeFetch({ allow: config.OUTBOUND_ALLOW });
  const tickets = new WsTicketService({ database, clock });
  const callLog = new CallLog({ database, clock });
  const recordings = new RecordingService({
    database,
    store: new FileRecordingStore(config.STORAGE_DIR),
    clock,
  });
  const sessionStore = new SessionStore({ database, callLog, tickets, bus, logger });
  const gatewayCommands = new GatewayCommands({ bus, clock });
  const telephonyAccounts = new TelephonyAccountService({
    database,
    directory,
    box: deps.box,
    audit: deps.audit,
    clock,
    apiUrls: { plivo: config.PLIVO_BASE_URL, twilio: config.TWILIO_BASE_URL, telnyx: config.TELNYX_BASE_URL },
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
  const erasers: SessionEraser[] = [(id) => callLog.erase(id), (id) => recordings.deleteOf(id)];
  const sessions = new SessionService({
    store: sessionStore,
    tickets,
    callLog,
    commands: gatewayCommands,
    carrierCommands,
    agents,
    accounts: telephonyAccounts,
    catalog: models,
    directory,
    preCall,
    bus,
    clock,
    logger,
    signingKeys,
    erasers,
    settings: {
      publicUrl,
      mediaPublicUrl,
      limits: {
        concurrentSessionsPerOrg: config.CONCURRENT_SESSIONS_PER_ORG,
        sessionStartsPerMinute: config.SESSION_STARTS_PER_MINUTE,
      },
    },
  });
  const admissions = new AdmissionService({
    tickets,
    store: sessionStore,
    sessions,
    carriers: telephonyAccounts,
    recordings,
    callLog,
    catalog: models,
    directory,
    preCall,
    signingKeys,
    bus,
    clock,
    logger,
    settings: {
      publicUrl,
      mediaPublicUrl,
      recordingStore: config.RECORDING_STORE,
      outboundAllow: config.OUTBOUND_ALLOW,
    },
  });
  return {
    admissions,
    callLog,
    carrierCommands,
    gatewayCommands,
    preCall,
    recordings,
    safeFetch,
    sessionStore,
    sessions,
    telephonyAccounts,
    tickets,
    processName: `cp_${randomUUID()}`,
  };
}

export function callRoutes(services: CallServices & Pick<ServiceDeps, 'config'>): Operation[] {
  return [
    ...sessionRoutes(services),
    ...callLogRoutes(services),
    ...telephonyAccountRoutes({ ...services, publicUrl: services.config?.PUBLIC_URL }),
  ];
}

export function internalCallRoutes(services: CallServices): Operation[] {
  return admissionOperations(services);
}
