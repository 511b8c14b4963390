import { parentPort, workerData } from 'node:worker_threads';
import { Commands } from './commands/commands.ts';
import { Cursors } from './protocol/cursors.ts';
import { removeExpired } from './storage/expiry.ts';
import { WireServer } from './protocol/server.ts';
import { Store } from './storage/store.ts';

export interface WorkerOptions {
  path: string;
  host: string;
  /** Null: no TCP. */
  port: number | null;
  socketPath: string | undefined;
  synchronous: 'normal' | 'full';
}

export type WorkerMessage =
  { port: number | null } | { error: string } | { failure: string } | { diskFull: boolean };

/** How often expired documents and idle cursors are removed. */
const SWEEP_MS = 2000;

const port = parentPort!;

function report(error: unknown): void {
  const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
  port.postMessage({ failure } satisfies WorkerMessage);
}

async function start({
  path,
  host,
  port: tcpPort,
  socketPath,
  synchronous,
}: WorkerOptions): Promise<number | null> {
  const store = new Store(path, synchronous);
  const cursors = new Cursors();
  const server = new WireServer(store, new Commands(store, cursors), {
    onFailure: report,
    onDiskFull: (diskFull) => port.postMessage({ diskFull } satisfies WorkerMessage),
  });
  const close = async () => {
    await server.close();
    store.close();
  };
  let listening: number | null = null;
  try {
    if (tcpPort !== null) listening = await server.listen({ host, port: tcpPort });
    if (socketPath !== undefined) await server.listen({ path: socketPath });
  } catch (error) {
    await close();
    throw error;
  }
  const sweep = setInterval(() => {
    const now = Date.now();
    cursors.closeIdle(now);
    server.maintain(() => removeExpired(store, now));
  }, SWEEP_MS);
  port.once('message', () => {
    clearInterval(sweep);
    void close().finally(() => port.close());
  });
  return listening;
}

try {
  port.postMessage({ port: await start(workerData as WorkerOptions) } satisfies WorkerMessage);
} catch (error) {
  port.postMessage({ error: error instanceof Error ? error.message : String(error) } satisfies WorkerMessage);
}
