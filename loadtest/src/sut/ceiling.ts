import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { uuidV7 } from '@parley/shared/ids/new-id';
import type { ProviderDelays } from '../backend/backend.ts';
import { startProcess } from './start-process.ts';
import type { SystemUnderTest } from './system.ts';

/**
 * The best that could be: a bare uWebSockets server that knows the answers beforehand and sends them when they are
 * due. It shows what the instrument itself adds to a figure, and where this machine ends.
 */
export async function openCeiling(options: {
  cpus: string | undefined;
  directory: string;
  turns: number;
  delays: ProviderDelays;
}): Promise<SystemUnderTest> {
  const server = await startProcess<{ port: number }>({
    script: fileURLToPath(new URL('ceiling-server.ts', import.meta.url)),
    args: [JSON.stringify({ turns: options.turns, delays: options.delays })],
    nodeArgs: ['--disable-warning=ExperimentalWarning'],
    cpus: options.cpus,
    logFile: join(options.directory, 'ceiling.log'),
  });
  return {
    name: 'bare uWebSockets',
    pids: [server.pid],
    startMs: server.startMs,
    reports: false,
    dial: ({ conversation, carrier, variant }) =>
      Promise.resolve({
        url: `ws://127.0.0.1:${server.ready.port}/${carrier}/${conversation}/${variant}`,
        sessionId: uuidV7(),
      }),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}
