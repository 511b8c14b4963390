import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { withTimeout } from '@parley/shared/async/timeout';
import type { Mp3Source } from './mp3-file.ts';
import type { Mp3WorkerData } from './mp3-worker.ts';

/** The longest call, four hours, takes about half a minute of a processor. */
const TIMEOUT_MS = 15 * 60_000;

/** Makes MP3s of recordings that are over, one at a time, each in a thread that ends with it. */
export class Mp3Encoder {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Makes `target`, unless it is there. What waits here is on disk, so nothing bounds it but that.
   * @throws what the disk or the encoder says, TimeoutError; the reason of `signal`
   */
  encode(source: Mp3Source, target: string, signal: AbortSignal): Promise<void> {
    const encoded = this.#last.then(() => encodeInThread(source, target, signal));
    this.#last = encoded.catch(() => undefined);
    return encoded;
  }
}

async function encodeInThread(source: Mp3Source, target: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (await isThere(target)) return;
  const workerData: Mp3WorkerData = { source, target };
  const worker = new Worker(new URL('./mp3-worker.ts', import.meta.url), {
    name: 'mp3',
    workerData,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const ended = new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`The MP3 thread ended with code ${code}.`)),
    );
  });
  try {
    await withTimeout(ended, TIMEOUT_MS, 'Making an MP3', signal);
  } finally {
    ended.catch(() => undefined);
    await worker.terminate();
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
