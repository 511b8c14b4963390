import * as nodeFs from 'node:fs/promises';
import { DisposableList } from '@parley/shared/async/disposable-list';
import type { Bus } from '@parley/shared/bus/bus';
import { trustedProxies } from '@parley/shared/http/client-address';
import { makeFolder } from '@parley/shared/config/make-folder';
import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import { sortableId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import packageJson from '../package.json' with { type: 'json' };
import { TextLanguages } from './languages/text-language.ts';
import { AudioAssets } from './sessions/audio-assets.ts';
import { CallRegistry } from './sessions/call-registry.ts';
import { CallStarter } from './sessions/call-starter.ts';
import { CommandIntake } from './sessions/command-intake.ts';
import { GatewayPresence } from './sessions/gateway-presence.ts';
import { LoopLoad } from './sessions/loop-load.ts';
import type { CallDeps, Call } from './call/call.ts';
import { EventOutbox } from './reporting/event-outbox.ts';
import { openCall } from './call/open-call.ts';
import { DiskThread } from './disk/disk-thread.ts';
import { ReportSpool } from './reporting/report-spool.ts';
import { lockSpool } from './reporting/spool-lock.ts';
import type { ToolRunner } from '@parley/shared/tools/tool-runner';
import { carriers } from './carriers/carriers.ts';
import { spoolDir } from './config.ts';
import type { GatewayConfig } from './config.ts';
import type { GatewayServices } from './gateway-services.ts';
import { ThreadedNoiseSuppression } from './hearing/noise/noise-suppression.ts';
import { openVoiceModel } from './hearing/voice-model/threaded-voice-model.ts';
import { createProviderRegistry } from './providers/create-provider-registry.ts';
import type { ProviderRegistry } from './providers/provider-registry.ts';
import { realtimeRoute } from './realtime/realtime-route.ts';
import type { RecordingFs } from './recording/part-file.ts';
import { fileStore, uploadStore } from './recording/recording-store.ts';
import { RecordingSpool } from './recording/recording-spool.ts';
import { openWebSocketServer } from './server/websocket-server.ts';
import type { HttpRoute, UpgradeRoute } from './server/websocket-server.ts';
import { callReporters } from './reporting/spooled-call-reporter.ts';
import { createToolRunner } from '@parley/shared/tools/webhook-tool';
import { RemoteTools } from './tools/remote-tools.ts';
import { toolsFor } from './tools/tools-for.ts';
import { RefusedCredentials } from './sessions/refused-credentials.ts';
import { carrierStreams } from './sessions/carrier-streams.ts';
import { SessionSource } from './sessions/session-source.ts';

/** Streams that the voice model takes at most, 70 MB: more than one thread can judge at a time. */
const MAX_VOICE_STREAMS = 4096;

/** Events that are still unsent when everything else has ended. */
const LAST_EVENTS_MS = 3000;

export interface GatewayDeps {
  bus: Bus;
  logger: Logger;
  clock?: Clock;
  tools?: ToolRunner;
  /** How conversations are held; tests of the edge bring their own. */
  openCall?: (deps: CallDeps) => Call;
  /** Lent, not owned. */
  providers?: ProviderRegistry;
  /** The disk that recordings are written to: tests bring one that fails. */
  recordingFs?: RecordingFs;
}

export interface Gateway {
  /** `ws://host:port` as it listens. */
  readonly url: string;
  readonly port: number;
  /** New at every start. */
  readonly gatewayId: string;
  /** Running now. */
  readonly calls: number;
  /**
   * Lets nothing new in, waits for running calls at most `timeoutMs`, then ends those that still run. Everything is
   * reported when it resolves, or on disk. Never rejects.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Ends running calls at once. Idempotent. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens the media gateway: listens, delivers what an earlier process left in the spool, and tells others of itself.
 * @throws when it cannot listen, or another process uses its DATA_DIR
 */
export async function openGateway(config: GatewayConfig, deps: GatewayDeps): Promise<Gateway> {
  const { bus, logger, clock = systemClock } = deps;
  const gatewayId = `gw_${sortableId(clock.now())}`;
  const owned = new DisposableList();
  try {
    const dir = spoolDir(config);
    makeFolder('DATA_DIR', dir);
    const lock = lockSpool(dir);
    owned.defer(() => lock.release());
    const providers = deps.providers ?? owned.add(createProviderRegistry({ logger, clock }));
    const source = owned.add(
      new SessionSource({
        internalUrl: config.INTERNAL_URL,
        token: config.INTERNAL_TOKEN,
        gatewayId,
        timeoutMs: config.CONTROL_PLANE_TIMEOUT_MS,
      }),
    );
    const tools =
      deps.tools ??
      new RemoteTools({
        webhooks: createToolRunner({ safeFetch: owned.add(createSafeFetch({ allow: [] })), logger, clock }),
        ...{ source, clock, logger },
      });
    const outbox = owned.add(new EventOutbox({ events: bus.events, clock, logger }));
    const disk = owned.add(new DiskThread(clock));
    const reports = owned.add(
      await ReportSpool.open({ dir, gatewayId, outbox, clock, logger, writer: disk }),
    );
    const stores = { file: fileStore(config.STORAGE_DIR, nodeFs), upload: uploadStore(source, nodeFs) };
    const recordings = owned.add(
      await RecordingSpool.open({
        dir,
        gatewayId,
        stores,
        outbox,
        clock,
        logger,
        ...(deps.recordingFs ? { fs: deps.recordingFs } : { disk }),
      }),
    );
    const voiceModel =
      config.VOICE_MODEL === 'off'
        ? undefined
        : owned.add(
            await openVoiceModel({
              maxStreams: Math.min(config.MAX_CALLS, MAX_VOICE_STREAMS),
              clock,
              logger,
            }),
          );
    const load = new LoopLoad(config.MAX_LOOP_DELAY_MS);
    owned.defer(() => load[Symbol.dispose]());
    const identity = {
      gatewayId,
      url: config.GATEWAY_URL ?? `ws://${config.HOST}:${config.PORT}`,
      version: packageJson.version,
      capacity: config.MAX_CALLS,
    };
    const presence = owned.add(
      new GatewayPresence({ identity, presence: bus.presence, load, clock, logger }),
    );
    const audio = new AudioAssets({ source });
    const languages = owned.add(new TextLanguages({ clock, logger }));
    const noise = owned.add(
      new ThreadedNoiseSuppression({ maxStreams: Math.min(config.MAX_CALLS, MAX_VOICE_STREAMS), logger }),
    );
    const starter = new CallStarter({
      openCall: deps.openCall ?? openCall,
      providers,
      resources: {
        of: (plan) => ({
          tools: toolsFor(plan, { tools, rates: bus.rates, clock, logger }),
          knowledge: source,
          audio,
          languages,
          noise,
        }),
        handOver: (sessionId, request, signal) => source.handOver(sessionId, request, signal),
      },
      recordings,
      voiceModel,
      reporters: callReporters({ gatewayId, spool: reports, outbox, clock, logger }),
      clock,
      logger,
    });
    const registry = owned.add(
      new CallRegistry({ maxCalls: config.MAX_CALLS, starter, presence, load, clock, logger }),
    );
    owned.add(
      await CommandIntake.open({
        gatewayId,
        commands: bus.commands,
        registry,
        reports,
        outbox,
        clock,
        logger,
      }),
    );
    load.start();
    presence.start(registry);
    const refused = new RefusedCredentials({
      perMinute: config.ADDRESS_REFUSALS_PER_MINUTE,
      trustedProxies: trustedProxies(config.TRUSTED_PROXIES),
      clock,
      logger,
    });
    const services: GatewayServices = { source, refused, registry, gatewayId, clock, logger };
    const upgrades: UpgradeRoute[] = [
      carrierStreams({ ...services, carriers, startTimeoutMs: config.START_TIMEOUT_MS }),
      realtimeRoute(services, {
        maxPayloadBytes: config.REALTIME_MAX_MESSAGE_BYTES,
        maxBufferedBytes: config.REALTIME_MAX_BUFFERED_BYTES,
      }),
    ];
    const server = await openWebSocketServer({
      host: config.HOST,
      port: config.PORT,
      upgrades,
      http: healthRoutes(bus, registry),
      limits: {
        maxPayloadBytes: config.MAX_MESSAGE_BYTES,
        maxMessagesPerSecond: config.MAX_MESSAGES_PER_SECOND,
        maxBufferedBytes: config.MAX_BUFFERED_BYTES,
        maxHeaderBytes: config.MAX_HEADER_BYTES,
        maxConnections: config.MAX_CONNECTIONS,
        maxPendingUpgrades: config.MAX_PENDING_UPGRADES,
        idleTimeoutSeconds: config.IDLE_TIMEOUT_SECONDS,
      },
      clock,
      logger,
    });
    const url = `ws://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${server.port}`;
    logger.info({ gatewayId, url }, 'gateway is ready');

    let disposing: Promise<void> | undefined;
    return {
      url,
      port: server.port,
      gatewayId,
      get calls() {
        return registry.calls;
      },
      async drain(timeoutMs) {
        await registry.drain(timeoutMs);
        await outbox.flush(LAST_EVENTS_MS);
      },
      // Calls end before their sockets do, or they would take our closing for the caller's.
      [Symbol.asyncDispose]: () =>
        (disposing ??= (async () => {
          await registry[Symbol.asyncDispose]();
          await server[Symbol.asyncDispose]();
          await owned.dispose();
        })()),
    };
  } catch (error) {
    await owned.dispose().catch(() => undefined);
    throw error;
  }
}

/** The gateway is ready as long as it takes calls: those go on, and new ones begin, without the bus. */
function healthRoutes(bus: Bus, registry: CallRegistry): HttpRoute[] {
  return [
    { path: '/health/live', respond: () => ({ status: 200, body: { status: 'ok' } }) },
    {
      path: '/health/ready',
      respond: () => ({
        status: registry.draining || registry.overloaded ? 503 : 200,
        body: {
          status: registry.draining ? 'draining' : registry.overloaded ? 'overloaded' : 'ready',
          checks: [{ name: 'bus', ok: bus.healthy() }],
          calls: registry.calls,
          calls_without_socket: registry.callsWithoutSocket,
          capacity: registry.capacity,
        },
      }),
    },
  ];
}
