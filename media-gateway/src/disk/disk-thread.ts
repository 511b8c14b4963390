import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { directWriter } from './disk-writer.ts';
import type { DiskWriter, WritableFile } from './disk-writer.ts';

/** Writes that come within this time go to the thread together. */
const GATHER_MS = 20;
/** So many writes within a second are worth a thread of their own: some ten calls. */
const WORTH_A_THREAD = 16;

/** What the thread is asked for, and what it answers: one for each request, in their order; undefined: written. */
export interface DiskRequest {
  fd: number;
  data: Uint8Array | string;
  position: number | null;
}
export type DiskAnswer = { message: string; code: string | undefined } | undefined;

interface Waiting extends DiskRequest {
  /** Kept, so that it is not closed as garbage. */
  file: WritableFile;
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * Writes of many files through one thread, some together. Handing a single write to another thread of the same core
 * costs the audio more time than the write itself, and there are two for each call and second. A process with few calls
 * writes directly, and has no thread. Bounds are those of the files: each has one write under way.
 */
export class DiskThread implements DiskWriter, AsyncDisposable {
  readonly #clock: Clock;
  #worker: Worker | undefined;
  #waiting: Waiting[] = [];
  #underWay: Waiting[] = [];
  #timer: Timer | undefined;
  #countedFrom = -Infinity;
  #count = 0;
  #failed = false;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(file: WritableFile, data: Uint8Array | string, position: number | null): Promise<void> {
    if (!this.#isWorth()) return directWriter.write(file, data, position);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ file, fd: file.fd, data, position, resolve, reject });
      this.#timer ??= this.#clock.setTimeout(() => this.#flush(), GATHER_MS);
    });
  }

  /** Ends the thread after what is under way. Later writes are direct. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    const left = this.#waiting.splice(0);
    await Promise.all(
      left.map(({ file, data, position, resolve, reject }) =>
        directWriter.write(file, data, position).then(resolve, reject),
      ),
    );
    const worker = this.#worker;
    if (!worker) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    worker.postMessage(undefined);
    await ended;
  }

  #isWorth(): boolean {
    if (this.#closed || this.#failed) return false;
    if (this.#worker) return true;
    const now = this.#clock.monotonic();
    if (now - this.#countedFrom >= 1000) {
      this.#countedFrom = now;
      this.#count = 0;
    }
    return ++this.#count > WORTH_A_THREAD;
  }

  #flush(): void {
    this.#timer = undefined;
    // What comes meanwhile goes with the next.
    if (this.#underWay.length > 0 || this.#waiting.length === 0) return;
    this.#underWay = this.#waiting;
    this.#waiting = [];
    const requests = this.#underWay.map(({ fd, data, position }): DiskRequest => ({ fd, data, position }));
    this.#worker ??= this.#start();
    this.#worker.postMessage(requests);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./disk-worker.ts', import.meta.url), {
      name: 'disk',
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    // Who waits for a write keeps the process alive, not the thread.
    worker.unref();
    worker.on('message', (answers: DiskAnswer[]) => this.#onAnswers(answers));
    worker.on('error', (error) => this.#onFailed(error));
    worker.on('exit', () => this.#onFailed(new Error('The disk thread has ended.')));
    return worker;
  }

  #onAnswers(answers: readonly DiskAnswer[]): void {
    const done = this.#underWay;
    this.#underWay = [];
    for (const [index, { resolve, reject }] of done.entries()) {
      const error = answers[index];
      if (error) reject(Object.assign(new Error(error.message), { code: error.code }));
      else resolve();
    }
    this.#timer ??=
      this.#waiting.length > 0 ? this.#clock.setTimeout(() => this.#flush(), GATHER_MS) : undefined;
  }

  /** Whether what was under way is on disk is not known: who asked for it decides. Everything else is direct. */
  #onFailed(error: Error): void {
    if (this.#closed && this.#underWay.length === 0) return;
    this.#failed = true;
    this.#worker = undefined;
    for (const { reject } of this.#underWay.splice(0)) reject(error);
    for (const { file, data, position, resolve, reject } of this.#waiting.splice(0))
      void directWriter.write(file, data, position).then(resolve, reject);
  }
}
