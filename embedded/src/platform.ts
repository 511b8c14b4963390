import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { openControlPlane, type ControlPlane } from '@parley/control-plane/app';
import { loadControlPlaneConfig } from '@parley/control-plane/config';
import { HttpServer } from '@parley/control-plane/http/http-server';
import { loadGatewayConfig } from '@parley/media-gateway/config';
import { openGateway, type Gateway, type GatewayDeps } from '@parley/media-gateway/app';
import { DisposableList } from '@parley/shared/async/disposable-list';
import type { Bus } from '@parley/shared/bus/bus';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { envPort, readEnv } from '@parley/shared/config/read-env';
import { ConfigError } from '@parley/shared/errors/config-error';
import type { Logger } from '@parley/shared/logging/logger';
import { toWebSocketUrl } from '@parley/shared/contracts/addresses';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { CarrierEmulator, Reach } from '@parley/emulators/callers/emulated-call';
import { DataFolder } from './data-folder.ts';
import { openDocumentStore, type DocumentStore } from '@parley/document-store/document-store';
import { openEmulators, type Emulators } from './emulators.ts';
import { loadSecrets, saveSecrets, type EmbeddedSecrets } from './secrets.ts';
import { reachLocally } from './reach-locally.ts';
import { pipeUpgrades } from './upgrade-pipe.ts';

export interface PlatformOptions {
  /** `PORT`, `HOST`, `MONGODB_URI`, `REDIS_URL`, provider keys and addresses… as in the README. */
  env: NodeJS.ProcessEnv;
  dataDir: string;
  logger: Logger;
  /** Origins that tools and webhooks may reach besides `OUTBOUND_ALLOW`. */
  allowOrigins?: readonly string[];
  /**
   * Opens emulated carriers with the credentials this installation keeps for them; the platform closes them.
   * @param reach leads addresses below `PUBLIC_URL` to this process
   */
  openCarriers?: (secrets: EmbeddedSecrets, reach: Reach) => Promise<CarrierEmulators>;
  /** Emulated providers answer without their realistic delays: for tests. */
  fastEmulators?: boolean;
  /** Another disk for recordings: for tests. */
  recordingFs?: GatewayDeps['recordingFs'];
}

export type CarrierEmulators = Partial<Record<CarrierName, CarrierEmulator>>;

/** What runs where, for the first screen. */
export interface PlatformPart {
  name: string;
  what: string;
  emulated: boolean;
}

/** Both services, a document store, an event log and emulators for what has no key: the whole platform in one process. */
export interface Platform {
  /** What carriers and clients use; it need not lead back to this machine. */
  readonly publicUrl: string;
  /** Where this machine reaches the public listener: for everything that runs beside it. */
  readonly localUrl: string;
  readonly controlPlane: ControlPlane;
  readonly gateway: Gateway;
  readonly folder: DataFolder;
  readonly secrets: EmbeddedSecrets;
  readonly emulators: Emulators;
  readonly carriers: CarrierEmulators;
  readonly parts: readonly PlatformPart[];
  /** Emulators can be reached from other machines. */
  readonly exposed: boolean;
  saveSecrets(): void;
  /** Takes nothing new and lets running calls finish, at most for `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const DEFAULT_PORT = 8080;

/** @throws ConfigError, DataFolderInUseError, or what a part says that can't start; nothing is left running then */
export async function openPlatform(options: PlatformOptions): Promise<Platform> {
  const { logger, dataDir } = options;
  // As the services read it: an empty variable is none.
  const env = Object.fromEntries(Object.entries(options.env).filter(([, value]) => value !== ''));
  const owned = new DisposableList();
  try {
    const folder = owned.add(DataFolder.open(dataDir));
    const secretsFile = folder.file('secrets.json');
    const secrets = loadSecrets(secretsFile);
    const host = env['HOST'] ?? '127.0.0.1';
    // Taken before anything is told the address, and never let go.
    const publicHttp = owned.add(await listen(host, env['PORT']));
    const { port } = publicHttp;
    const consoleHttp = owned.add(await listenForConsole(env, port));
    const consoleUrl = (env['CONSOLE_URL'] ?? `http://127.0.0.1:${consoleHttp.port}`).replace(/\/+$/, '');
    const localUrl = `http://${reachable(host)}:${port}`;
    const publicUrl = (env['PUBLIC_URL'] ?? localUrl).replace(/\/+$/, '');

    const mongoUri = env['MONGODB_URI'] ?? withDatabase(owned.add(await openStore(folder, logger)).uri);
    const bus = owned.add(await openBus(env, folder, logger));
    const emulators = owned.add(await openEmulators(env, { logger, fast: options.fastEmulators ?? false }));

    const common = {
      HOST: host,
      INTERNAL_TOKEN: secrets.internal_token,
      STORAGE_DIR: folder.root,
      LOG_LEVEL: env['LOG_LEVEL'] ?? 'info',
    };
    const allow = [env['OUTBOUND_ALLOW'], ...(options.allowOrigins ?? [])].filter(
      (entry) => entry !== undefined && entry !== '',
    );
    const carriers = (await options.openCarriers?.(secrets, reachLocally(publicUrl, localUrl))) ?? {};
    const carrierApis: Record<string, string> = {};
    for (const [name, carrier] of Object.entries(carriers)) {
      owned.add(carrier);
      carrierApis[`${name.toUpperCase()}_BASE_URL`] = carrier.apiUrl;
    }
    const controlPlane = owned.add(
      await openControlPlane(
        loadControlPlaneConfig({
          ADDRESS_REQUESTS_PER_MINUTE: '6000',
          MEDIA_LOCAL_URL: localUrl,
          MAILS_IN_LOG: 'true',
          ...env,
          ...emulators.env,
          ...carrierApis,
          ...common,
          PORT: String(port),
          PUBLIC_URL: publicUrl,
          CONSOLE_PORT: String(consoleHttp.port),
          CONSOLE_URL: consoleUrl,
          INTERNAL_PORT: '0',
          MONGODB_URI: mongoUri,
          ENCRYPTION_KEYS: env['ENCRYPTION_KEYS'] ?? secrets.encryption_keys,
          JWT_PRIVATE_KEYS: env['JWT_PRIVATE_KEYS'] ?? secrets.jwt_private_keys,
          OUTBOUND_ALLOW: allow.join(','),
        }),
        {
          bus,
          logger: logger.child({ service: 'control-plane' }),
          publicHttp,
          consoleHttp,
          startLinks: true,
        },
      ),
    );
    const gateway = owned.add(
      await openGateway(
        loadGatewayConfig({
          ...env,
          ...common,
          HOST: '127.0.0.1',
          PORT: '0',
          INTERNAL_URL: controlPlane.internalUrl,
          DATA_DIR: folder.root,
          // The pipe.
          TRUSTED_PROXIES: ['127.0.0.1', env['TRUSTED_PROXIES'] ?? ''].join(','),
        }),
        {
          bus,
          logger: logger.child({ service: 'media-gateway' }),
          ...(options.recordingFs ? { recordingFs: options.recordingFs } : {}),
        },
      ),
    );
    owned.defer(pipeUpgrades(controlPlane.server, gateway.port));

    return {
      publicUrl,
      localUrl,
      controlPlane,
      gateway,
      folder,
      secrets,
      emulators,
      carriers,
      exposed: emulators.parts.length > 0 && !isLoopback(host),
      parts: [
        { name: 'Console', what: consoleUrl, emulated: false },
        { name: 'REST API and webhooks', what: `${localUrl}/v1`, emulated: false },
        {
          name: 'Media gateway',
          what: `${toWebSocketUrl(localUrl)}/media/v1/streams/…`,
          emulated: false,
        },
        {
          name: 'Documents',
          what: env['MONGODB_URI'] === undefined ? path.relative('.', folder.file('parley.db')) : 'MongoDB',
          emulated: false,
        },
        {
          name: 'Event log',
          what: env['REDIS_URL'] === undefined ? path.relative('.', folder.file('events.db')) : 'Redis',
          emulated: false,
        },
        ...emulators.providers,
      ],
      saveSecrets: () => saveSecrets(secretsFile, secrets),
      async drain(timeoutMs) {
        await gateway.drain(timeoutMs);
        await controlPlane.drain(Math.min(timeoutMs, 10_000));
      },
      [Symbol.asyncDispose]: () => owned.dispose(),
    };
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}

function openBus(env: NodeJS.ProcessEnv, folder: DataFolder, logger: Logger): Promise<Bus> {
  const url = env['REDIS_URL'];
  return url === undefined
    ? openLocalBus({ path: folder.file('events.db'), logger })
    : openRedisBus({ url, logger });
}

/** A port asked for is taken as it is; without one, 8080. `0` takes any free one. */
async function listen(host: string, wanted: string | undefined): Promise<HttpServer> {
  const { PORT: port } = readEnv(
    z.object({ PORT: envPort.default(DEFAULT_PORT) }),
    wanted === undefined ? {} : { PORT: wanted },
  );
  return HttpServer.listen({ host, port });
}

/**
 * The console's port: the one after the API's, or another free one unless it was asked for. Other machines reach it only
 * where `CONSOLE_URL` says how: its sign-in needs TLS off this machine.
 */
async function listenForConsole(env: NodeJS.ProcessEnv, apiPort: number): Promise<HttpServer> {
  const { CONSOLE_PORT, PORT } = env;
  const host = env['CONSOLE_HOST'] ?? (env['CONSOLE_URL'] === undefined ? '127.0.0.1' : env['HOST']);
  const wanted = CONSOLE_PORT === undefined ? {} : { CONSOLE_PORT };
  const fallback = PORT === '0' ? 0 : (apiPort + 1) % 65_536;
  const { CONSOLE_PORT: port } = readEnv(z.object({ CONSOLE_PORT: envPort.default(fallback) }), wanted);
  const at = (port: number) => HttpServer.listen({ host: host ?? '127.0.0.1', port }, 'CONSOLE_');
  return at(port).catch((error: unknown) => {
    if (CONSOLE_PORT !== undefined || !(error instanceof ConfigError)) throw error;
    return at(0);
  });
}

/** Through a unix socket that only this user can open; its path must be short (108 bytes, unix(7)). */
function openStore(folder: DataFolder, logger: Logger): Promise<DocumentStore> {
  const inside = folder.file('parley.sock');
  const socketPath =
    Buffer.byteLength(inside) < 100
      ? inside
      : path.join(tmpdir(), `parley-${createHash('sha256').update(inside).digest('hex').slice(0, 16)}.sock`);
  return openDocumentStore({
    path: folder.file('parley.db'),
    port: null,
    socketPath,
    onFailure: (message) => logger.error({ failure: message }, 'the document store failed'),
    onDiskFull: (full) =>
      full
        ? logger.error(
            { folder: folder.root },
            'the disk is full: nothing can be stored until space is freed',
          )
        : logger.warn({ folder: folder.root }, 'the disk has space again'),
  });
}

/** Puts the database's name into a driver's address: behind the host, which may be an encoded socket path. */
function withDatabase(uri: string): string {
  return uri.replace(/^(mongodb:\/\/[^/]+\/)\??/, '$1parley?');
}

/** The host of an address at which this machine reaches what listens on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function isLoopback(host: string): boolean {
  return host === '::1' || host === 'localhost' || host.startsWith('127.');
}
