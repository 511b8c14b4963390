/** Repeatable chance for property tests (xorshift32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2654435761 + 1;
  }

  fraction(): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)));
  }

  /** Any 64-bit integer, often one beyond what a double holds exactly. */
  long(): bigint {
    const value = BigInt.asIntN(64, (BigInt(this.below(2 ** 32)) << 32n) | BigInt(this.below(2 ** 32)));
    return value >> BigInt(this.below(64));
  }

  text(): string {
    const letters = ['a', 'b', 'z', 'é', '\u{1f600}', '\uffee', '\0', '.', ' ', '1'];
    return Array.from({ length: this.below(6) }, () => this.pick(letters)).join('');
  }
}
