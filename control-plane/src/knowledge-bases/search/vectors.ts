import { bestOf } from './keyword-index.ts';
import type { Hit } from './keyword-index.ts';

/** Up to so many passages each one is compared; beyond, those whose signs differ least from the question's. */
const MAX_COMPARED = 20_000;
const CANDIDATES = 2000;
const BITS = 32;

/** The direction of a vector in a byte a dimension: lengths mean nothing here. */
export function quantise(vector: ArrayLike<number>): Int8Array {
  let largest = 0;
  for (let at = 0; at < vector.length; at++) largest = Math.max(largest, Math.abs(vector[at]!));
  const bytes = new Int8Array(vector.length);
  if (largest === 0) return bytes;
  for (let at = 0; at < vector.length; at++) bytes[at] = Math.round((vector[at]! / largest) * 127);
  return bytes;
}

export function vectorToText(vector: Int8Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.length).toString('base64');
}

export function vectorFromText(text: string): Int8Array {
  return Int8Array.from(Buffer.from(text, 'base64'));
}

/** Vectors one behind another; a passage without one, or with that of another model, has no direction. */
export function joinVectors(vectors: readonly Int8Array[]): { vectors: Int8Array; dimensions: number } {
  const dimensions = vectors.reduce((most, { length }) => Math.max(most, length), 0);
  const all = new Int8Array(vectors.length * dimensions);
  for (const [doc, vector] of vectors.entries())
    if (vector.length === dimensions) all.set(vector, doc * dimensions);
  return { vectors: all, dimensions };
}

/** Finds passages whose vectors point where a question's does. */
export class VectorIndex {
  readonly #vectors: Int8Array;
  readonly #dimensions: number;
  /** 1 / length of each vector; 0 for one without a direction. */
  readonly #scales: Float32Array;
  readonly #mean: Float64Array;
  /** Where each vector is above the mean, 32 dimensions a number; empty where each vector is compared. */
  readonly #signs: Uint32Array;
  readonly #scores: Float64Array;

  /** @param vectors one behind another */
  constructor(vectors: Int8Array, dimensions: number) {
    this.#vectors = vectors;
    this.#dimensions = dimensions;
    const count = dimensions === 0 ? 0 : vectors.length / dimensions;
    this.#scales = new Float32Array(count);
    this.#scores = new Float64Array(count);
    this.#mean = new Float64Array(dimensions);
    for (let doc = 0; doc < count; doc++) {
      let square = 0;
      for (let at = 0; at < dimensions; at++) {
        const value = vectors[doc * dimensions + at]!;
        square += value * value;
        this.#mean[at]! += value / count;
      }
      this.#scales[doc] = square === 0 ? 0 : 1 / Math.sqrt(square);
    }
    const words = Math.ceil(dimensions / BITS);
    this.#signs = new Uint32Array(count > MAX_COMPARED ? count * words : 0);
    if (count > MAX_COMPARED)
      for (let doc = 0; doc < count; doc++)
        this.#signs.set(
          this.#signsOf(vectors.subarray(doc * dimensions, (doc + 1) * dimensions)),
          doc * words,
        );
  }

  /** @returns the nearest passages first; the score is the cosine, and 0 for what points elsewhere */
  search(query: Int8Array, limit: number): Hit[] {
    const scale = this.#scaleOf(query);
    if (scale === 0) return [];
    const candidates = this.#candidates(query);
    for (const doc of candidates) this.#scores[doc] = this.#cosine(query, scale, doc);
    return bestOf(candidates, this.#scores, limit).map((doc) => ({
      doc,
      score: Math.min(1, Math.max(0, this.#scores[doc]!)),
    }));
  }

  /** @returns how near a passage is: the cosine, and 0 for what points elsewhere */
  nearness(query: Int8Array): (doc: number) => number {
    const scale = this.#scaleOf(query);
    return (doc) => (scale === 0 ? 0 : Math.min(1, Math.max(0, this.#cosine(query, scale, doc))));
  }

  /** 1 / length of a question's vector; 0 for one that has nothing to be compared with. */
  #scaleOf(query: Int8Array): number {
    if (query.length !== this.#dimensions) return 0;
    const square = query.reduce((sum, value) => sum + value * value, 0);
    return square === 0 ? 0 : 1 / Math.sqrt(square);
  }

  #cosine(query: Int8Array, scale: number, doc: number): number {
    const dimensions = this.#dimensions;
    const from = doc * dimensions;
    let sum = 0;
    for (let at = 0; at < dimensions; at++) sum += query[at]! * this.#vectors[from + at]!;
    return sum * scale * this.#scales[doc]!;
  }

  #candidates(query: Int8Array): ArrayLike<number> & Iterable<number> {
    const count = this.#scales.length;
    if (this.#signs.length === 0) return Uint32Array.from({ length: count }, (_, doc) => doc);
    const signs = this.#signsOf(query);
    const words = signs.length;
    const distances = new Uint16Array(count);
    const histogram = new Uint32Array(words * BITS + 1);
    for (let doc = 0; doc < count; doc++) {
      let distance = 0;
      for (let at = 0; at < words; at++) distance += bitsIn(signs[at]! ^ this.#signs[doc * words + at]!);
      distances[doc] = distance;
      histogram[distance]!++;
    }
    let furthest = 0;
    for (let sum = histogram[0]!; sum < CANDIDATES && furthest < histogram.length - 1;)
      sum += histogram[++furthest]!;
    const near: number[] = [];
    for (let doc = 0; doc < count; doc++) if (distances[doc]! <= furthest) near.push(doc);
    return near;
  }

  #signsOf(vector: Int8Array): Uint32Array {
    const signs = new Uint32Array(Math.ceil(vector.length / BITS));
    for (let at = 0; at < vector.length; at++)
      if (vector[at]! > this.#mean[at]!) signs[at >>> 5]! |= 1 << (at & 31);
    return signs;
  }
}

/** How many bits of a number of 32 are set. */
function bitsIn(value: number): number {
  let bits = value - ((value >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
