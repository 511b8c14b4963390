import { Worker } from 'node:worker_threads';
import type { Ears, HeardWord } from './ears.ts';
import type { RawFormat } from './level-meter.ts';
import type { HeardSlice } from './listening-stream.ts';

/** To the thread that listens; see recogniser-worker.ts. Streams and requests are told apart by `id`. */
export type RecogniserRequest =
  | { type: 'teach'; id: number; sentences: readonly string[] }
  | { type: 'open'; id: number; format: RawFormat }
  | { type: 'audio'; id: number; bytes: Uint8Array }
  | { type: 'flush'; id: number }
  | { type: 'end_utterance'; id: number }
  | { type: 'close'; id: number };

export type RecogniserReply =
  | { type: 'ready' }
  | { type: 'taught'; id: number; known: number; error: string | undefined }
  | ({ type: 'heard'; id: number } & HeardSlice)
  | { type: 'flushed'; id: number };

export interface Recogniser {
  /** How many sentences it knows. */
  readonly known: number;
  /** Adds sentences. Resolves when they would be recognised, in utterances that begin afterwards. */
  teach(sentences: readonly string[]): Promise<void>;
  listen(format: RawFormat): Ears;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts the thread that tells by sound which of the taught sentences is spoken. It is told sentences as text and then
 * hears nothing but audio.
 */
export async function openRecogniser(): Promise<Recogniser> {
  const worker = new Worker(new URL('recogniser-worker.ts', import.meta.url));
  const ears = new Map<number, WorkerEars>();
  const lessons = new Map<number, { resolve: () => void; reject: (reason: Error) => void }>();
  let nextId = 1;
  let known = 0;
  let closing: Promise<void> | undefined;
  let failure: Error | undefined;
  const send = (request: RecogniserRequest) => {
    if (!failure) worker.postMessage(request);
  };

  function fail(reason: Error): void {
    failure ??= reason;
    for (const { reject } of lessons.values()) reject(failure);
    lessons.clear();
  }

  await new Promise<void>((resolve, reject) => {
    worker.on('message', (reply: RecogniserReply) => {
      if (reply.type === 'ready') {
        resolve();
      } else if (reply.type === 'heard') {
        ears.get(reply.id)?.hear(reply);
      } else if (reply.type === 'flushed') {
        ears.get(reply.id)?.flushed();
      } else {
        known = reply.known;
        const lesson = lessons.get(reply.id);
        lessons.delete(reply.id);
        if (reply.error === undefined) lesson?.resolve();
        else lesson?.reject(new Error(reply.error));
      }
    });
    worker.on('error', (error: Error) => {
      fail(error);
      reject(error);
    });
    worker.on('exit', () => {
      const error = new Error('The recogniser stopped.');
      fail(error);
      reject(error);
    });
  });

  return {
    get known() {
      return known;
    },
    teach(sentences) {
      if (failure) return Promise.reject(failure);
      return new Promise((resolve, reject) => {
        const id = nextId++;
        lessons.set(id, { resolve, reject });
        send({ type: 'teach', id, sentences });
      });
    },
    listen(format) {
      const id = nextId++;
      send({ type: 'open', id, format });
      const own = new WorkerEars(id, send, () => ears.delete(id));
      ears.set(id, own);
      return own;
    },
    async [Symbol.asyncDispose]() {
      fail(new Error('The recogniser is closed.'));
      closing ??= worker.terminate().then(() => undefined);
      await closing;
    },
  };
}

/** One audio stream, heard in the other thread. */
class WorkerEars implements Ears {
  onTick: () => void = () => undefined;
  atMs = 0;
  onsetMs = -Infinity;
  lastVoicedMs = -Infinity;
  utterance = 0;
  readonly #id: number;
  readonly #send: (request: RecogniserRequest) => void;
  readonly #onClose: () => void;
  #words: readonly HeardWord[] = [];
  /** In the order of their requests. */
  readonly #flushes: (() => void)[] = [];

  constructor(id: number, send: (request: RecogniserRequest) => void, onClose: () => void) {
    this.#id = id;
    this.#send = send;
    this.#onClose = onClose;
  }

  get lastWordEndMs(): number {
    return this.#words.at(-1)?.endMs ?? -1;
  }

  words(): readonly HeardWord[] {
    return this.#words;
  }

  push(bytes: Uint8Array): void {
    this.#send({ type: 'audio', id: this.#id, bytes });
  }

  flush(done: () => void): void {
    this.#flushes.push(done);
    this.#send({ type: 'flush', id: this.#id });
  }

  flushed(): void {
    this.#flushes.shift()?.();
  }

  endUtterance(): void {
    this.#send({ type: 'end_utterance', id: this.#id });
  }

  close(): void {
    this.onTick = () => undefined;
    this.#flushes.length = 0;
    this.#onClose();
    this.#send({ type: 'close', id: this.#id });
  }

  hear({ ticks, utterance, words }: HeardSlice): void {
    this.#words = words;
    this.utterance = utterance;
    for (let at = 0; at < ticks.length; at += 3) {
      this.atMs = ticks[at]!;
      this.onsetMs = ticks[at + 1]!;
      this.lastVoicedMs = ticks[at + 2]!;
      this.onTick();
    }
  }
}
