import { Worker } from 'node:worker_threads';
import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { SuppressionLevel } from '@parley/shared/audio/noise-suppressor';
import type { Logger } from '@parley/shared/logging/logger';
import { allocateNoiseSlots, HEADER, noiseHeader, NoiseSlot } from './noise-slots.ts';
import type { NoiseWorkerData } from './noise-worker.ts';

/** A thread that is so late is not waited for: the audio goes on as it came. */
const TOO_LATE_MS = 500;
const SCRATCH_BYTES = 16_384;

/** Takes noise out of what callers say, before their STT hears it. */
export interface NoiseSuppression {
  /** @returns undefined where there is no place, or no thread, for it: audio stays as it came */
  open(format: AudioFormat, level: SuppressionLevel): NoiseStream | undefined;
}

export interface NoiseStream {
  /**
   * @returns audio without noise of about 30 ms ago, in the same format, good until the next call; possibly nothing, and
   * `bytes` themselves while nothing can be done
   */
  clean(bytes: Uint8Array): Uint8Array;
  close(): void;
}

/** A thread for the streams of all calls of the process, started with the first. No message is sent, and nobody waits. */
export class ThreadedNoiseSuppression implements NoiseSuppression {
  readonly #maxStreams: number;
  readonly #logger: Logger;
  readonly #slots: NoiseSlot[] = [];
  readonly #free: NoiseSlot[] = [];
  #memory: SharedArrayBuffer | undefined;
  #worker: Worker | undefined;
  #gone = false;

  constructor(deps: { maxStreams: number; logger: Logger }) {
    this.#maxStreams = deps.maxStreams;
    this.#logger = deps.logger;
  }

  open(format: AudioFormat, level: SuppressionLevel): NoiseStream | undefined {
    if (this.#gone) return undefined;
    const memory = (this.#memory ??= this.#start());
    const header = noiseHeader(memory);
    const slot = this.#free.pop() ?? this.#newSlot(memory, header);
    if (!slot) return undefined;
    slot.open(format, level === 'high');
    Atomics.add(header, HEADER.bell, 1);
    Atomics.notify(header, HEADER.bell);
    return new SlotStream(slot, {
      works: () => !this.#gone && Atomics.load(header, HEADER.ready) === 1,
      tooLateBytes: TOO_LATE_MS * bytesPerMs(format),
      release: () => this.#free.push(slot),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gone = true;
    await this.#worker?.terminate();
  }

  #newSlot(memory: SharedArrayBuffer, header: Int32Array): NoiseSlot | undefined {
    if (this.#slots.length === this.#maxStreams) return undefined;
    const slot = new NoiseSlot(memory, this.#slots.length);
    this.#slots.push(slot);
    Atomics.store(header, HEADER.used, this.#slots.length);
    return slot;
  }

  #start(): SharedArrayBuffer {
    const memory = allocateNoiseSlots(this.#maxStreams);
    const workerData: NoiseWorkerData = { memory };
    const worker = new Worker(new URL('./noise-worker.ts', import.meta.url), {
      name: 'noise',
      workerData,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#worker = worker;
    let reason: unknown;
    worker.once('error', (error) => (reason = error));
    worker.once('exit', (code) => {
      if (this.#gone) return;
      this.#gone = true;
      this.#logger.error(
        { err: reason, code },
        'noise suppression has ended: callers are heard with their noise until the gateway is restarted',
      );
    });
    return memory;
  }
}

class SlotStream implements NoiseStream {
  readonly #slot: NoiseSlot;
  readonly #thread: { works: () => boolean; tooLateBytes: number; release: () => void };
  readonly #scratch = new Uint8Array(SCRATCH_BYTES);
  #read: number;
  #open = true;

  constructor(slot: NoiseSlot, thread: { works: () => boolean; tooLateBytes: number; release: () => void }) {
    this.#slot = slot;
    this.#thread = thread;
    this.#read = slot.done;
  }

  clean(bytes: Uint8Array): Uint8Array {
    const slot = this.#slot;
    if (!this.#open || !this.#thread.works()) return bytes;
    if (slot.waiting > this.#thread.tooLateBytes) {
      // What it gives back of what it has would come too late.
      this.#read = slot.done;
      return bytes;
    }
    slot.put(bytes);
    const done = Math.min((slot.done - this.#read) | 0, SCRATCH_BYTES);
    const clean = this.#scratch.subarray(0, done);
    slot.read(this.#read, clean);
    this.#read = (this.#read + done) | 0;
    return clean;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#slot.close();
    this.#thread.release();
  }
}
