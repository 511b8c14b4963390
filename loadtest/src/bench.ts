import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { DELAYS, type Backend, type BackendOptions, type ProviderDelays } from './backend/backend.ts';
import { openBackendProcess } from './backend/backend-process.ts';
import { openBackend } from './backend/open-backend.ts';
import { hasRedis, startRedis } from './backend/start-redis.ts';
import { lowerV8Threads } from '@parley/shared/process/lower-v8-threads';
import { conversation, CONVERSATIONS, GREETING, linesOf } from './scenario/conversation.ts';
import { makeCallerSpeech, type CallerSpeech } from '@parley/emulators/speech/caller-speech';
import { openLivekitAgents } from './sut/livekit-agents.ts';
import { openCeiling } from './sut/ceiling.ts';
import { openParley } from './sut/parley.ts';
import { behindTls } from './sut/tls-front.ts';
import { makeCertificate } from '@parley/emulators/server/make-certificate';
import { makeTemporary } from './make-temporary.ts';
import { openRemote } from './sut/remote.ts';
import { canPin, pinSelf, startProcess } from './sut/start-process.ts';
import type { SystemUnderTest } from './sut/system.ts';

export interface BenchOptions {
  turns: number;
  delays?: ProviderDelays;
  voice?: 'tones' | 'flite';
  /** Speaks of the agent's config, beside what keeps figures comparable. */
  agentConfig?: BackendOptions['agentConfig'];
  taught?: BackendOptions['taught'];
  markedEars?: boolean;
  record?: boolean;
  /** Providers are reached over TLS; they offer HTTP/2. */
  providerTls?: boolean;
  /** Further processes that keep the core of the system busy; none unless given. */
  busyProcesses?: number;
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
  /** What callers speak with. */
  readonly voice: 'tones' | 'flite';
  readonly speech: CallerSpeech;
  readonly delays: ProviderDelays;
  readonly directory: string;
  readonly redisUrl: string | undefined;
  /** Processes of the emulators, of Redis, and those that only keep a core busy. */
  readonly helperPids: readonly number[];
  /** Certificates to trust for reaching the providers; undefined where they speak in the clear. */
  readonly providerCaFile: string | undefined;
  /** Cores of the system under test, as `taskset -c` takes them; undefined leaves it to the kernel. */
  readonly systemCpus: string | undefined;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Nothing may be said by chance: figures compare turn with turn. */
export const QUIET_AGENT: BackendOptions['agentConfig'] = {
  filler: { enabled: false },
  silence: { reminder_after_seconds: 60, end_call_after_seconds: 120 },
};

/** An answer that is thought out ahead would come before the overhead begins to count. */
export const STEADY_AGENT: BackendOptions['agentConfig'] = {
  ...QUIET_AGENT,
  turn_taking: { preemptive_generation: false },
};

export async function openBench(options: BenchOptions): Promise<Bench> {
  const pinned = options.pin && canPin;
  if (pinned) pinSelf('1');
  // Callers and providers share a core: collecting the garbage of one would make the other late.
  lowerV8Threads();
  const owned = new DisposableList();
  try {
    const directory = options.directory ?? (await makeTemporary(owned, 'parley-loadtest-'));
    const redis = options.redis && hasRedis ? owned.add(await startRedis(directory)) : undefined;
    const certificate = options.providerTls ? await makeCertificate(directory) : undefined;
    const delays = options.delays ?? DELAYS;
    const backendOptions: BackendOptions = {
      delays,
      turns: options.turns,
      taught: options.taught ?? {},
      markedEars: options.markedEars ?? false,
      agentConfig: options.agentConfig ?? STEADY_AGENT,
      greeting: GREETING,
      record: options.record ?? false,
      tls: certificate && { key: certificate.key, cert: certificate.cert },
      redisUrl: options.controlPlane === true ? undefined : redis?.url,
    };
    const backend = owned.add(
      await (options.backendProcess ? openBackendProcess(backendOptions) : openBackend(backendOptions)),
    );
    const systemCpus = pinned ? '0' : undefined;
    const busy = await startBusyProcesses(owned, {
      count: options.busyProcesses ?? 0,
      cpus: systemCpus,
      directory,
    });
    const voice = options.voice ?? 'tones';
    const lines = CONVERSATIONS.flatMap((name) => linesOf(conversation(name, options.turns)));
    return {
      backend,
      voice,
      speech: await makeCallerSpeech(lines, voice),
      delays,
      directory,
      redisUrl: redis?.url,
      helperPids: [backend.pid, redis?.pid, ...busy].filter((pid) => pid !== undefined),
      providerCaFile: certificate?.certFile,
      systemCpus,
      [Symbol.asyncDispose]: () => owned.dispose(),
    };
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}

/** @returns their process ids */
async function startBusyProcesses(
  owned: DisposableList,
  options: { count: number; cpus: string | undefined; directory: string },
): Promise<number[]> {
  const pids: number[] = [];
  for (let number = 0; number < options.count; number++) {
    const busy = await startProcess<object>({
      script: fileURLToPath(new URL('sut/busy-process.ts', import.meta.url)),
      nodeArgs: ['--disable-warning=ExperimentalWarning'],
      cpus: options.cpus,
      logFile: join(options.directory, `busy-${number}.log`),
    });
    owned.defer(() => busy.stop());
    pids.push(busy.pid);
  }
  return pids;
}

/** What a system's processes need to reach the providers of a bench, and to hear its callers. */
export function systemEnv(bench: Bench): NodeJS.ProcessEnv {
  return {
    ...(bench.providerCaFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: bench.providerCaFile }),
    // Tones are no voice: a model that knows voices takes such callers for noise.
    ...(bench.voice === 'tones' ? { VOICE_MODEL: 'off' } : {}),
  };
}

export interface SystemOptions {
  system: 'parley' | 'ceiling' | 'livekit' | { url: string; ca: string | undefined };
  gateways: number;
  maxCalls: number;
  turns: number;
  profile: boolean;
  /** Further arguments of `node` for the gateways, see `GatewayOptions`. */
  nodeArgs?: readonly string[];
  /** Callers come through TLS. */
  tls?: boolean;
  env?: NodeJS.ProcessEnv;
}

export async function openSystem(bench: Bench, options: SystemOptions): Promise<SystemUnderTest> {
  const plain = await openPlainSystem(bench, options);
  const name = bench.providerCaFile === undefined ? plain.name : `${plain.name}, providers over TLS`;
  const system = { ...plain, name };
  return options.tls ? behindTls(system, { cpus: bench.systemCpus, directory: bench.directory }) : system;
}

function openPlainSystem(bench: Bench, options: SystemOptions): Promise<SystemUnderTest> {
  const { backend, directory, systemCpus: cpus } = bench;
  if (typeof options.system === 'object') return Promise.resolve(openRemote(options.system));
  if (options.system === 'ceiling')
    return openCeiling({ cpus, directory, turns: options.turns, delays: bench.delays });
  if (options.system === 'livekit')
    return openLivekitAgents({
      backend,
      hearing: bench.voice === 'tones' ? 'words' : 'voice',
      cpus,
      directory,
    });
  return openParley({
    backend,
    redisUrl: bench.redisUrl,
    gateways: options.gateways,
    maxCalls: options.maxCalls,
    cpus,
    directory,
    profile: options.profile,
    nodeArgs: options.nodeArgs ?? [],
    env: { ...systemEnv(bench), ...options.env },
  });
}
