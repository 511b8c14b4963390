import { randomUUID } from 'node:crypto';
import type { Bus } from '@parley/shared/bus/bus';
import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { auditRoutes } from '../audit/audit-routes.ts';
import { auditSample } from '../audit/audit-sample.ts';
import { auditCollection, AuditTrail } from '../audit/audit-trail.ts';
import type { ControlPlaneConfig } from '../config.ts';
import { SecretBox } from '../crypto/secret-box.ts';
import { SigningKeys } from '../crypto/signing-keys.ts';
import { descriptionRoutes } from '../http/description-routes.ts';
import { healthRoutes } from '../http/health-routes.ts';
import { idempotencyCollection, IdempotencyStore } from '../http/idempotency.ts';
import { LogMailer, SmtpMailer } from '../identity/mailer.ts';
import type { Mailer } from '../identity/mailer.ts';
import { BackgroundWork } from '../lifecycle/background-work.ts';
import type { Database } from '../storage/database.ts';
import { Directory } from '../tenancy/directory.ts';
import type { Feature } from './feature.ts';

/** A minute of uncompressed speech, and every provider's list of models and voices. */
const MAX_PROVIDER_ANSWER_BYTES = 16 * 1024 * 1024;

/** What a control plane is made from. */
export interface PlatformDeps {
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

/** What any feature may be made from. */
export interface Platform extends PlatformDeps {
  audit: AuditTrail;
  background: BackgroundWork;
  box: SecretBox;
  /** Where mailed links lead. */
  consoleUrl: string;
  directory: Directory;
  idempotency: IdempotencyStore;
  mailer: Mailer;
  /** Names this process in leases. */
  processName: string;
  /** Requests to speech and language providers. */
  providerFetch: SafeFetch;
  /** Requests to tenants' own servers. */
  safeFetch: SafeFetch;
  signingKeys: SigningKeys;
}

export async function createPlatform(deps: PlatformDeps): Promise<Platform> {
  const { config, database, clock, logger } = deps;
  const background = new BackgroundWork(logger);
  return {
    ...deps,
    audit: new AuditTrail({ database, clock }),
    background,
    box: new SecretBox(config.ENCRYPTION_KEYS),
    consoleUrl: config.CONSOLE_URL ?? config.PUBLIC_URL,
    directory: new Directory({ database, clock, background }),
    idempotency: new IdempotencyStore({ database, clock }),
    mailer: deps.mailer ?? createMailer(config, logger),
    processName: `cp_${randomUUID()}`,
    providerFetch: createSafeFetch({
      allow: config.OUTBOUND_ALLOW,
      maxResponseBytes: MAX_PROVIDER_ANSWER_BYTES,
    }),
    safeFetch: createSafeFetch({ allow: config.OUTBOUND_ALLOW }),
    signingKeys: await SigningKeys.from(config.JWT_PRIVATE_KEYS),
  };
}

/** @param describe the OpenAPI document of all routes */
export function createPlatformFeature(platform: Platform, describe: () => unknown): Feature {
  return {
    collections: [auditCollection, idempotencyCollection],
    routes: [
      ...healthRoutes({ ...platform, storageDir: platform.config.STORAGE_DIR }),
      ...descriptionRoutes({ describe, consoleUrl: platform.config.CONSOLE_URL }),
      ...auditRoutes(platform),
    ],
    samples: [
      auditSample,
      {
        scenarios: {
          async getDescription(_, send) {
            const { headers } = await send(200);
            await send(304, { headers: { 'if-none-match': headers.get('etag') ?? '' } });
          },
        },
      },
    ],
  };
}

function createMailer(config: ControlPlaneConfig, logger: Logger): Mailer {
  return config.SMTP_URL
    ? new SmtpMailer({ url: config.SMTP_URL, from: config.SMTP_FROM })
    : new LogMailer(logger, { withText: config.MAILS_IN_LOG });
}
