import { toWords } from '../turns/phrases.ts';

/**
 * Takes from the beginning of a text that comes in pieces what was said just before it: a model that knows nothing of
 * the "One moment." that filled its pause likes to begin with "One moment" itself.
 */
export class RepeatedStart {
  readonly #said: readonly string[];
  /** The beginning of the text, as long as it could be a repetition; undefined once that is decided. */
  #begun: string | undefined = '';

  /** @param said what was said just before; undefined: nothing, and the text passes unchanged */
  constructor(said: string | undefined) {
    this.#said = said === undefined ? [] : toWords(said);
    if (this.#said.length === 0) this.#begun = undefined;
  }

  /** @returns what can be said of the text so far */
  push(text: string): string {
    if (this.#begun === undefined) return text;
    this.#begun += text;
    const words = toWords(this.#begun);
    // The last word may go on in the next piece.
    const whole = /[\p{L}\p{M}\p{N}']$/u.test(this.#begun) ? words.length - 1 : words.length;
    const same = (word: string, at: number) =>
      at < whole ? word === this.#said[at] : this.#said[at]!.startsWith(word);
    const compared = words.slice(0, this.#said.length);
    if (!compared.every(same)) return this.flush();
    if (whole < this.#said.length) return '';
    const rest = this.#rest(this.#begun);
    // Punctuation that follows belongs to what is left out.
    if (rest === '') return '';
    this.#begun = undefined;
    return rest;
  }

  /** The text is over. @returns what is left to say of it */
  flush(): string {
    const begun = this.#begun ?? '';
    this.#begun = undefined;
    return toWords(begun).join(' ') === this.#said.join(' ') ? '' : begun;
  }

  /** @returns what follows the repeated words, as a sentence of its own */
  #rest(text: string): string {
    const pattern = /[\p{L}\p{M}\p{N}']+/gu;
    let at = 0;
    for (let words = 0; words < this.#said.length; words = toWords(text.slice(0, at)).length) {
      const match = pattern.exec(text);
      if (!match) return '';
      at = pattern.lastIndex;
    }
    const left = text.slice(at).replace(/^[^\p{L}\p{M}\p{N}'¿¡"«„“([]+/u, '');
    return left.charAt(0).toUpperCase() + left.slice(1);
  }
}
