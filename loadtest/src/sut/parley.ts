import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { credentialDigest } from '@parley/shared/contracts/admission';
import { mediaWsUrl } from '@parley/shared/contracts/addresses';
import { uuidV7 } from '@parley/shared/ids/new-id';
import type { Backend } from '../backend/backend.ts';
import { startProcess, type StartedProcess } from './start-process.ts';
import type { SystemUnderTest } from './system.ts';

export interface GatewayOptions {
  /** Undefined: gateways keep their events to themselves and hand them over the channel. */
  redisUrl: string | undefined;
  internalUrl: string;
  internalToken: string;
  gateways: number;
  maxCalls: number;
  cpus: string | undefined;
  /** Spool, recordings, logs. */
  directory: string;
  /** Writes a CPU profile of each gateway into `directory`. */
  profile: boolean;
  /** Further arguments of `node`; `--expose-gc` lets it be asked for what is in use after a full collection. */
  nodeArgs?: readonly string[];
  /** Further environment of the gateways. */
  env?: NodeJS.ProcessEnv;
  /** Takes events that do not go through Redis. */
  onEvent?: (event: unknown) => void;
}

/** Starts media gateways of this repository, each a process of its own that `owned` ends. */
export async function startGateways(
  owned: DisposableList,
  options: GatewayOptions,
): Promise<{
  gateways: StartedProcess<{ url: string }>[];
  startMs: number;
  heapBytes: () => Promise<number>;
}> {
  const { directory } = options;
  const heaps = new Map<number, (bytes: number) => void>();
  const gateways: StartedProcess<{ url: string }>[] = [];
  for (let number = 0; number < options.gateways; number++) {
    const dataDir = join(directory, `gateway-${number}`);
    await mkdir(dataDir, { recursive: true });
    const gateway = await startProcess<{ url: string }>({
      script: fileURLToPath(new URL('parley-gateway.ts', import.meta.url)),
      nodeArgs: [
        ...(await startArgs()),
        ...(options.nodeArgs ?? []),
        ...(options.profile ? ['--cpu-prof', `--cpu-prof-dir=${directory}`] : []),
      ],
      env: {
        NODE_ENV: 'production',
        PORT: '0',
        INTERNAL_URL: options.internalUrl,
        INTERNAL_TOKEN: options.internalToken,
        DATA_DIR: dataDir,
        STORAGE_DIR: join(directory, 'storage'),
        MAX_CALLS: String(options.maxCalls),
        // A load test wants to see what happens beyond the limit.
        MAX_LOOP_DELAY_MS: '0',
        LOG_LEVEL: 'info',
        ...options.env,
        ...(options.redisUrl === undefined ? {} : { REDIS_URL: options.redisUrl }),
      },
      cpus: options.cpus,
      logFile: join(directory, `gateway-${number}.log`),
      onMessage: (message) => {
        if ('event' in message) options.onEvent?.(message.event);
        if ('heap' in message) {
          const { heap, bytes } = message as { heap: number; bytes: number };
          heaps.get(heap)?.(bytes);
        }
      },
    });
    owned.defer(() => gateway.stop());
    gateways.push(gateway);
  }
  return {
    gateways,
    startMs: gateways[0]!.startMs,
    async heapBytes() {
      const found = await Promise.all(
        gateways.map(
          (gateway) =>
            new Promise<number>((resolve) => {
              heaps.set(gateway.pid, resolve);
              gateway.send({ heap: gateway.pid });
            }),
        ),
      );
      return found.reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

/** Arguments of `node` that a gateway is started with in production. */
async function startArgs(): Promise<string[]> {
  const file = new URL('../../../media-gateway/package.json', import.meta.url);
  const { scripts } = JSON.parse(await readFile(file, 'utf8')) as { scripts: { start: string } };
  return scripts.start.split(' ').filter((word) => word.startsWith('--'));
}

/** Media gateways behind the backend's stand-in for a control plane; calls go to them in turn. */
export async function openParley(
  options: Omit<GatewayOptions, 'internalUrl' | 'internalToken' | 'onEvent'> & { backend: Backend },
): Promise<SystemUnderTest> {
  const { backend } = options;
  const owned = new DisposableList();
  let started: Awaited<ReturnType<typeof startGateways>>;
  try {
    started = await startGateways(owned, {
      ...options,
      internalUrl: backend.addresses.internal,
      internalToken: backend.addresses.internalToken,
      onEvent: (event) => void backend.receive(event).catch(() => undefined),
    });
  } catch (error) {
    await owned.dispose();
    throw error;
  }
  const { gateways, startMs, heapBytes } = started;
  let next = 0;
  return {
    name: gateways.length === 1 ? 'parley' : `parley x${gateways.length}`,
    pids: gateways.map((gateway) => gateway.pid),
    startMs,
    reports: true,
    ...(options.nodeArgs?.includes('--expose-gc') ? { heapBytes } : {}),
    async dial({ conversation, carrier }) {
      const ticket = randomBytes(32).toString('base64url');
      const sessionId = uuidV7();
      await backend.prepare([{ digest: credentialDigest(ticket), sessionId, conversation, carrier }]);
      const gateway = gateways[next++ % gateways.length]!;
      return { url: `${mediaWsUrl(gateway.ready.url, carrier)}/${ticket}`, sessionId };
    },
    [Symbol.asyncDispose]: () => owned.dispose(),
  };
}
