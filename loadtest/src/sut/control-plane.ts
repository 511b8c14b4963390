import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { HTTP1_ONLY } from '@parley/shared/http/http1';
import type { ControlPlaneReady } from './control-plane-process.ts';
import { startProcess } from './start-process.ts';

export interface RunningControlPlane extends ControlPlaneReady {
  readonly pid: number;
  /** JSON in, JSON out, with the org's key. @throws when the answer is not 2xx */
  ask<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T>;
  /** Fills the store with sessions that ended. One must have been made. */
  seedSessions(count: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a control plane over an empty store of its own. */
export async function startControlPlane(options: {
  directory: string;
  cpus?: string | undefined;
  env?: NodeJS.ProcessEnv;
}): Promise<RunningControlPlane> {
  const directory = join(options.directory, 'control-plane');
  await mkdir(directory, { recursive: true });
  let seeded: ((error: Error | undefined) => void) | undefined;
  const child = await startProcess<ControlPlaneReady>({
    onMessage: (message) => {
      if ('seeded' in message) seeded?.(undefined);
      if ('failed' in message) seeded?.(new Error(String(message.failed)));
    },
    script: fileURLToPath(new URL('control-plane-process.ts', import.meta.url)),
    args: [directory],
    nodeArgs: ['--disable-warning=ExperimentalWarning'],
    env: { NODE_ENV: 'production', ...options.env },
    cpus: options.cpus,
    logFile: join(options.directory, 'control-plane.log'),
  });
  const pool = new Pool(child.ready.url, { ...HTTP1_ONLY, connections: 32 });
  return {
    ...child.ready,
    pid: child.pid,
    async ask<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
      const answer = await pool.request({
        method,
        path,
        headers: {
          authorization: `Bearer ${child.ready.apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode >= 300)
        throw new Error(`${method} ${path} answered ${answer.statusCode}: ${text.slice(0, 500)}`);
      return JSON.parse(text) as T;
    },
    seedSessions: (count) =>
      new Promise((resolve, reject) => {
        seeded = (error) => (error ? reject(error) : resolve());
        child.send({ seed: count });
      }),
    async [Symbol.asyncDispose]() {
      await pool.close();
      await child.stop();
    },
  };
}
