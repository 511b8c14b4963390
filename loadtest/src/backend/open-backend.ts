import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { callEventSchema, callReportSchema, type CallEvent } from '@parley/shared/contracts/call-events';
import { newId } from '@parley/shared/ids/new-id';
import { createLogger } from '@parley/shared/logging/logger';
import { openDeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import { openElevenLabsEmulator } from '@parley/emulators/providers/elevenlabs-emulator';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { conversation, CONVERSATIONS, linesOf, modelRules } from '../scenario/conversation.ts';
import type { Backend, BackendOptions, ReportedCall } from './backend.ts';
import { openInternalApi } from './internal-api.ts';

/** Audio comes this much faster than it is played. */
const TTS_REAL_TIME_FACTOR = 5;
const REPORT_POLL_MS = 20;
const LOOP_DELAY_RESOLUTION_MS = 10;

/** Opens a backend in this process. */
export async function openBackend(options: BackendOptions): Promise<Backend> {
  const { delays, tls } = options;
  const owned = new DisposableList();
  const loopDelay = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS });
  loopDelay.enable();
  owned.defer(() => void loopDelay.disable());
  try {
    const deepgram = owned.add(
      await openDeepgramEmulator({
        mode: 'script',
        sentences: {
          default: linesOf(conversation('talk', options.turns)),
          ...Object.fromEntries(
            CONVERSATIONS.map((name) => [name, linesOf(conversation(name, options.turns))]),
          ),
          ...options.taught,
        },
        marked: options.markedEars ?? false,
        delays: { endOfTurn: delays.sttMs, speechStarted: 0, startOfTurnMs: delays.sttStartMs },
        tls,
      }),
    );
    const openai = owned.add(
      await openOpenAiEmulator({
        script: parseScript({ rules: modelRules() }),
        delays: {
          firstToken: delays.llmMs,
          tokensPerSecond: delays.tokenMs === 0 ? Infinity : 1000 / delays.tokenMs,
        },
        // All at once leaves nothing but overhead.
        chunks: delays.tokenMs === 0 ? 'whole' : 'tokens',
        tls,
      }),
    );
    const elevenlabs = owned.add(
      await openElevenLabsEmulator({
        speech: 'tones',
        voices: 'any',
        delays: { firstAudio: delays.ttsMs, realTimeFactor: TTS_REAL_TIME_FACTOR },
        tls,
      }),
    );
    const internalToken = randomBytes(24).toString('base64url');
    const internal = owned.add(
      await openInternalApi({
        token: internalToken,
        agentConfig: options.agentConfig,
        greeting: options.greeting,
        record: options.record,
        deepgramUrl: deepgram.url,
        openAiUrl: openai.url,
        elevenLabsUrl: elevenlabs.url,
      }),
    );

    const known = new Map<string, ReportedCall>();
    let untaken: ReportedCall[] = [];
    let events = 0;
    const take = (event: CallEvent): boolean => {
      events++;
      if (event.type !== 'call_ended') return false;
      const call = known.get(event.session_id) ?? {
        sessionId: event.session_id,
        report: undefined,
        terminalEvents: 0,
        endedAt: 0,
      };
      call.report = callReportSchema.parse(event.data);
      call.terminalEvents++;
      call.endedAt = performance.timeOrigin + performance.now();
      if (!known.has(event.session_id)) {
        known.set(event.session_id, call);
        untaken.push(call);
      }
      return true;
    };

    if (options.redisUrl !== undefined) {
      const logger = createLogger({ name: 'loadtest', level: 'error' });
      const bus = owned.add(await openRedisBus({ url: options.redisUrl, logger }));
      owned.add(
        bus.events.consume({
          consumer: 'loadtest',
          batch: 256,
          onError: (error) => logger.error({ err: error }, 'an event could not be processed'),
          async handle(event) {
            if (!take(event)) return;
            await bus.commands.send(event.gateway_id, {
              v: 1,
              command_id: newId('evt'),
              session_id: event.session_id,
              type: 'report_stored',
              args: { event_id: event.id },
              expires_at: new Date(Date.now() + 60_000).toISOString(),
            });
          },
        }),
      );
    }

    return {
      addresses: {
        deepgram: deepgram.url,
        openai: openai.url,
        elevenlabs: elevenlabs.url,
        internal: internal.url,
        internalToken,
      },
      pid: undefined,
      prepare(calls) {
        internal.prepare(calls);
        return Promise.resolve();
      },
      takeReports() {
        const taken = untaken;
        untaken = [];
        return Promise.resolve(taken);
      },
      async reported(sessionIds, timeoutMs) {
        const until = performance.now() + timeoutMs;
        const missing = () => sessionIds.filter((id) => !known.has(id));
        while (missing().length > 0 && performance.now() < until)
          await new Promise((resolve) => setTimeout(resolve, REPORT_POLL_MS));
        return missing();
      },
      stats() {
        const lateP99Ms = Math.max(0, loopDelay.percentile(99) / 1e6 - LOOP_DELAY_RESOLUTION_MS);
        loopDelay.reset();
        return Promise.resolve({
          lateP99Ms,
          llmRequests: openai.stats.requests,
          llmHttp2Requests: openai.stats.http2Requests,
          llmAborted: openai.stats.aborted,
          llmTokensSpared: openai.stats.tokensSpared,
          sttConnections: deepgram.stats.connections,
          sttOpen: deepgram.stats.open,
          ttsContexts: elevenlabs.stats.contexts,
          ttsOpenContexts: elevenlabs.stats.openContexts,
          ttsSockets: elevenlabs.stats.openSockets,
          redeemed: internal.redeemed,
          events,
        });
      },
      setFaults({ provider, faults }) {
        const emulator = { stt: deepgram, llm: openai, tts: elevenlabs }[provider];
        emulator.setFaults(faults as never);
        return Promise.resolve();
      },
      receive(event) {
        take(callEventSchema.parse(event));
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => owned.dispose(),
    };
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}
