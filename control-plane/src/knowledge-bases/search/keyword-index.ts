import type { Words } from './words.ts';

/** How soon a word that occurs often in a passage counts no more. */
const K1 = 1.2;
/** How much long passages are held back. */
const B = 0.75;
const TF_BITS = 6;
const MAX_TF = (1 << TF_BITS) - 1;

/** A passage as it is indexed. */
export interface IndexedText {
  text: string;
  /** What it stands under: its words count as those of the text. */
  heading: string;
}

/** A passage that was found: its number in the index, and how well it fits. */
export interface Hit {
  doc: number;
  /** From 0 to 1. */
  score: number;
}

/** The arrays of an index, as they are stored. */
export interface KeywordArrays {
  /** Sorted as they were met. */
  terms: readonly string[];
  /** Where the postings of a term begin; one more than there are terms. */
  starts: Uint32Array;
  /** `passage << 6 | occurrences` */
  postings: Uint32Array;
  /** Terms in each passage. */
  lengths: Uint32Array;
}

/** Collects passages for a keyword index. */
export class KeywordIndexBuilder {
  readonly #words: Words;
  readonly #numbers = new Map<string, number>();
  readonly #lists: number[][] = [];
  readonly #lengths: number[] = [];

  constructor(words: Words) {
    this.#words = words;
  }

  /** Adds the passage with the next number. */
  add({ text, heading }: IndexedText): void {
    const doc = this.#lengths.length;
    const terms = this.#words.terms(`${heading}\n${text}`);
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, count] of counts) {
      let number = this.#numbers.get(term);
      if (number === undefined) {
        number = this.#lists.push([]) - 1;
        this.#numbers.set(term, number);
      }
      this.#lists[number]!.push(doc * (MAX_TF + 1) + Math.min(count, MAX_TF));
    }
    this.#lengths.push(terms.length);
  }

  finish(): KeywordArrays {
    const starts = new Uint32Array(this.#lists.length + 1);
    for (const [at, list] of this.#lists.entries()) starts[at + 1] = starts[at]! + list.length;
    const postings = new Uint32Array(starts.at(-1)!);
    for (const [at, list] of this.#lists.entries()) postings.set(list, starts[at]);
    return { terms: [...this.#numbers.keys()], starts, postings, lengths: Uint32Array.from(this.#lengths) };
  }
}

/** Finds passages by the words they share with a question: BM25 (Robertson and Zaragoza, 2009). */
export class KeywordIndex {
  readonly #words: Words;
  readonly #arrays: KeywordArrays;
  readonly #numbers: ReadonlyMap<string, number>;
  /** What the length of each passage adds to the number of occurrences. */
  readonly #dampers: Float32Array;
  /** Of the search under way. */
  readonly #scores: Float64Array;

  constructor(words: Words, arrays: KeywordArrays) {
    this.#words = words;
    this.#arrays = arrays;
    this.#numbers = new Map(arrays.terms.map((term, number) => [term, number]));
    const { lengths } = arrays;
    const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
    this.#dampers = Float32Array.from(
      lengths,
      (length) => K1 * (1 - B + (B * length) / Math.max(1, average)),
    );
    this.#scores = new Float64Array(lengths.length);
  }

  /**
   * @returns the best passages first. A score of 1 means that each word of the question occurs as is usual for a
   * passage of that length; rare words weigh more
   */
  search(query: string, limit: number): Hit[] {
    const { postings, starts, lengths } = this.#arrays;
    const terms = [...new Set(this.#words.terms(query))];
    const known = terms.map((term) => this.#numbers.get(term)).filter((number) => number !== undefined);
    if (known.length === 0) return [];
    const scores = this.#scores;
    const touched: number[] = [];
    let whole = 0;
    for (const number of known) {
      const [from, to] = [starts[number]!, starts[number + 1]!];
      const weight = Math.log(1 + (lengths.length - (to - from) + 0.5) / (to - from + 0.5));
      whole += weight;
      for (let at = from; at < to; at++) {
        const posting = postings[at]!;
        const doc = posting >>> TF_BITS;
        const tf = posting & MAX_TF;
        if (scores[doc] === 0) touched.push(doc);
        scores[doc]! += (weight * tf * (K1 + 1)) / (tf + this.#dampers[doc]!);
      }
    }
    // A word that no passage has is one that each of them misses.
    whole += (whole / known.length) * (terms.length - known.length);
    const best = bestOf(touched, scores, limit);
    const hits = best.map((doc) => ({ doc, score: Math.min(1, scores[doc]! / whole) }));
    for (const doc of touched) scores[doc] = 0;
    return hits;
  }
}

/** The numbers of the highest scores, highest first; of equals the lowest number first. */
export function bestOf(
  candidates: Iterable<number>,
  scores: { readonly [doc: number]: number },
  limit: number,
): number[] {
  const best: number[] = [];
  const better = (a: number, b: number) => scores[a]! > scores[b]! || (scores[a] === scores[b] && a < b);
  for (const doc of candidates) {
    if (best.length === limit && !better(doc, best[limit - 1]!)) continue;
    let at = best.length;
    while (at > 0 && better(doc, best[at - 1]!)) at--;
    best.splice(at, 0, doc);
    if (best.length > limit) best.pop();
  }
  return best;
}
