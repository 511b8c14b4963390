import type { Server } from 'node:http';
import { openConsole } from '@parley/console/build/open-console';
import { prepareConsole } from '@parley/console/build/prepare-console';
import { DisposableList } from '@parley/shared/async/disposable-list';
import type { Bus } from '@parley/shared/bus/bus';
import { makeFolder } from '@parley/shared/config/make-folder';
import { UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { gatewayAuthentication } from './admissions/admission-routes.ts';
import { API_KEY_START } from './api-keys/api-key-service.ts';
import type { AllFeatures } from './composition/all-features.ts';
import type { ControlPlaneConfig } from './config.ts';
import { createConsoleApp } from './console/console-app.ts';
import type { ConsoleDeps } from './console/console-app.ts';
import { StartLinks } from './console/start-links.ts';
import type { Mailer } from './identity/mailer.ts';
import { bearerToken } from './http/bearer-token.ts';
import { trustedProxies } from '@parley/shared/http/client-address';
import { createHttpApp } from './http/http-app.ts';
import type { HttpRuntime } from './http/http-app.ts';
import { HttpServer } from './http/http-server.ts';
import type { Operation } from './http/operation.ts';
import { RequestLimiter } from './http/request-limiter.ts';
import type { RequestLimit } from './http/request-limiter.ts';
import { OrgRemover } from './orgs/org-remover.ts';
import { windowBucket } from './rate-limits/limit-buckets.ts';
import { createFeatures } from './features.ts';
import type { Services } from './features.ts';
import { openDatabase } from './storage/database.ts';
import type { Principal } from './tenancy/principal.ts';
import { openWorkers } from './workers.ts';

export interface ControlPlaneDeps {
  /** Lent, not owned. */
  bus: Bus;
  logger: Logger;
  clock?: Clock;
  /** How mails leave; by SMTP or into the log when not given. Owned. */
  mailer?: Mailer;
  /** A listener that has taken its port already, instead of one at `HOST` and `PORT`. Closed with the rest. */
  publicHttp?: HttpServer;
  /** Likewise of the console, instead of one at `CONSOLE_HOST` and `CONSOLE_PORT`. */
  consoleHttp?: HttpServer;
  /** The console may be opened by links that sign in: where the platform runs on the machine of its owner. */
  startLinks?: boolean;
  /** Answers that break their description become errors: for tests. */
  checkResponses?: boolean;
}

/** A running control plane. */
export interface ControlPlane {
  /** The public HTTP server. */
  readonly server: Server;
  readonly port: number;
  /** `http://host:port` of the public listener as this machine sees it. */
  readonly url: string;
  /** `http://host:port` of the internal listener. */
  readonly internalUrl: string;
  /** Where people open the console, and the port of its listener; null where it is not served. */
  readonly console: { url: string; port: number } | null;
  /** A link that signs in whoever started the platform, once; null where none may. */
  startLink(): string | null;
  /** Makes the console's files before anybody asks for them, at low priority; over when that is done, or with `signal`. */
  prepareConsole(signal: AbortSignal): Promise<void>;
  readonly services: Services;
  readonly features: AllFeatures;
  /** Turns unready, takes nothing new, and waits at most `maxMs` for what is under way. */
  drain(maxMs: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens database, listeners and workers; ready when it resolves. */
export async function openControlPlane(
  config: ControlPlaneConfig,
  deps: ControlPlaneDeps,
): Promise<ControlPlane> {
  const { bus, logger, clock = systemClock } = deps;
  const owned = new DisposableList();
  let draining = false;
  try {
    makeFolder('STORAGE_DIR', config.STORAGE_DIR);
    const database = owned.add(await openDatabase(config.MONGODB_URI, { logger }));
    const { features, services } = owned.add(
      await createFeatures({
        config,
        database,
        bus,
        logger,
        clock,
        draining: () => draining,
        mailer: deps.mailer,
      }),
    );
    await database.ensureIndexes(features.collections);
    owned.add(openWorkers(services, features));
    owned.add(services.agentTestRunner.start());
    owned.add(
      new OrgRemover({
        database,
        bus,
        clock,
        logger,
        collections: features.collections,
        giveUp: (scope) => features.eraseOrg(scope),
        storageDir: config.STORAGE_DIR,
        owner: services.processName,
      }).start(),
    );
    const runtime = createRuntime(services, deps.checkResponses ?? false);

    const internalApp = createHttpApp(features.internalRoutes, runtime);
    const internal = owned.add(
      await HttpServer.listen({ host: config.INTERNAL_HOST, port: config.INTERNAL_PORT }, 'INTERNAL_'),
    );
    internal.serve(handler(internalApp));
    const publicApp = createHttpApp(features.routes, runtime);
    const http = owned.add(
      deps.publicHttp ?? (await HttpServer.listen({ host: config.HOST, port: config.PORT })),
    );
    http.serve(handler(publicApp));
    const startLinks =
      deps.startLinks === true && config.CONSOLE_URL !== undefined
        ? new StartLinks({ ...services, clock, consoleUrl: config.CONSOLE_URL })
        : null;
    const consoleHttp = await openConsoleHttp(config, deps.consoleHttp);
    if (consoleHttp) {
      owned.add(consoleHttp);
      consoleHttp.serve(handler(createConsoleApp(await consoleDeps(config, services, runtime, startLinks))));
    }
    return {
      server: http.server,
      port: http.port,
      url: listenerUrl(config.HOST, http.port),
      internalUrl: listenerUrl(config.INTERNAL_HOST, internal.port),
      console: consoleHttp ? { url: config.CONSOLE_URL!, port: consoleHttp.port } : null,
      startLink: () => startLinks?.create() ?? null,
      prepareConsole: (signal) => (consoleHttp ? prepareConsole(signal) : Promise.resolve()),
      services,
      features,
      async drain(maxMs) {
        draining = true;
        services.liveStreams.close();
        await Promise.all([http, internal, consoleHttp].map((one) => one?.drain(maxMs)));
      },
      async [Symbol.asyncDispose]() {
        draining = true;
        await owned.dispose();
      },
    };
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}

/** @returns undefined where no port is set: the console is not served */
async function openConsoleHttp(
  config: ControlPlaneConfig,
  given: HttpServer | undefined,
): Promise<HttpServer | undefined> {
  if (config.CONSOLE_PORT === undefined) return undefined;
  const host = config.CONSOLE_HOST ?? config.HOST;
  return given ?? HttpServer.listen({ host, port: config.CONSOLE_PORT }, 'CONSOLE_');
}

async function consoleDeps(
  config: ControlPlaneConfig,
  services: Services,
  runtime: HttpRuntime,
  startLinks: Pick<StartLinks<never>, 'redeem'> | null,
): Promise<ConsoleDeps> {
  const { passwordSignIn, signIns } = services;
  return {
    ...runtime,
    url: config.CONSOLE_URL!,
    addresses: { api: config.PUBLIC_URL, media: config.MEDIA_PUBLIC_URL },
    source: await openConsole(),
    signIn: {
      login: (...args) => passwordSignIn.login(...args),
      refresh: (...args) => signIns.refresh(...args),
      logout: (...args) => signIns.logout(...args),
      start: startLinks ? (...args) => startLinks.redeem(...args) : undefined,
    },
  };
}

function handler(app: ReturnType<typeof createHttpApp>) {
  const callback = app.callback();
  return (...args: Parameters<typeof callback>) => callback(...args);
}

/** A wildcard address is reached through the loopback one. */
function listenerUrl(host: string, port: number): string {
  const address =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${address}:${port}`;
}

function createRuntime(services: Services, checkResponses: boolean): HttpRuntime {
  const { config, bus, logger, clock } = services;
  return {
    logger,
    database: services.database,
    directory: services.directory,
    limiter: new RequestLimiter({ bus, logger, clock }),
    idempotency: services.idempotency,
    authenticate: (authorization) => authenticate(services, authorization),
    authenticateGateway: gatewayAuthentication(config.INTERNAL_TOKEN),
    requestLimits: (principal, operation) => requestLimits(services, principal, operation),
    orgLimits: (scope, operation) => ownLimits(services, operation, scope.orgId, scope.projectIdOrNull),
    addressLimitPerMinute: config.ADDRESS_REQUESTS_PER_MINUTE,
    trustedProxies: trustedProxies(config.TRUSTED_PROXIES),
    consoleOrigin: config.CONSOLE_URL === undefined ? null : new URL(config.CONSOLE_URL).origin,
    isPublicOrigin: (agentId, origin) => services.widget.isAllowedOrigin(agentId, origin),
    draining: services.draining,
    checkResponses,
  };
}

async function authenticate(services: Services, authorization: string | undefined): Promise<Principal> {
  const credential = bearerToken(authorization);
  if (credential === undefined) {
    throw new UnauthorizedError(
      'unauthenticated',
      'Authentication is required. Send the header Authorization: Bearer <API key or user token>.',
    );
  }
  if (credential.startsWith(API_KEY_START)) return services.apiKeys.authenticate(credential);
  return services.signIns.authenticate(credential);
}

/** The installation's limits for this caller, and what its org and project have set below them. */
async function requestLimits(
  services: Services,
  principal: Principal,
  operation: Pick<Operation, 'ownLimits'>,
): Promise<RequestLimit[]> {
  const { API_REQUESTS_PER_MINUTE, API_REQUESTS_BURST } = services.config;
  const caller = principal.auth === 'api_key' ? principal.api_key_id : principal.user_id;
  const limits = [
    { bucket: `api:${caller}`, limit: API_REQUESTS_PER_MINUTE, windowSeconds: 60 },
    { bucket: `api-burst:${caller}`, limit: API_REQUESTS_BURST, windowSeconds: 1 },
  ];
  if (principal.auth === 'jwt') return limits;
  return [...limits, ...(await ownLimits(services, operation, principal.org_id, principal.project_id))];
}

/** What an org has set itself, on all requests within it or one of its projects. */
async function ownLimits(
  services: Services,
  operation: Pick<Operation, 'ownLimits'>,
  orgId: string,
  projectId: string | null,
): Promise<RequestLimit[]> {
  if (operation.ownLimits === false) return [];
  const own = await services.rateLimits.matching('api_requests', { orgId, projectId });
  return own.flatMap(({ _id, limit, window_seconds: windowSeconds, burst }) => [
    { bucket: windowBucket('api_requests', _id), limit, windowSeconds: windowSeconds ?? 60 },
    ...(burst === null ? [] : [{ bucket: `api-burst:${_id}`, limit: burst, windowSeconds: 1 }]),
  ]);
}
