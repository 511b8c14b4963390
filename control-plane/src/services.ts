import type { Bus } from '@parley/shared/bus/bus';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { agentCollection, agentSecretCollection, agentVersionCollection } from './agents/agent-model.ts';
import { agentRoutes } from './agents/agent-routes.ts';
import { AgentService } from './agents/agent-service.ts';
import { HeaderSecrets } from './agents/header-secrets.ts';
import { apiKeyCollection } from './api-keys/api-key-model.ts';
import { apiKeyRoutes } from './api-keys/api-key-routes.ts';
import { ApiKeyService } from './api-keys/api-key-service.ts';
import { auditCollection, AuditTrail } from './audit/audit-trail.ts';
import { CALL_COLLECTIONS, callRoutes, createCallServices, internalCallRoutes } from './call-services.ts';
import type { CallServices } from './call-services.ts';
import type { ControlPlaneConfig } from './config.ts';
import { SecretBox } from './crypto/secret-box.ts';
import { SigningKeys } from './crypto/signing-keys.ts';
import { descriptionRoutes } from './http/description-routes.ts';
import { healthRoutes } from './http/health-routes.ts';
import { idempotencyCollection, IdempotencyStore } from './http/idempotency.ts';
import { describeOperations } from './http/openapi.ts';
import type { Operation } from './http/operation.ts';
import { BackgroundWork } from './lifecycle/background-work.ts';
import { meRoutes } from './me/me-routes.ts';
import { memberCollection } from './members/member-model.ts';
import { orgCollection } from './orgs/org-model.ts';
import { projectCollection } from './projects/project-model.ts';
import { InstallationModelCatalog } from './providers/model-catalog.ts';
import type { InstallationProviders, ModelCatalog, ProviderSettings } from './providers/model-catalog.ts';
import type { Collection, StoredRecord } from './storage/collection.ts';
import type { Database } from './storage/database.ts';
import { Directory } from './tenancy/directory.ts';

/** Everything stored: their indexes are made at start. */
export const COLLECTIONS: readonly Collection<StoredRecord>[] = [
  agentCollection,
  agentSecretCollection,
  agentVersionCollection,
  apiKeyCollection,
  auditCollection,
  idempotencyCollection,
  memberCollection,
  orgCollection,
  projectCollection,
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
}

export interface Services extends ServiceDeps, CallServices {
  agents: AgentService;
  apiKeys: ApiKeyService;
  audit: AuditTrail;
  background: BackgroundWork;
  box: SecretBox;
  directory: Directory;
  headerSecrets: HeaderSecrets;
  idempotency: IdempotencyStore;
  models: ModelCatalog;
  signingKeys: SigningKeys;
}

/** Wires the features to each other. Starts nothing. */
export async function createServices(deps: ServiceDeps): Promise<Services> {
  const { config, database, clock, logger } = deps;
  const box = new SecretBox(config.ENCRYPTION_KEYS);
  const signingKeys = await SigningKeys.from(config.JWT_PRIVATE_KEYS);
  const background = new BackgroundWork(logger);
  const directory = new Directory({ database, clock });
  const audit = new AuditTrail({ database, clock });
  const idempotency = new IdempotencyStore({ database, clock });
  const models = new InstallationModelCatalog(installationProviders(config));
  const apiKeys = new ApiKeyService({ database, directory, audit, background, clock });
  const headerSecrets = new HeaderSecrets({ database, box });
  const agents = new AgentService({
    database,
    models,
    secrets: headerSecrets,
    audit,
    clock,
    outboundAllow: config.OUTBOUND_ALLOW,
  });
  const calls = createCallServices({ ...deps, agents, audit, box, directory, models, signingKeys });
  return {
    ...deps,
    ...calls,
    agents,
    apiKeys,
    audit,
    background,
    box,
    directory,
    headerSecrets,
    idempotency,
    models,
    signingKeys,
  };
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
    ...apiKeyRoutes(services),
    ...agentRoutes(services),
    ...callRoutes(services),
  );
  return operations;
}

/** Routes of the internal listener, for gateways. */
export function createInternalOperations(services: Services): Operation[] {
  return internalCallRoutes(services);
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
