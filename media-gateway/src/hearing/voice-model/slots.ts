/** Samples of a stream that both threads have: about a second. A power of two. */
export const RING_SAMPLES = 8192;
/** Verdicts of a stream that wait to be read: about a second. A power of two. */
export const VERDICTS = 32;

/** Words in front of all slots. */
export const HEADER = {
  /** Changes when the worker is to look at the slots at once. */
  bell: 0,
  /** 1 while the worker waits for the bell alone, because no stream is to be judged. */
  asleep: 1,
  /** How many slots, from the first on, were ever in use. */
  used: 2,
} as const;

/** Words of a slot. Positions are samples since the stream was opened, in 32 bits: only differences mean something. */
const WORD = {
  /** Counts the streams that had the slot. */
  stream: 0,
  /** Samples written. */
  written: 1,
  judging: 2,
  /** Where judging began, the lead included. */
  from: 3,
  /** Verdicts given by the worker, to whatever stream. */
  verdicts: 4,
} as const;

const HEADER_BYTES = 64;
const WORDS_BYTES = 64;
const VERDICT_WORDS = 3;
const VERDICT_BYTES = VERDICTS * VERDICT_WORDS * 4;
const SLOT_BYTES = WORDS_BYTES + VERDICT_BYTES + RING_SAMPLES * 2;

/** Memory of so many slots; what is not in use yet takes no memory of the machine. */
export function allocateSlots(count: number): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + count * SLOT_BYTES);
}

export function headerOf(memory: SharedArrayBuffer): Int32Array {
  return new Int32Array(memory, 0, HEADER_BYTES / 4);
}

/** Wakes a worker that sleeps; costs one read when it does not. */
export function wake(header: Int32Array): void {
  if (Atomics.load(header, HEADER.asleep) === 0) return;
  Atomics.add(header, HEADER.bell, 1);
  Atomics.notify(header, HEADER.bell);
}

/**
 * The place of one stream in memory that two threads share. The thread of the calls writes samples and reads verdicts,
 * the worker the other way round; neither ever waits for the other. What one thread is late to take is overwritten.
 */
export class Slot {
  readonly samples: Int16Array;
  readonly #words: Int32Array;
  /** Of each verdict: its stream, and where its window ends. */
  readonly #verdicts: Int32Array;
  readonly #probabilities: Float32Array;

  constructor(memory: SharedArrayBuffer, index: number) {
    const start = HEADER_BYTES + index * SLOT_BYTES;
    this.#words = new Int32Array(memory, start, WORDS_BYTES / 4);
    this.#verdicts = new Int32Array(memory, start + WORDS_BYTES, VERDICTS * VERDICT_WORDS);
    this.#probabilities = new Float32Array(memory, start + WORDS_BYTES, VERDICTS * VERDICT_WORDS);
    this.samples = new Int16Array(memory, start + WORDS_BYTES + VERDICT_BYTES, RING_SAMPLES);
  }

  get stream(): number {
    return Atomics.load(this.#words, WORD.stream);
  }

  get written(): number {
    return Atomics.load(this.#words, WORD.written);
  }

  /** Set by the thread of the calls. */
  set written(samples: number) {
    Atomics.store(this.#words, WORD.written, samples);
  }

  get judging(): boolean {
    return Atomics.load(this.#words, WORD.judging) === 1;
  }

  get from(): number {
    return Atomics.load(this.#words, WORD.from);
  }

  /** Verdicts that were ever given. */
  get verdicts(): number {
    return Atomics.load(this.#words, WORD.verdicts);
  }

  // ---- the thread of the calls ----

  /** Begins a new stream. @returns its number, by which its verdicts are told from those before */
  begin(): number {
    this.stop();
    this.samples.fill(0);
    this.written = 0;
    Atomics.store(this.#words, WORD.from, 0);
    return Atomics.add(this.#words, WORD.stream, 1) + 1;
  }

  judge(from: number): void {
    Atomics.store(this.#words, WORD.from, from);
    Atomics.store(this.#words, WORD.judging, 1);
  }

  stop(): void {
    Atomics.store(this.#words, WORD.judging, 0);
  }

  /** Whose a verdict is, by its number from 0. */
  streamOf(verdict: number): number {
    return this.#verdicts[placeOf(verdict)]!;
  }

  /** Where a verdict's window ends. */
  endOf(verdict: number): number {
    return this.#verdicts[placeOf(verdict) + 1]!;
  }

  probabilityOf(verdict: number): number {
    return this.#probabilities[placeOf(verdict) + 2]!;
  }

  // ---- the worker ----

  /** @param end where the window ends */
  give(stream: number, end: number, probability: number): void {
    const number = this.verdicts;
    const at = placeOf(number);
    this.#verdicts[at] = stream;
    this.#verdicts[at + 1] = end;
    this.#probabilities[at + 2] = probability;
    Atomics.store(this.#words, WORD.verdicts, (number + 1) | 0);
  }
}

const placeOf = (verdict: number): number => (verdict & (VERDICTS - 1)) * VERDICT_WORDS;
