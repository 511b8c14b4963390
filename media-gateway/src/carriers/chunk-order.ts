/** Media held back while an earlier message is missing: at 20 ms each, at most 80 ms of delay, once. */
const MAX_HELD = 4;
/** A jump this far is a new count, not a gap. */
const MAX_JUMP = 50;

interface Held {
  bytes: Uint8Array;
  timestampMs: number | undefined;
}

/** Puts media back into the order of its chunk numbers. What is missing is soon given up, what comes too late is dropped. */
export class ChunkOrder {
  readonly #deliver: (bytes: Uint8Array, timestampMs: number | undefined) => void;
  readonly #held = new Map<number, Held>();
  #next: number | undefined;
  #late = 0;

  /** @param deliver gets `bytes` only for the call */
  constructor(deliver: (bytes: Uint8Array, timestampMs: number | undefined) => void) {
    this.#deliver = deliver;
  }

  /** Messages dropped because their place had passed. */
  get late(): number {
    return this.#late;
  }

  /** Copies `bytes` only when they have to wait. */
  push(bytes: Uint8Array, chunk: number | undefined, timestampMs: number | undefined): void {
    if (chunk === undefined) return this.#deliver(bytes, timestampMs);
    if (this.#next === undefined || Math.abs(chunk - this.#next) > MAX_JUMP) {
      this.#releaseAll();
      this.#next = chunk;
    }
    if (chunk < this.#next) {
      this.#late++;
      return;
    }
    if (chunk > this.#next) {
      this.#held.set(chunk, { bytes: bytes.slice(), timestampMs });
      if (this.#held.size > MAX_HELD) this.#next = Math.min(...this.#held.keys());
    } else {
      this.#next++;
      this.#deliver(bytes, timestampMs);
    }
    this.#releaseFollowing();
  }

  #releaseFollowing(): void {
    for (;;) {
      const held = this.#next === undefined ? undefined : this.#held.get(this.#next);
      if (!held) return;
      this.#held.delete(this.#next!);
      this.#next!++;
      this.#deliver(held.bytes, held.timestampMs);
    }
  }

  #releaseAll(): void {
    const inOrder = [...this.#held].sort(([a], [b]) => a - b);
    this.#held.clear();
    for (const [, { bytes, timestampMs }] of inOrder) this.#deliver(bytes, timestampMs);
  }
}
