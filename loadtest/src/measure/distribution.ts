/** Figures of one kind, kept as they are: quantiles are exact, and may be negative. */
export class Distribution {
  #values = new Float64Array(256);
  #count = 0;
  #sorted = true;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(this.#values.length * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#count++] = value;
    this.#sorted = false;
  }

  get count(): number {
    return this.#count;
  }

  /** @param q 0 to 1. @returns the smallest value that at least `q` of all do not exceed; NaN when there is none */
  quantile(q: number): number {
    if (this.#count === 0) return NaN;
    this.#sort();
    return this.#values[Math.min(this.#count - 1, Math.max(0, Math.ceil(q * this.#count) - 1))]!;
  }

  get mean(): number {
    let sum = 0;
    for (let i = 0; i < this.#count; i++) sum += this.#values[i]!;
    return sum / this.#count;
  }

  /** A copy, from the least to the greatest. */
  values(): Float64Array {
    this.#sort();
    return this.#values.slice(0, this.#count);
  }

  summary(): Summary {
    if (this.#count === 0) return { count: 0 };
    return {
      count: this.#count,
      mean: round(this.mean),
      p50: round(this.quantile(0.5)),
      p95: round(this.quantile(0.95)),
      p99: round(this.quantile(0.99)),
      max: round(this.quantile(1)),
    };
  }

  #sort(): void {
    if (this.#sorted) return;
    this.#values.subarray(0, this.#count).sort();
    this.#sorted = true;
  }
}

/** Without a value there is only the count. */
export interface Summary {
  count: number;
  mean?: number;
  p50?: number;
  p95?: number;
  p99?: number;
  max?: number;
}

/** To hundredths: more is noise. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

export function round3(value: number): number {
  return Math.round(value * 1000) / 1000;
}

export function megabytes(bytes: number): number {
  return round(bytes / 2 ** 20);
}
