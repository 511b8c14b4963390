import type { FlitePhones } from './flite-phones.ts';
import type { PronouncedSentence } from './sentence-graph.ts';

/** Finds how sentences are pronounced, word by word. */
export class Pronunciation {
  readonly #flite: FlitePhones;
  readonly #known: ReadonlySet<string>;
  readonly #words = new Map<string, string[]>();

  /** @param known the phones that the acoustic model has */
  constructor(flite: FlitePhones, known: Iterable<string>) {
    this.#flite = flite;
    this.#known = new Set(known);
  }

  /** Looks up the words of many texts at once, which is quicker than each when it is needed. */
  prepare(texts: readonly string[]): void {
    const words = new Set(texts.flatMap((text) => text.split(/\s+/).filter(Boolean)));
    const missing = [...words].filter((word) => !this.#words.has(word));
    if (missing.length === 0) return;
    for (const [index, phones] of this.#flite.pronounceWords(missing).entries()) {
      this.#words.set(missing[index]!, this.#filter(phones));
    }
  }

  /** @returns undefined for a text that has nothing to say */
  pronounce(text: string): PronouncedSentence | undefined {
    const words: string[] = [];
    const alone: string[][] = [];
    for (const token of text.split(/\s+/).filter(Boolean)) {
      const phones = this.#word(token);
      // A dash or the like belongs to the word before it.
      if (phones.length === 0 && words.length > 0) words[words.length - 1] += ` ${token}`;
      else if (phones.length > 0) {
        words.push(token);
        alone.push(phones);
      }
    }
    if (words.length === 0) return undefined;
    const together = this.#filter(this.#flite.pronounce(text));
    return { words, phones: divide(together, alone) ?? alone };
  }

  #word(token: string): string[] {
    let phones = this.#words.get(token);
    if (!phones) {
      phones = this.#filter(this.#flite.pronounce(token));
      this.#words.set(token, phones);
    }
    return phones;
  }

  #filter(phones: readonly string[]): string[] {
    return phones.filter((phone) => this.#known.has(phone));
  }
}

/**
 * Divides the phones of a sentence among its words. In a sentence many sound other than alone ("a", "the", "to"), so
 * both are aligned by least edits.
 * @returns undefined when a word would get none
 */
export function divide(
  together: readonly string[],
  alone: readonly (readonly string[])[],
): string[][] | undefined {
  const flat = alone.flat();
  const owner = alone.flatMap((phones, word) => phones.map(() => word));
  const width = flat.length + 1;
  const costs = new Float64Array((together.length + 1) * width);
  for (let row = 0; row <= together.length; row++) {
    for (let column = 0; column <= flat.length; column++) {
      let cost = row === 0 && column === 0 ? 0 : Infinity;
      if (row > 0) cost = Math.min(cost, costs[(row - 1) * width + column]! + 1);
      if (column > 0) cost = Math.min(cost, costs[row * width + column - 1]! + 1);
      if (row > 0 && column > 0) {
        const same = together[row - 1] === flat[column - 1] ? 0 : 1;
        cost = Math.min(cost, costs[(row - 1) * width + column - 1]! + same);
      }
      costs[row * width + column] = cost;
    }
  }
  const divided: string[][] = alone.map(() => []);
  let column = flat.length;
  for (let row = together.length; row > 0;) {
    const cost = costs[row * width + column]!;
    const same = column > 0 && together[row - 1] === flat[column - 1] ? 0 : 1;
    if (column > 0 && cost === costs[(row - 1) * width + column - 1]! + same) {
      row -= 1;
      column -= 1;
      divided[owner[column]!]!.unshift(together[row]!);
    } else if (cost === costs[(row - 1) * width + column]! + 1) {
      row -= 1;
      divided[owner[Math.max(0, column - 1)] ?? 0]!.unshift(together[row]!);
    } else {
      column -= 1;
    }
  }
  return divided.every((phones) => phones.length > 0) ? divided : undefined;
}
