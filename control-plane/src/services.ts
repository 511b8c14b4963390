import type { Bus } from '@parley/shared/bus/bus';
import { realtimeWsUrl } from '@parley/shared/contracts/addresses';
import { TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import {
  agentTestCollection,
  agentTestResultCollection,
  agentTestRunCollection,
} from './agent-tests/agent-test-model.ts';
import { agentTestRoutes } from './agent-tests/agent-test-routes.ts';
import { AgentTestRunner } from './agent-tests/agent-test-runner.ts';
import { AgentTestService, hasPassedRun, removeTestsOf } from './agent-tests/agent-test-service.ts';
import { agentLinkRoutes } from './agents/agent-link-routes.ts';
import { agentCollection, agentSecretCollection, agentVersionCollection } from './agents/agent-model.ts';
import { agentRoutes } from './agents/agent-routes.ts';
import { AgentService } from './agents/agent-service.ts';
import { HeaderSecrets } from './agents/header-secrets.ts';
import { analysisCollection } from './analyses/analysis-model.ts';
import { analysisRoutes } from './analyses/analysis-routes.ts';
import { AnalysisService } from './analyses/analysis-service.ts';
import { apiKeyCollection } from './api-keys/api-key-model.ts';
import { apiKeyRoutes } from './api-keys/api-key-routes.ts';
import { ApiKeyService } from './api-keys/api-key-service.ts';
import { auditCollection, AuditTrail } from './audit/audit-trail.ts';
import { CALL_COLLECTIONS, callRoutes, createCallServices, internalCallRoutes } from './call-services.ts';
import type { CallServices } from './call-services.ts';
import type { ControlPlaneConfig } from './config.ts';
import { SecretBox } from './crypto/secret-box.ts';
import { SigningKeys } from './crypto/signing-keys.ts';
import { featureFlagRoutes } from './feature-flags/feature-flag-routes.ts';
import { descriptionRoutes } from './http/description-routes.ts';
import { healthRoutes } from './http/health-routes.ts';
import { idempotencyCollection, IdempotencyStore } from './http/idempotency.ts';
import { describeOperations } from './http/openapi.ts';
import type { Operation } from './http/operation.ts';
import {
  installationCollection,
  refreshTokenCollection,
  signInCollection,
  userCollection,
} from './identity/identity-model.ts';
import { identityRoutes } from './identity/identity-routes.ts';
import { IdentityService } from './identity/identity-service.ts';
import { PasswordHasher } from './identity/password.ts';
import { LogMailer, SmtpMailer } from './identity/mailer.ts';
import type { Mailer } from './identity/mailer.ts';
import { knowledgeBaseCollection } from './knowledge-bases/knowledge-base-model.ts';
import { knowledgeBaseRoutes } from './knowledge-bases/knowledge-base-routes.ts';
import { KnowledgeBaseService } from './knowledge-bases/knowledge-base-service.ts';
import { BackgroundWork } from './lifecycle/background-work.ts';
import { meRoutes } from './me/me-routes.ts';
import { memoryCollection } from './memories/memory-model.ts';
import { memoryRoutes } from './memories/memory-routes.ts';
import { MemoryService } from './memories/memory-service.ts';
import { inviteCollection } from './members/invite-model.ts';
import { memberCollection } from './members/member-model.ts';
import { memberRoutes } from './members/member-routes.ts';
import { MemberService } from './members/member-service.ts';
import { orgCollection } from './orgs/org-model.ts';
import { orgRoutes } from './orgs/org-routes.ts';
import { OrgService } from './orgs/org-service.ts';
import { projectCollection } from './projects/project-model.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { ProjectService } from './projects/project-service.ts';
import { OrgModelCatalog } from './providers/model-catalog.ts';
import type { ModelCatalog } from './providers/model-catalog.ts';
import { ownModelCollection } from './providers/own-model-model.ts';
import { OwnModelService } from './providers/own-model-service.ts';
import type { NamingRecords } from './providers/own-model-service.ts';
import { ProviderAccounts } from './providers/provider-accounts.ts';
import type { InstallationProviders, ProviderSettings } from './providers/provider-accounts.ts';
import { providerCredentialCollection } from './providers/provider-credential-model.ts';
import { ProviderCredentialService } from './providers/provider-credential-service.ts';
import { providerRoutes } from './providers/provider-routes.ts';
import { ProviderStore } from './providers/provider-store.ts';
import { rateLimitCollection } from './rate-limits/rate-limit-model.ts';
import { rateLimitRoutes } from './rate-limits/rate-limit-routes.ts';
import { RateLimitService } from './rate-limits/rate-limit-service.ts';
import { sessionCollection } from './sessions/session-model.ts';
import type { Collection, StoredRecord } from './storage/collection.ts';
import type { Database } from './storage/database.ts';
import { inboundDeploymentCollection } from './telephony/inbound-deployment-model.ts';
import { phoneNumberCollection } from './telephony/phone-number-model.ts';
import { telephonyAccountCollection } from './telephony/telephony-account-model.ts';
import { Directory } from './tenancy/directory.ts';
import { toolCollection } from './tools/tool-model.ts';
import { toolRoutes } from './tools/tool-routes.ts';
import { ToolService } from './tools/tool-service.ts';
import { VoiceCatalog } from './voices/voice-catalog.ts';
import { VoiceLookup } from './voices/voice-lookup.ts';
import { voiceCollection } from './voices/voice-model.ts';
import { voiceRoutes } from './voices/voice-routes.ts';
import { VoiceService } from './voices/voice-service.ts';
import { VoiceSpeech } from './voices/voice-speech.ts';

/** A minute of uncompressed speech, and every provider's list of models and voices. */
const MAX_PROVIDER_ANSWER_BYTES = 16 * 1024 * 1024;

/** Everything stored: their indexes are made at start. */
export const COLLECTIONS: readonly Collection<StoredRecord>[] = [
  agentCollection,
  agentSecretCollection,
  agentTestCollection,
  agentTestResultCollection,
  agentTestRunCollection,
  agentVersionCollection,
  analysisCollection,
  apiKeyCollection,
  auditCollection,
  idempotencyCollection,
  installationCollection,
  inviteCollection,
  knowledgeBaseCollection,
  memberCollection,
  memoryCollection,
  orgCollection,
  ownModelCollection,
  projectCollection,
  providerCredentialCollection,
  rateLimitCollection,
  refreshTokenCollection,
  signInCollection,
  toolCollection,
  userCollection,
  voiceCollection,
  ...CALL_COLLECTIONS,
];

/** What a feature is made from. */
export interface ServiceDeps {
  config: ControlPlaneConfig;
  database: Database;
  bus: Bus;
  logger: Logger;
  clock: Clock;
  /** Whether the process is stopping. */
  draining: () => boolean;
  /** How mails leave; by SMTP or into the log when not given. */
  mailer?: Mailer | undefined;
}

export interface Services extends ServiceDeps, CallServices {
  agentTestRunner: AgentTestRunner;
  agentTests: AgentTestService;
  agents: AgentService;
  analyses: AnalysisService;
  apiKeys: ApiKeyService;
  audit: AuditTrail;
  background: BackgroundWork;
  box: SecretBox;
  directory: Directory;
  headerSecrets: HeaderSecrets;
  idempotency: IdempotencyStore;
  identity: IdentityService;
  knowledgeBases: KnowledgeBaseService;
  mailer: Mailer;
  members: MemberService;
  memories: MemoryService;
  models: ModelCatalog;
  orgs: OrgService;
  ownModels: OwnModelService;
  projects: ProjectService;
  providerCredentials: ProviderCredentialService;
  /** Requests of the control plane to speech and language providers. */
  providerFetch: SafeFetch;
  rateLimits: RateLimitService;
  signingKeys: SigningKeys;
  tools: ToolService;
  voices: VoiceService;
}

/** Wires the features to each other. Starts nothing. */
export async function createServices(deps: ServiceDeps): Promise<Services> {
  const { config, database, clock, logger } = deps;
  const box = new SecretBox(config.ENCRYPTION_KEYS);
  const signingKeys = await SigningKeys.from(config.JWT_PRIVATE_KEYS);
  const background = new BackgroundWork(logger);
  const directory = new Directory({ database, clock, background });
  const audit = new AuditTrail({ database, clock });
  const idempotency = new IdempotencyStore({ database, clock });
  const providerFetch = createSafeFetch({
    allow: config.OUTBOUND_ALLOW,
    maxResponseBytes: MAX_PROVIDER_ANSWER_BYTES,
  });
  const providerStore = new ProviderStore({ database, clock });
  const providerAccounts = new ProviderAccounts({
    source: providerStore,
    box,
    installation: installationProviders(config),
  });
  const voiceCatalog = new VoiceCatalog({ fetch: providerFetch, clock, logger });
  const models = new OrgModelCatalog({
    accounts: providerAccounts,
    source: providerStore,
    voices: new VoiceLookup({ database, catalog: voiceCatalog }),
    fetch: providerFetch,
  });
  const apiKeys = new ApiKeyService({ database, directory, audit, background, clock });
  const headerSecrets = new HeaderSecrets({ database, box });
  const memories = new MemoryService({ database, directory, audit, clock });
  const agents = new AgentService({
    database,
    models,
    secrets: headerSecrets,
    audit,
    clock,
    outboundAllow: config.OUTBOUND_ALLOW,
    purges: [(scope, agentId) => memories.forgetAgent(scope, agentId), removeTestsOf],
    hasPassedTests: hasPassedRun,
    uses: [
      async (scope, agentId) => {
        const bound = await scope
          .collection(inboundDeploymentCollection)
          .find({ agent_id: agentId, status: 'active' }, { limit: 20 });
        return bound.map(({ _id, name }) => ({ type: 'inbound_deployment', id: _id, name }));
      },
    ],
  });
  const tools = new ToolService({
    database,
    agents,
    audit,
    box,
    clock,
    outboundAllow: config.OUTBOUND_ALLOW,
  });
  const analyses = new AnalysisService({ database, agents, models, clock });
  const providerCredentials = new ProviderCredentialService({
    store: providerStore,
    accounts: providerAccounts,
    fetch: providerFetch,
    box,
    audit,
    clock,
  });
  const naming: NamingRecords = async (orgId, ids) => [
    ...(await agents.naming(orgId, ids)),
    ...(await projectsNaming(database, orgId, ids)),
    ...(await analysesNaming(database, orgId, ids)),
  ];
  const ownModels = new OwnModelService({
    store: providerStore,
    models,
    fetch: providerFetch,
    naming,
    clock,
  });
  const voices = new VoiceService({
    database,
    models,
    accounts: providerAccounts,
    catalog: voiceCatalog,
    speech: new VoiceSpeech({ fetch: providerFetch }),
    fetch: providerFetch,
    naming,
    background,
    clock,
    logger,
  });
  const knowledgeBases = new KnowledgeBaseService({ agents, clock });
  const mailer = deps.mailer ?? createMailer(config, logger);
  const consoleUrl = config.CONSOLE_URL ?? config.PUBLIC_URL;
  const identity = new IdentityService({
    database,
    signingKeys,
    box,
    bus: deps.bus,
    audit,
    mailer,
    passwords: new PasswordHasher({ costBits: config.PASSWORD_COST_BITS }),
    background,
    clock,
    issuer: config.PUBLIC_URL,
    consoleUrl,
  });
  const members = new MemberService({
    database,
    directory,
    identity,
    mailer,
    background,
    audit,
    clock,
    consoleUrl,
  });
  const orgs = new OrgService({
    database,
    directory,
    audit,
    clock,
    liveSessions: async (tenant) =>
      (await database
        .model(sessionCollection)
        .exists({ ...tenant, status: { $nin: [...TERMINAL_STATUSES] } })) !== null,
  });
  const projects = new ProjectService({
    directory,
    models,
    audit,
    clock,
    telephonyAccounts: telephonyAccountCollection,
    uses: [
      async (scope) => {
        const numbers = await scope
          .collection(phoneNumberCollection)
          .find({ status: 'active' }, { limit: 20 });
        return numbers.map((number) => ({ type: 'phone_number', id: number._id, name: number.phone_number }));
      },
    ],
  });
  const rateLimits = new RateLimitService({
    database,
    clock,
    maximum: {
      api_requests: 0,
      session_starts: config.SESSION_STARTS_PER_MINUTE,
      concurrent_sessions: config.CONCURRENT_SESSIONS_PER_ORG,
    },
  });
  const own = {
    ...deps,
    agents,
    analyses,
    apiKeys,
    audit,
    background,
    box,
    directory,
    headerSecrets,
    idempotency,
    identity,
    knowledgeBases,
    mailer,
    members,
    memories,
    models,
    orgs,
    ownModels,
    projects,
    providerCredentials,
    providerFetch,
    rateLimits,
    signingKeys,
    tools,
    voices,
  };
  const calls = createCallServices(own);
  const agentTestRunner = new AgentTestRunner({
    database,
    agents,
    models,
    directory,
    sessions: calls.sessions,
    store: calls.sessionStore,
    callLog: calls.callLog,
    realtimeUrl: realtimeWsUrl(config.MEDIA_LOCAL_URL ?? config.MEDIA_PUBLIC_URL ?? config.PUBLIC_URL),
    clock,
    logger,
    owner: calls.processName,
  });
  const agentTests = new AgentTestService({
    database,
    agents,
    models,
    callLog: calls.callLog,
    runner: agentTestRunner,
    clock,
  });
  return { ...own, ...calls, agentTestRunner, agentTests };
}

/** Every public route. Descriptions use no service, so `{}` will do for those who only want to read them. */
export function createOperations(services: Services): Operation[] {
  const operations: Operation[] = [];
  operations.push(
    ...healthRoutes({ ...services, storageDir: services.config?.STORAGE_DIR }),
    ...descriptionRoutes({
      describe: () => describeOperations(operations, { url: services.config.PUBLIC_URL }),
    }),
    ...meRoutes(),
    ...identityRoutes(services),
    ...orgRoutes(services),
    ...projectRoutes(services),
    ...memberRoutes(services),
    ...apiKeyRoutes(services),
    ...featureFlagRoutes(services),
    ...rateLimitRoutes(services),
    ...agentRoutes(services),
    ...agentLinkRoutes(services),
    ...agentTestRoutes(services),
    ...memoryRoutes(services),
    ...toolRoutes(services),
    ...analysisRoutes(services),
    ...knowledgeBaseRoutes(services),
    ...providerRoutes(services),
    ...voiceRoutes(services),
    ...callRoutes(services),
  );
  return operations;
}

/** Routes of the internal listener, for gateways. */
export function createInternalOperations(services: Services): Operation[] {
  return internalCallRoutes(services);
}

function createMailer(config: ControlPlaneConfig, logger: Logger): Mailer {
  return config.SMTP_URL
    ? new SmtpMailer({ url: config.SMTP_URL, from: config.SMTP_FROM })
    : new LogMailer(logger);
}

async function projectsNaming(
  database: Database,
  orgId: string,
  ids: readonly string[],
): Promise<ErrorRef[]> {
  const anyOf = { $in: [...ids] };
  const fields = ['default_llm_id', 'default_stt_id', 'default_tts_id', 'default_voice_id'];
  const named = await database
    .model(projectCollection)
    .find({ org_id: orgId, archived_at: null, $or: fields.map((field) => ({ [field]: anyOf })) })
    .limit(20)
    .lean();
  return named.map(({ _id, name }) => ({ type: 'project', id: _id, name }));
}

async function analysesNaming(
  database: Database,
  orgId: string,
  ids: readonly string[],
): Promise<ErrorRef[]> {
  const named = await database
    .model(analysisCollection)
    .find({ org_id: orgId, llm_id: { $in: [...ids] } })
    .limit(20)
    .lean();
  return named.map(({ _id, name }) => ({ type: 'analysis', id: _id, name }));
}

function installationProviders(config: ControlPlaneConfig): InstallationProviders {
  const settings = (
    name: 'DEEPGRAM' | 'OPENAI' | 'ELEVENLABS',
    standardUrl: string,
  ): ProviderSettings | undefined => {
    const apiKey = config[`${name}_API_KEY`] ?? null;
    const baseUrl = config[`${name}_BASE_URL`];
    const emulated = config.EMULATED_PROVIDERS.includes(name.toLowerCase());
    // A server of the operator's own may need no key; the vendor's always does.
    if (!apiKey && !emulated && baseUrl === standardUrl) return undefined;
    const model = name === 'OPENAI' ? config.OPENAI_MODEL : undefined;
    return { baseUrl, apiKey, emulated, model };
  };
  return {
    deepgram: settings('DEEPGRAM', 'https://api.deepgram.com'),
    openai: settings('OPENAI', 'https://api.openai.com/v1'),
    elevenlabs: settings('ELEVENLABS', 'https://api.elevenlabs.io'),
  };
}
