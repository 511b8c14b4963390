import { BACKCHANNELS, HESITATIONS, STOPS } from './phrase-tables.ts';

/**
 * Words and phrases as turn-taking sees them: lower case, no punctuation, split at spaces and hyphens. In scripts that
 * are written without spaces each character is a word.
 */
export function toWords(text: string): string[] {
  return text
    .toLowerCase()
    .replaceAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, ' $& ')
    .replaceAll(/[^\p{L}\p{N}\p{M}']+/gu, ' ')
    .trim()
    .split(' ')
    .filter((word) => word !== '');
}

/** A set of phrases to compare speech with. */
export class PhraseList {
  readonly #phrases: string[][];

  constructor(phrases: readonly string[]) {
    this.#phrases = phrases.map(toWords).filter((words) => words.length > 0);
  }

  /**
   * Whether the words are nothing but phrases of the list, one after the other.
   * @param growing the last phrase may be incomplete: more words may come
   */
  covers(words: readonly string[], growing: boolean): boolean {
    return this.#coversFrom(words, 0, growing);
  }

  /** The phrase that the words begin with, if any. */
  startOf(words: readonly string[]): string | undefined {
    const found = this.#phrases.find(
      (phrase) => phrase.length <= words.length && phrase.every((word, i) => word === words[i]),
    );
    return found?.join(' ');
  }

  #coversFrom(words: readonly string[], from: number, growing: boolean): boolean {
    const left = words.length - from;
    if (left === 0) return true;
    return this.#phrases.some((phrase) => {
      const shared = Math.min(left, phrase.length);
      for (let i = 0; i < shared; i++) if (words[from + i] !== phrase[i]) return false;
      if (shared < phrase.length) return growing;
      return this.#coversFrom(words, from + shared, growing);
    });
  }
}

const base = (language: string) => language.split('-', 1)[0]!.toLowerCase();

/** @param own the agent's list; null = the built-in one of the language (English where there is none) */
export function backchannelPhrases(language: string, own: readonly string[] | null): PhraseList {
  return new PhraseList(own ?? BACKCHANNELS[base(language)] ?? BACKCHANNELS['en']!);
}

/** The sounds of a language that are no answer. */
export function hesitations(language: string): PhraseList {
  return new PhraseList(HESITATIONS[base(language)] ?? HESITATIONS['en']!);
}

/** As `backchannelPhrases`, for phrases that cut the agent off at once. */
export function stopPhrases(language: string, own: readonly string[] | null): PhraseList {
  return new PhraseList(own ?? STOPS[base(language)] ?? STOPS['en']!);
}
