/**
 * A document store that speaks MongoDB's wire protocol and keeps everything in one SQLite file, so that the platform
 * runs, and its tests run, where there is no MongoDB. The official driver and Mongoose connect to it as to a standalone
 * server of version 7.
 *
 * Meant for evaluation, development, tests and one small site. Its limits:
 * - One thread in one process: no replication, hence no transactions (IllegalOperation) and no change streams (40573).
 * - No users. It listens on the loopback interface or on a unix socket of mode 0600, and refuses other hosts.
 * - Comparison of strings is by bytes: no collations. No text, geospatial, hashed and wildcard indexes; no capped and
 *   time series collections, views and validators; no `$where` and `$jsonSchema`; no updates by a pipeline.
 * - Of aggregation there is what counts and sums: the stages, accumulators and expressions in `pipeline.ts`,
 *   `accumulators.ts` and `expression-operators.ts`. Sorting without an index and grouping work in memory: a sort stops
 *   at 100 MiB, as MongoDB's, and a group at a million. `$expr` finds no index.
 * - A command runs to its end before the next: `maxTimeMS` is accepted but stops nothing. A slow scan delays everybody.
 * - Regular expressions are JavaScript's, rewritten where PCRE differs, and refused where JavaScript has no equal.
 * - With `synchronous: 'normal'` a write that was acknowledged survives the death of the process, but the last ones may
 *   be lost when the machine loses power; 'full' flushes each commit to the disk.
 * What is not supported is refused with MongoDB's own error codes; unknown fields of a command are refused too.
 */
import { once } from 'node:events';
import { isIP } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { WorkerMessage, WorkerOptions } from './document-store-worker.ts';

export interface DocumentStoreOptions {
  /** The SQLite file; made when it is not there. One process at a time can have it open. */
  path: string;
  /** A loopback address; 127.0.0.1 unless given. */
  host?: string;
  /** 0, the default, takes any free port; null: the unix socket alone, which only its owner can open. */
  port?: number | null;
  /** Also listens on this unix socket, with mode 0600. A file of that name is replaced. */
  socketPath?: string;
  /** When a commit counts as durable; 'normal' unless given. */
  synchronous?: 'normal' | 'full';
  /** Told of errors that are the store's own fault; printed unless given. */
  onFailure?: (message: string) => void;
  /** Told when writes begin to fail for want of space (clients get OutOfDiskSpace, reads go on), and when they succeed again. */
  onDiskFull?: (full: boolean) => void;
}

export interface DocumentStore {
  /** For drivers; has no database name. The unix socket's where there is no TCP. */
  uri: string;
  port: number | null;
  /** Ends connections and closes the file. */
  [Symbol.asyncDispose](): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;

/**
 * Starts the store in a worker thread of its own, so that SQLite never blocks the caller's loop.
 * @throws Error when the file is in use, damaged or of a newer version, or the port is taken
 */
export async function openDocumentStore(options: DocumentStoreOptions): Promise<DocumentStore> {
  const host = options.host ?? '127.0.0.1';
  if (!(host === '::1' || (isIP(host) === 4 && host.startsWith('127.')))) {
    throw new Error(`the document store has no users and listens on loopback addresses only, not on ${host}`);
  }
  if (options.port === null && options.socketPath === undefined)
    throw new Error('the document store needs a port or a socket path');
  const workerData: WorkerOptions = {
    path: options.path,
    host,
    port: options.port === undefined ? 0 : options.port,
    socketPath: options.socketPath,
    synchronous: options.synchronous ?? 'normal',
  };
  const onFailure = options.onFailure ?? ((message) => console.error('document store:', message));
  const worker = new Worker(new URL('./document-store-worker.ts', import.meta.url), {
    workerData,
    name: 'document-store',
  });
  const exited = once(worker, 'exit');
  let port: number | null;
  try {
    port = await started(worker);
  } catch (error) {
    await worker.terminate();
    throw error;
  }
  // An error that reaches here ended the worker; its clients see their connections break.
  worker.on('error', (error) => onFailure(String(error.stack)));
  worker.on('message', (message: WorkerMessage) => {
    if ('failure' in message) onFailure(message.failure);
    if ('diskFull' in message) options.onDiskFull?.(message.diskFull);
  });
  return {
    uri: `mongodb://${port === null ? encodeURIComponent(options.socketPath!) : `${isIP(host) === 6 ? `[${host}]` : host}:${port}`}/?directConnection=true`,
    port,
    async [Symbol.asyncDispose]() {
      worker.postMessage('close');
      await exited;
    },
  };
}

async function started(worker: Worker): Promise<number | null> {
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  const [message] = (await Promise.race([
    once(worker, 'message', { signal }),
    once(worker, 'exit', { signal }).then(() =>
      Promise.reject(new Error('the document store ended while starting')),
    ),
  ])) as [WorkerMessage];
  if ('port' in message) return message.port;
  throw new Error('error' in message ? message.error : 'the document store could not start');
}
