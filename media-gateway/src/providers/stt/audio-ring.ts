/**
 * The last bytes of an endless stream, in one buffer that is made once. Positions are counted from the start of the
 * stream.
 */
export class AudioRing {
  readonly #buffer: Uint8Array;
  #end = 0;

  constructor(bytes: number) {
    this.#buffer = new Uint8Array(bytes);
  }

  /** Position behind the last byte written. */
  get end(): number {
    return this.#end;
  }

  /** Position of the oldest byte that is still held. */
  get start(): number {
    return Math.max(0, this.#end - this.#buffer.length);
  }

  write(bytes: Uint8Array): void {
    const size = this.#buffer.length;
    const tail = bytes.length > size ? bytes.subarray(bytes.length - size) : bytes;
    const at = (this.#end + bytes.length - tail.length) % size;
    const first = Math.min(tail.length, size - at);
    this.#buffer.set(first === tail.length ? tail : tail.subarray(0, first), at);
    if (first < tail.length) this.#buffer.set(tail.subarray(first), 0);
    this.#end += bytes.length;
  }

  /**
   * Gives everything from `position` on, in pieces of at most `pieceBytes`. They are views into the ring, valid
   * until the next `write`.
   */
  *read(position: number, pieceBytes: number): Generator<Uint8Array> {
    const size = this.#buffer.length;
    for (let from = Math.max(position, this.start); from < this.#end;) {
      const at = from % size;
      const length = Math.min(pieceBytes, this.#end - from, size - at);
      yield this.#buffer.subarray(at, at + length);
      from += length;
    }
  }
}
