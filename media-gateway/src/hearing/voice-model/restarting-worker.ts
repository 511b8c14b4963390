import type { Worker } from 'node:worker_threads';
import { backoffMs } from '@parley/shared/async/backoff';
import { withTimeout } from '@parley/shared/async/timeout';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';

const START_TIMEOUT_MS = 30_000;
/** A thread that ends is started again so often, then no more; one that ran long enough has the count begin anew. */
const MAX_RESTARTS = 5;
const SOUND_RUN_MS = 10 * 60_000;
const RESTART_PAUSE = { firstMs: 250, maxMs: 10_000 };

/** A worker thread that is started again when it ends by itself, a bounded number of times. */
export class RestartingWorker {
  readonly #start: () => Worker;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #worker: Worker | undefined;
  #timer: Timer | undefined;
  #startedAt = 0;
  #restarts = 0;
  #gone = false;

  /** @param start starts a thread that sends a message as soon as it works */
  constructor(start: () => Worker, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#start = start;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** It has ended too often, or was disposed of. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Starts the first thread. @throws when it does not come up */
  async open(): Promise<void> {
    const worker = this.#run();
    const ready = new Promise<void>((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`The thread ended with code ${code}.`)));
    });
    try {
      await withTimeout(ready, START_TIMEOUT_MS, 'The start of the voice model');
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gone = true;
    this.#timer?.cancel();
    await this.#worker?.terminate();
  }

  #run(): Worker {
    const worker = this.#start();
    this.#worker = worker;
    this.#startedAt = this.#clock.monotonic();
    let reason: unknown;
    worker.once('error', (error) => (reason = error));
    worker.once('exit', (code) => {
      this.#worker = undefined;
      if (!this.#gone) this.#onEnded(reason, code);
    });
    return worker;
  }

  #onEnded(error: unknown, code: number): void {
    if (this.#clock.monotonic() - this.#startedAt >= SOUND_RUN_MS) this.#restarts = 0;
    if (this.#restarts === MAX_RESTARTS) {
      this.#gone = true;
      this.#logger.error(
        { err: error, code },
        'the voice model has ended too often: calls go on by loudness alone until the gateway is restarted',
      );
      return;
    }
    const pauseMs = backoffMs(this.#restarts++, RESTART_PAUSE);
    this.#logger.warn({ err: error, code, pauseMs }, 'the voice model has ended and is started again');
    this.#timer = this.#clock.setTimeout(() => this.#run(), pauseMs);
  }
}
