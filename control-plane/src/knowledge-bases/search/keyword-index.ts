import type { Words } from './words.ts';

/** How soon a word that occurs often in a passage counts no more. */
const K1 = 1.2;
/** How much long passages are held back. */
const B = 0.75;
const TF_BITS = 6;
const MAX_TF = (1 << TF_BITS) - 1;

/** How often words of a heading count: they say what the text is about. */
const HEADING_COUNTS = 2;
/** What the document that a passage is of counts, the passage itself being 1. */
const DOCUMENT_WEIGHT = 0.25;
/** What a document's first passage counts, others being 1: it says what the document is about. */
const BEGINNING_WEIGHT = 1.2;

/** A passage as it is indexed. */
export interface IndexedText {
  text: string;
  /** What it stands under: its words count as those of the text, and more. */
  heading: string;
  /** Id of the document that it is of. */
  document: string;
}

/** A passage that was found: its number in the index, and how well it fits. */
export interface Hit {
  doc: number;
  /** From 0 to 1: how well the passage itself fits. */
  score: number;
}

export interface RankedHit extends Hit {
  /** What it is ordered by, among hits of the same kind of search. */
  rank: number;
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
  /** Number of the document that each passage is of. */
  documents: Uint32Array;
}

/** Collects passages for a keyword index. */
export class KeywordIndexBuilder {
  readonly #words: Words;
  readonly #numbers = new Map<string, number>();
  readonly #lists: number[][] = [];
  readonly #lengths: number[] = [];
  readonly #documentNumbers = new Map<string, number>();
  readonly #documents: number[] = [];

  constructor(words: Words) {
    this.#words = words;
  }

  /** Adds the passage with the next number. */
  add({ text, heading, document }: IndexedText): void {
    const doc = this.#lengths.length;
    const terms = this.#words.terms(`${`${heading}\n`.repeat(HEADING_COUNTS)}${text}`);
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
    const number = this.#documentNumbers.get(document) ?? this.#documentNumbers.size;
    this.#documentNumbers.set(document, number);
    this.#documents.push(number);
  }

  finish(): KeywordArrays {
    const starts = new Uint32Array(this.#lists.length + 1);
    for (const [at, list] of this.#lists.entries()) starts[at + 1] = starts[at]! + list.length;
    const postings = new Uint32Array(starts.at(-1)!);
    for (const [at, list] of this.#lists.entries()) postings.set(list, starts[at]);
    return {
      terms: [...this.#numbers.keys()],
      starts,
      postings,
      lengths: Uint32Array.from(this.#lengths),
      documents: Uint32Array.from(this.#documents),
    };
  }
}

/**
 * Finds passages by the words they share with a question: BM25 (Robertson and Zaragoza, 2009) of the passage, and of
 * the document that it is of, which counts less: what a document is about need not be said again in each passage.
 */
export class KeywordIndex {
  readonly #words: Words;
  readonly #arrays: KeywordArrays;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #passages: Scorer;
  readonly #documents: Scorer;
  /** Of the search under way. */
  readonly #ranks: Float64Array;

  constructor(words: Words, arrays: KeywordArrays) {
    this.#words = words;
    this.#arrays = arrays;
    this.#numbers = new Map(arrays.terms.map((term, number) => [term, number]));
    const { lengths, documents } = arrays;
    const documentLengths = new Uint32Array(documents.reduce((most, one) => Math.max(most, one + 1), 0));
    for (const [passage, document] of documents.entries()) documentLengths[document]! += lengths[passage]!;
    this.#passages = new Scorer(lengths);
    this.#documents = new Scorer(documentLengths);
    this.#ranks = new Float64Array(lengths.length);
  }

  /** Number of the document that a passage is of. */
  documentOf(passage: number): number {
    return this.#arrays.documents[passage]!;
  }

  /**
   * @returns the best passages first. A score of 1 means that each word of the question occurs as is usual for a
   * passage of that length; rare words weigh more
   */
  search(query: string, limit: number): RankedHit[] {
    const { postings, starts, documents } = this.#arrays;
    const terms = [...new Set(this.#words.terms(query))];
    const known = terms.map((term) => this.#numbers.get(term)).filter((number) => number !== undefined);
    if (known.length === 0) return [];
    const [passages, wholes] = [this.#passages, this.#documents];
    for (const number of known) {
      for (let at = starts[number]!; at < starts[number + 1]!; at++) {
        const passage = postings[at]! >>> TF_BITS;
        const tf = postings[at]! & MAX_TF;
        passages.occurs(passage, tf);
        wholes.occurs(documents[passage]!, tf);
      }
      passages.termEnds();
      wholes.termEnds();
    }
    // A word that no passage has is one that each of them misses.
    const asked = terms.length / known.length;
    const ranks = this.#ranks;
    for (const passage of passages.touched)
      ranks[passage] =
        (passages.scoreOf(passage, asked) + DOCUMENT_WEIGHT * wholes.scoreOf(documents[passage]!, asked)) *
        (documents[passage] === documents[passage - 1] ? 1 : BEGINNING_WEIGHT);
    const hits = bestOf(passages.touched, ranks, limit).map((doc) => ({
      doc,
      score: Math.min(1, passages.scoreOf(doc, asked)),
      rank: ranks[doc]!,
    }));
    passages.clear();
    wholes.clear();
    return hits;
  }
}
/** BM25 of texts for one question at a time, a term of it after the other. */
class Scorer {
  /** What the length of each text adds to the number of occurrences. */
  readonly #dampers: Float32Array;
  /** Of the term under way: how often it occurs in each text, and in which texts it does. */
  readonly #counts: Uint32Array;
  readonly #having: number[] = [];
  readonly #sums: Float64Array;
  /** Texts that have a term of the question. */
  readonly touched: number[] = [];
  #best = 0;

  constructor(lengths: Uint32Array) {
    const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
    this.#dampers = Float32Array.from(
      lengths,
      (length) => K1 * (1 - B + (B * length) / Math.max(1, average)),
    );
    this.#counts = new Uint32Array(lengths.length);
    this.#sums = new Float64Array(lengths.length);
  }

  /** Notes that the term under way occurs in a text. */
  occurs(text: number, times: number): void {
    if (this.#counts[text] === 0) this.#having.push(text);
    this.#counts[text]! += times;
  }

  /** The next occurrences are of another term. */
  termEnds(): void {
    const having = this.#having.length;
    const weight = Math.log(1 + (this.#sums.length - having + 0.5) / (having + 0.5));
    this.#best += weight;
    for (const text of this.#having) {
      const count = this.#counts[text]!;
      if (this.#sums[text] === 0) this.touched.push(text);
      this.#sums[text]! += (weight * count * (K1 + 1)) / (count + this.#dampers[text]!);
      this.#counts[text] = 0;
    }
    this.#having.length = 0;
  }

  /**
   * @param asked how many terms the question has for each one that occurs at all
   * @returns 1 where each occurs as is usual for a text of that length; more where they occur more often
   */
  scoreOf(text: number, asked: number): number {
    return this.#sums[text]! / (this.#best * asked);
  }

  clear(): void {
    for (const text of this.touched) this.#sums[text] = 0;
    this.touched.length = 0;
    this.#best = 0;
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
