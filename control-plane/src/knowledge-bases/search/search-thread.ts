import { Worker } from 'node:worker_threads';
import { UnavailableError } from '@parley/shared/errors/app-error';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { SearchMethods, ThreadAnswer, ThreadRequest } from './search-worker.ts';

const PROGRAM = new URL('./search-worker.ts', import.meta.url);
/** Requests that wait for the thread. */
const MAX_WAITING = 200;
const MAX_MS = 60_000;
const MAX_HEAP_MB = 2048;

/** The file of an index is gone: another took its place. */
export class IndexGoneError extends Error {
  constructor() {
    super('The index is not there any more.');
    this.name = 'IndexGoneError';
  }
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  timer: Timer;
}

/** A thread that makes indexes or searches them, begun with the first request and again after it has died. */
export class SearchThread {
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #count = 0;
  #closed = false;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /** @throws IndexGoneError; UnavailableError when too many wait, when it takes too long, or when the thread dies */
  ask<M extends keyof SearchMethods>(
    method: M,
    argument: Parameters<SearchMethods[M]>[0],
  ): ReturnType<SearchMethods[M]> {
    const asked = new Promise<unknown>((resolve, reject) => {
      if (this.#closed || this.#waiting.size >= MAX_WAITING) {
        reject(new UnavailableError('The search of knowledge bases is overloaded. Retry in a few seconds.'));
        return;
      }
      const number = ++this.#count;
      const timer = this.#clock.setTimeout(() => this.#end('The search took too long.'), MAX_MS);
      this.#waiting.set(number, { resolve, reject, timer });
      this.#worker ??= this.#begin();
      this.#worker.postMessage({ number, method, argument } satisfies ThreadRequest);
    });
    return asked as ReturnType<SearchMethods[M]>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#end('The control plane is stopping.');
    await worker?.terminate();
  }

  #begin(): Worker {
    const worker = new Worker(PROGRAM, {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
      env: {},
    });
    worker.on('message', (answer: ThreadAnswer) => {
      const waiting = this.#waiting.get(answer.number);
      if (!waiting) return;
      this.#waiting.delete(answer.number);
      waiting.timer.cancel();
      if ('result' in answer) waiting.resolve(answer.result);
      else waiting.reject(answer.code === 'ENOENT' ? new IndexGoneError() : new Error(answer.error));
    });
    const died = (): void => {
      if (this.#worker === worker) this.#end('The search has failed.');
    };
    worker.on('error', died);
    worker.on('exit', died);
    // Requests keep the process alive where they must; an idle thread does not.
    worker.unref();
    return worker;
  }

  #end(why: string): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject, timer } of waiting) {
      timer.cancel();
      reject(new UnavailableError(why));
    }
  }
}
