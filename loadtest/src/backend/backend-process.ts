import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { withTimeout } from '@parley/shared/async/timeout';
import { atExit } from '../command.ts';
import type { Backend, BackendAddresses, BackendOptions } from './backend.ts';

type Method = Exclude<keyof Backend, 'addresses' | 'pid' | symbol>;
export interface BackendRequest {
  id: number;
  method: Method;
  args: unknown[];
}
export type BackendAnswer =
  { ready: BackendAddresses } | { id: number; result: unknown } | { id: number; error: string };

/**
 * Room for garbage, so that it is hardly collected while figures count: the latest answers waited a third longer. The
 * callers' own process has the same (`package.json`).
 */
const ROOM_FOR_GARBAGE = ['--initial-old-space-size=1024', '--max-semi-space-size=64'];
const START_TIMEOUT_MS = 30_000;
const CLOSE_TIMEOUT_MS = 5000;

/** Opens a backend in a process of its own, so that a burst of callers does not hold the emulators up. */
export async function openBackendProcess(options: BackendOptions): Promise<Backend> {
  const child = fork(fileURLToPath(new URL('backend-main.ts', import.meta.url)), [JSON.stringify(options)], {
    serialization: 'advanced',
    execArgv: ['--disable-warning=ExperimentalWarning', ...ROOM_FOR_GARBAGE],
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (reason: Error) => void }>();
  let nextId = 1;
  let closing: Promise<void> | undefined;
  const exited = once(child, 'exit');
  void exited.finally(atExit(() => child.kill('SIGKILL')));
  const ready = new Promise<BackendAddresses>((resolve, reject) => {
    child.on('message', (message: BackendAnswer) => {
      if ('ready' in message) return resolve(message.ready);
      const waiter = waiting.get(message.id);
      waiting.delete(message.id);
      if ('error' in message) waiter?.reject(new Error(message.error));
      else waiter?.resolve(message.result);
    });
    child.once('exit', (code) => {
      const error = new Error(`The backend process exited with code ${code}.`);
      reject(error);
      for (const waiter of waiting.values()) waiter.reject(error);
    });
  });
  const ask = <T>(method: Method, ...args: unknown[]): Promise<T> =>
    new Promise((resolve, reject) => {
      const id = nextId++;
      waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      child.send({ id, method, args } satisfies BackendRequest, (error) => {
        if (!error) return;
        waiting.delete(id);
        reject(error);
      });
    });
  async function close(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.disconnect();
    try {
      await withTimeout(exited, CLOSE_TIMEOUT_MS, 'closing the backend');
    } catch {
      child.kill('SIGKILL');
      await exited;
    }
  }
  let addresses: BackendAddresses;
  try {
    addresses = await withTimeout(ready, START_TIMEOUT_MS, 'starting the backend');
  } catch (error) {
    await close();
    throw error;
  }
  return {
    addresses,
    pid: child.pid,
    prepare: (calls) => ask('prepare', calls),
    takeReports: () => ask('takeReports'),
    reported: (ids, timeoutMs) => ask('reported', ids, timeoutMs),
    stats: () => ask('stats'),
    setFaults: (fault) => ask('setFaults', fault),
    receive: (event) => ask('receive', event),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}
