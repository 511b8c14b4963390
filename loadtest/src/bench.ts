import { DisposableList } from '@parley/shared/async/disposable-list';
import { DELAYS, type Backend, type BackendOptions, type ProviderDelays } from './backend/backend.ts';
import { openBackendProcess } from './backend/backend-process.ts';
import { openBackend } from './backend/open-backend.ts';
import { hasRedis, startRedis } from './backend/start-redis.ts';
import { conversation, CONVERSATIONS, GREETING, linesOf } from './scenario/conversation.ts';
import { makeCallerSpeech, type CallerSpeech } from './speech/caller-speech.ts';
import { openLivekitAgents } from './sut/livekit-agents.ts';
import { openCeiling } from './sut/ceiling.ts';
import { openParley } from './sut/parley.ts';
import { behindTls } from './sut/tls-front.ts';
import { makeTemporary } from './make-temporary.ts';
import { openRemote } from './sut/remote.ts';
import { canPin, pinSelf } from './sut/start-process.ts';
import type { SystemUnderTest } from './sut/system.ts';

export interface BenchOptions {
  turns: number;
  delays?: ProviderDelays;
  llmChunks?: 'whole' | 'tokens';
  tokensPerSecond?: number;
  voice?: 'tones' | 'flite';
  /** Speaks of the agent's config, beside what keeps figures comparable. */
  agentConfig?: BackendOptions['agentConfig'];
  record?: boolean;
  /** The system has core 0, everything else core 1. */
  pin: boolean;
  /** Emulators in a process of their own. */
  backendProcess: boolean;
  /** False: gateways keep their events on disk, as the embedded platform does. */
  redis: boolean;
  /** A real control plane reads the events: the backend leaves them alone. */
  controlPlane?: boolean;
  /** Profiles and logs stay there; otherwise they go with the run. */
  directory?: string;
}

/** What all runs of one sitting share: emulators, Redis, what callers say. */
export interface Bench {
  readonly backend: Backend;
  readonly speech: CallerSpeech;
  readonly delays: ProviderDelays;
  readonly directory: string;
  readonly redisUrl: string | undefined;
  /** Processes of the emulators and of Redis. */
  readonly helperPids: readonly number[];
  /** Cores of the system under test, as `taskset -c` takes them; undefined leaves it to the kernel. */
  readonly systemCpus: string | undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Nothing may be said by chance: figures compare turn with turn. */
export const STEADY_AGENT: BackendOptions['agentConfig'] = {
  // An answer that is thought out ahead would come before the overhead begins to count.
  turn_taking: { preemptive_generation: false },
  filler: { enabled: false },
  silence: { reminder_after_seconds: 60, end_call_after_seconds: 120 },
};

export async function openBench(options: BenchOptions): Promise<Bench> {
  const pinned = options.pin && canPin;
  if (pinned) pinSelf('1');
  const owned = new DisposableList();
  try {
    const directory = options.directory ?? (await makeTemporary(owned, 'parley-loadtest-'));
    const redis = options.redis && hasRedis ? owned.add(await startRedis(directory)) : undefined;
    const delays = options.delays ?? DELAYS;
    const backendOptions: BackendOptions = {
      delays,
      llmChunks: options.llmChunks ?? 'whole',
      tokensPerSecond: options.tokensPerSecond ?? 66,
      turns: options.turns,
      agentConfig: options.agentConfig ?? STEADY_AGENT,
      greeting: GREETING,
      record: options.record ?? false,
      redisUrl: options.controlPlane === true ? undefined : redis?.url,
    };
    const backend = owned.add(
      await (options.backendProcess ? openBackendProcess(backendOptions) : openBackend(backendOptions)),
    );
    const lines = CONVERSATIONS.flatMap((name) => linesOf(conversation(name, options.turns)));
    return {
      backend,
      speech: await makeCallerSpeech(lines, options.voice ?? 'tones'),
      delays,
      directory,
      redisUrl: redis?.url,
      helperPids: [backend.pid, redis?.pid].filter((pid) => pid !== undefined),
      systemCpus: pinned ? '0' : undefined,
      [Symbol.asyncDispose]: () => owned.dispose(),
    };
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}

export interface SystemOptions {
  system: 'parley' | 'ceiling' | 'livekit' | { url: string; ca: string | undefined };
  gateways: number;
  maxCalls: number;
  turns: number;
  profile: boolean;
  /** The gateways can tell what is in use after a full collection. */
  exposeGc?: boolean;
  /** Callers come through TLS. */
  tls?: boolean;
  env?: NodeJS.ProcessEnv;
}

export async function openSystem(bench: Bench, options: SystemOptions): Promise<SystemUnderTest> {
  const system = await openPlainSystem(bench, options);
  return options.tls ? behindTls(system, { cpus: bench.systemCpus, directory: bench.directory }) : system;
}

function openPlainSystem(bench: Bench, options: SystemOptions): Promise<SystemUnderTest> {
  const { backend, directory, systemCpus: cpus } = bench;
  if (typeof options.system === 'object') return Promise.resolve(openRemote(options.system));
  if (options.system === 'ceiling')
    return openCeiling({ cpus, directory, turns: options.turns, delays: bench.delays });
  if (options.system === 'livekit') return openLivekitAgents({ backend, cpus, directory });
  return openParley({
    backend,
    redisUrl: bench.redisUrl,
    gateways: options.gateways,
    maxCalls: options.maxCalls,
    cpus,
    directory,
    profile: options.profile,
    exposeGc: options.exposeGc ?? false,
    ...(options.env === undefined ? {} : { env: options.env }),
  });
}
