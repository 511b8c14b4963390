import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import { TimeoutError, withTimeout } from '@parley/shared/async/timeout';
import { atExit } from '../command.ts';

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;

/** A process with a channel to us, which says `{ ready: … }` once it is. */
export interface StartedProcess<Ready> {
  readonly pid: number;
  readonly ready: Ready;
  readonly startMs: number;
  readonly exited: Promise<number | null>;
  send(message: object): void;
  /** Asks it to end by closing the channel; kills it when it does not. */
  stop(): Promise<void>;
}

/** Whether processes can be tied to cores here. */
export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0;

/** Ties this process, all its threads and what it will start to some cores. */
export function pinSelf(cpus: string): void {
  if (canPin) spawnSync('taskset', ['-acp', cpus, String(process.pid)]);
}

/**
 * Starts a Node program, tied to `cpus` (as `taskset -c` takes them) with all its threads and children.
 * @param options.logFile takes what it prints
 * @param options.onMessage gets everything else that it says over the channel
 */
export async function startProcess<Ready>(options: {
  script: string;
  args?: readonly string[];
  nodeArgs?: readonly string[];
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  cpus?: string | undefined;
  logFile: string;
  onMessage?: (message: object) => void;
}): Promise<StartedProcess<Ready>> {
  const startedAt = performance.now();
  const node = [process.execPath, ...(options.nodeArgs ?? []), options.script, ...(options.args ?? [])];
  const [command, ...args] =
    options.cpus !== undefined && canPin ? ['taskset', '-c', options.cpus, ...node] : node;
  const log = await open(options.logFile, 'a', 0o600);
  let child: ChildProcess;
  try {
    child = spawn(command!, args, {
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
  } finally {
    await log.close();
  }
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  void exited.finally(atExit(() => child.kill('SIGKILL')));
  const ready = new Promise<Ready>((resolve, reject) => {
    child.on('message', (message: { ready?: Ready }) => {
      if (message.ready !== undefined) resolve(message.ready);
      else options.onMessage?.(message);
    });
    child.once('error', reject);
    void exited.then((code) => {
      const lastWords = readFileSync(options.logFile, 'utf8').slice(-1000);
      reject(
        new Error(`${options.script} ended with ${code} before it was ready:
${lastWords}`),
      );
    });
  });
  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    if (child.connected) child.disconnect();
    try {
      await withTimeout(exited, STOP_TIMEOUT_MS, 'stopping');
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      child.kill('SIGKILL');
      await exited;
    }
  }
  try {
    return {
      pid: child.pid!,
      ready: await withTimeout(ready, START_TIMEOUT_MS, `starting ${options.script}`),
      startMs: performance.now() - startedAt,
      exited,
      send: (message) => child.send(message),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
