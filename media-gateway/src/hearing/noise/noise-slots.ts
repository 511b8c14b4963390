import type { AudioFormat } from '@parley/shared/audio/audio-frame';

/** Bytes of a stream that both threads have, each way: 1.3 s of the densest format. A power of two. */
export const RING_BYTES = 65_536;

/** Words in front of all slots. */
export const HEADER = {
  /** 1 when the worker can work. */
  ready: 0,
  /** Changes when a stream is opened. */
  bell: 1,
  /** How many slots, from the first on, were ever in use. */
  used: 2,
} as const;

/** Words of a slot. Positions are bytes since the stream was opened, in 32 bits: only differences mean something. */
const WORD = { stream: 0, open: 1, rate: 2, encoding: 3, high: 4, written: 5, taken: 6, done: 7 } as const;
const ENCODINGS = ['pcm16', 'pcmu', 'pcma'] as const;

const HEADER_BYTES = 64;
const WORDS_BYTES = 64;
const SLOT_BYTES = WORDS_BYTES + 2 * RING_BYTES;

/** Memory of so many slots; what is not in use yet takes no memory of the machine. */
export function allocateNoiseSlots(count: number): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + count * SLOT_BYTES);
}

export function noiseHeader(memory: SharedArrayBuffer): Int32Array {
  return new Int32Array(memory, 0, HEADER_BYTES / 4);
}

/** The place of one stream in memory that two threads share: audio goes in on one ring and comes back on the other. */
export class NoiseSlot {
  readonly #words: Int32Array;
  readonly #in: Uint8Array;
  readonly #out: Uint8Array;

  constructor(memory: SharedArrayBuffer, index: number) {
    const start = HEADER_BYTES + index * SLOT_BYTES;
    this.#words = new Int32Array(memory, start, WORDS_BYTES / 4);
    this.#in = new Uint8Array(memory, start + WORDS_BYTES, RING_BYTES);
    this.#out = new Uint8Array(memory, start + WORDS_BYTES + RING_BYTES, RING_BYTES);
  }

  #get(word: number): number {
    return Atomics.load(this.#words, word);
  }

  get stream(): number {
    return this.#get(WORD.stream);
  }

  get isOpen(): boolean {
    return this.#get(WORD.open) === 1;
  }

  get format(): AudioFormat {
    return { encoding: ENCODINGS[this.#get(WORD.encoding)]!, sampleRate: this.#get(WORD.rate) };
  }

  get high(): boolean {
    return this.#get(WORD.high) === 1;
  }

  /** Bytes that the worker has not taken. */
  get waiting(): number {
    return (this.#get(WORD.written) - this.#get(WORD.taken)) | 0;
  }

  // ---- the thread of the calls ----

  open(format: AudioFormat, high: boolean): void {
    Atomics.store(this.#words, WORD.rate, format.sampleRate);
    Atomics.store(this.#words, WORD.encoding, ENCODINGS.indexOf(format.encoding));
    Atomics.store(this.#words, WORD.high, high ? 1 : 0);
    Atomics.store(this.#words, WORD.taken, this.#get(WORD.written));
    Atomics.add(this.#words, WORD.stream, 1);
    Atomics.store(this.#words, WORD.open, 1);
  }

  close(): void {
    Atomics.store(this.#words, WORD.open, 0);
  }

  put(bytes: Uint8Array): void {
    const at = this.#get(WORD.written);
    copyIn(this.#in, at, bytes);
    Atomics.store(this.#words, WORD.written, (at + bytes.length) | 0);
  }

  /** Bytes that were ever given back. */
  get done(): number {
    return this.#get(WORD.done);
  }

  /** Fills `into` with what was given back from `from` on. */
  read(from: number, into: Uint8Array): void {
    copyOut(this.#out, from, into);
  }

  // ---- the worker ----

  take(): Uint8Array {
    const at = this.#get(WORD.taken);
    const bytes = new Uint8Array(Math.min(this.waiting, RING_BYTES));
    copyOut(this.#in, at, bytes);
    Atomics.store(this.#words, WORD.taken, (at + bytes.length) | 0);
    return bytes;
  }

  give(bytes: Uint8Array): void {
    const at = this.#get(WORD.done);
    copyIn(this.#out, at, bytes);
    Atomics.store(this.#words, WORD.done, (at + bytes.length) | 0);
  }
}

function copyIn(ring: Uint8Array, position: number, bytes: Uint8Array): void {
  const at = position & (RING_BYTES - 1);
  const first = Math.min(bytes.length, RING_BYTES - at);
  ring.set(bytes.subarray(0, first), at);
  if (first < bytes.length) ring.set(bytes.subarray(first), 0);
}

function copyOut(ring: Uint8Array, position: number, into: Uint8Array): void {
  const at = position & (RING_BYTES - 1);
  const first = Math.min(into.length, RING_BYTES - at);
  into.set(ring.subarray(at, at + first));
  if (first < into.length) into.set(ring.subarray(0, into.length - first), first);
}
