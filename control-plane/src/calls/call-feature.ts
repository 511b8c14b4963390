import { parseCallEvent, type CallEvent } from '@parley/shared/contracts/call-events';
import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import type { LiveStreams } from '../live/live-streams.ts';
import { CallEventHandler } from './call-event-handler.ts';
import { callLogRoutes } from './call-log-routes.ts';
import { callLogSample } from './call-log-sample.ts';
import { CallLog, type EventListeners, type TurnWords } from './call-log.ts';
import { carrierCommandCollection } from './carrier-command-model.ts';
import { CarrierCommands } from './carrier-commands.ts';
import { GatewayCommands } from './gateway-commands.ts';
import { Reaper, REAPER_INTERVAL_MS } from './reaper.ts';
import { sessionEventCollection } from './session-event-model.ts';
import { SessionWatches } from './session-watches.ts';
import { ToolCallLog } from './tool-call-log.ts';
import { toolCallCollection } from './tool-call-model.ts';
import { toolCallRoutes } from './tool-call-routes.ts';
import { turnCollection } from './turn-model.ts';

type WatchDeps = ConstructorParameters<typeof SessionWatches>[0];
type CarrierCommandDeps = ConstructorParameters<typeof CarrierCommands>[0];
type EventDeps = ConstructorParameters<typeof CallEventHandler>[0];
type ReaperDeps = ConstructorParameters<typeof Reaper>[0];

/** Transcripts, events and tool calls of sessions. */
export function createCallLog({
  live,
  watch,
  ...deps
}: Pick<Platform, 'clock' | 'database' | 'logger'> & {
  words: TurnWords;
  live: { livePublisher: EventListeners; liveStreams: LiveStreams };
  watch: WatchDeps['watch'];
}) {
  const watches = new SessionWatches({ ...deps, watch });
  const callLog = new CallLog({ ...deps, listeners: live.livePublisher });
  const toolCalls = new ToolCallLog(deps);
  return {
    ...{ callLog, toolCalls },
    collections: [sessionEventCollection, toolCallCollection, turnCollection],
    routes: [...callLogRoutes({ callLog, streams: live.liveStreams, watches }), ...toolCallRoutes()],
    erases: {
      async session(sessionId: string) {
        await callLog.erase(sessionId);
        await toolCalls.erase(sessionId);
      },
    },
    samples: [callLogSample],
  } satisfies Feature & { callLog: CallLog };
}

/** Commands to calls, through their carriers and their gateways. */
export function createCallCommands({
  bus,
  config,
  ...deps
}: Omit<CarrierCommandDeps, 'publicUrl'> & Pick<Platform, 'bus' | 'config'>) {
  const carrierCommands = new CarrierCommands({ ...deps, publicUrl: config.PUBLIC_URL });
  const gatewayCommands = new GatewayCommands({ bus, clock: deps.clock });
  return {
    ...{ carrierCommands, gatewayCommands },
    collections: [carrierCommandCollection],
  } satisfies Feature & { carrierCommands: CarrierCommands };
}

/** The events that gateways report, and the end of calls whose gateway is gone. */
export function createCallEvents({
  costs,
  processName,
  ...deps
}: EventDeps &
  Omit<ReaperDeps, 'owner'> &
  Pick<Platform, 'processName'> & {
    /** Takes what a session that runs has cost so far. */
    costs: { spent(sessionId: string, amount: bigint): Promise<void> };
  }) {
  const reaper = new Reaper({ ...deps, owner: processName });
  const handler = new CallEventHandler(deps);
  const callEvents = {
    async handle(event: CallEvent): Promise<void> {
      // What is said next replaces it: it never comes again.
      if (event.type === 'words') return handler.pass(event).catch(() => undefined);
      // Money is no part of what a session shows: such an event goes nowhere else.
      if (event.type !== 'cost') return handler.handle(event);
      const known = parseCallEvent(event);
      if (known?.type === 'cost') await costs.spent(event.session_id, BigInt(known.data.amount));
    },
  };
  return {
    ...{ callEvents, reaper },
    workers: [
      {
        name: 'reaper',
        everyMs: REAPER_INTERVAL_MS,
        work: (signal) => reaper.sweep(signal),
        release: () => reaper.release(),
      },
    ],
  } satisfies Feature & { reaper: Reaper };
}
