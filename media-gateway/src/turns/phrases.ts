/**
 * Words and phrases as turn-taking sees them: lower case, no punctuation, split at spaces and hyphens.
 */
export function toWords(text: string): string[] {
  return text
    .toLowerCase()
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

/** What listeners say to show that they listen. An answer such as "yes" is not among them. */
const BACKCHANNELS: Record<string, string[]> = {
  en: [
    'uh-huh',
    'uh huh',
    'mhm',
    'mm-hmm',
    'mm hmm',
    'mmhmm',
    'mm',
    'hmm',
    'hm',
    'huh',
    'ah',
    'oh',
    'yeah',
    'yep',
    'okay',
    'ok',
    'right',
    'i see',
    'got it',
    'alright',
    'all right',
    'sure',
    'uh',
    'um',
  ],
  es: ['mhm', 'ajá', 'aja', 'ya', 'claro', 'vale', 'eh', 'ah'],
  fr: ['mhm', 'hum', 'euh', 'ah', 'd accord', "d'accord", 'ok', 'ouais'],
  de: ['mhm', 'hm', 'aha', 'äh', 'ähm', 'ach so', 'okay', 'ok', 'genau'],
  pt: ['mhm', 'aham', 'tá', 'ok', 'certo', 'ah'],
  it: ['mhm', 'ah', 'eh', 'ok', 'certo', 'va bene'],
  hi: ['हाँ', 'हां', 'हम्म', 'अच्छा', 'जी', 'haan', 'hmm', 'accha', 'ji'],
};

/** What means "stop talking", however short it is. */
const STOPS: Record<string, string[]> = {
  en: [
    'stop',
    'wait',
    'hold on',
    'hang on',
    'excuse me',
    'no',
    'one moment',
    'one second',
    'sorry',
    'listen',
    'actually',
    'be quiet',
  ],
  es: ['para', 'espera', 'espere', 'un momento', 'no', 'perdón'],
  fr: ['stop', 'attendez', 'attends', 'un instant', 'non', 'pardon'],
  de: ['stopp', 'halt', 'warte', 'warten sie', 'moment', 'nein', 'entschuldigung'],
  pt: ['para', 'espera', 'espere', 'um momento', 'não', 'desculpa'],
  it: ['ferma', 'aspetta', 'aspetti', 'un momento', 'no', 'scusi'],
  hi: ['रुको', 'रुकिए', 'नहीं', 'ruko', 'rukiye', 'nahi'],
};

const base = (language: string) => language.slice(0, 2).toLowerCase();

/** @param own the agent's list; null = the built-in one of the language (English where there is none) */
export function backchannelPhrases(language: string, own: readonly string[] | null): PhraseList {
  return new PhraseList(own ?? BACKCHANNELS[base(language)] ?? BACKCHANNELS['en']!);
}

/** As `backchannelPhrases`, for phrases that cut the agent off at once. */
export function stopPhrases(language: string, own: readonly string[] | null): PhraseList {
  return new PhraseList(own ?? STOPS[base(language)] ?? STOPS['en']!);
}
