import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { plainDisk } from './disk.ts';
import type { Disk, FileDigest, WritableFile } from './disk.ts';

/** What comes within this time goes to the thread together. */
const GATHER_MS = 50;
/** So many requests within a second are worth a thread of their own: some ten calls. */
const WORTH_A_THREAD = 16;

/** What the thread is asked for, and what it answers: one for each request, in their order. */
export type DiskRequest =
  | { type: 'write'; fd: number; data: Uint8Array | string; position: number | null }
  | { type: 'replace'; path: string; text: string }
  | { type: 'digest'; path: string };
/** `value` is of a digest alone, and undefined where the file is too long for the thread. */
export type DiskAnswer =
  | { value: FileDigest | undefined; error?: undefined }
  | { error: { message: string; code: string | undefined } };

interface Waiting {
  request: DiskRequest;
  /** The same without the thread. Holds the file that is written to, so that it is not closed as garbage. */
  direct: () => Promise<unknown>;
  resolve: (value: FileDigest | undefined) => void;
  reject: (error: Error) => void;
}

/**
 * What is done with many files through one thread, some of it together. Handing a single step to another thread of the same
 * core costs the audio more time than the step itself: each call has two a second, and dozens at its end. A process with few
 * calls takes each step directly, and has no thread. Bounds are those of the files: each has one request under way.
 */
export class DiskThread implements Disk, AsyncDisposable {
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

  async write(file: WritableFile, data: Uint8Array | string, position: number | null): Promise<void> {
    const direct = () => plainDisk.write(file, data, position);
    if (!this.#isWorth()) return direct();
    await this.#ask({ type: 'write', fd: file.fd, data, position }, direct);
  }

  async replace(path: string, text: string): Promise<void> {
    const direct = () => plainDisk.replace(path, text);
    if (!this.#isWorth()) return direct();
    await this.#ask({ type: 'replace', path, text }, direct);
  }

  async digest(path: string): Promise<FileDigest> {
    const direct = () => plainDisk.digest(path);
    if (!this.#isWorth()) return direct();
    return (await this.#ask({ type: 'digest', path }, direct)) ?? direct();
  }

  /** Ends the thread after what is under way. What comes later is direct. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    const left = this.#waiting.splice(0);
    await Promise.all(left.map(withoutThread));
    const worker = this.#worker;
    if (!worker) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    worker.postMessage(undefined);
    await ended;
  }

  #ask(request: DiskRequest, direct: () => Promise<unknown>): Promise<FileDigest | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, direct, resolve, reject });
      this.#timer ??= this.#clock.setTimeout(() => this.#flush(), GATHER_MS);
    });
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
    this.#worker ??= this.#start();
    this.#worker.postMessage(this.#underWay.map(({ request }) => request));
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
      const answer = answers[index]!;
      if (answer.error) reject(Object.assign(new Error(answer.error.message), { code: answer.error.code }));
      else resolve(answer.value);
    }
    this.#timer ??=
      this.#waiting.length > 0 ? this.#clock.setTimeout(() => this.#flush(), GATHER_MS) : undefined;
  }

  /** Whether what was under way is done is not known: who asked for it decides. Everything else is direct. */
  #onFailed(error: Error): void {
    if (this.#closed && this.#underWay.length === 0) return;
    this.#failed = true;
    this.#worker = undefined;
    for (const { reject } of this.#underWay.splice(0)) reject(error);
    for (const left of this.#waiting.splice(0)) void withoutThread(left);
  }
}

function withoutThread({ direct, resolve, reject }: Waiting): Promise<void> {
  return direct().then((value) => resolve(value as FileDigest | undefined), reject);
}
