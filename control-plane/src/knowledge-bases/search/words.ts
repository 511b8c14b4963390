import type { KnowledgeLanguage } from './languages.ts';

interface Dictionary {
  stem: (word: string) => string;
  stopWords: ReadonlySet<string>;
}

/** Names of the languages in the packages of stemmers and stop words; null: there is no stemmer. */
const PACKAGE_NAMES: Record<KnowledgeLanguage, string | null> = {
  ar: 'arabic',
  bg: 'bulgarian',
  da: 'danish',
  de: 'german',
  el: 'greek',
  en: 'english',
  es: 'spanish',
  fi: 'finnish',
  fr: 'french',
  hi: 'indian',
  hu: 'hungarian',
  hy: 'armenian',
  id: 'indonesian',
  it: 'italian',
  ja: null,
  lt: 'lithuanian',
  ne: 'nepali',
  nl: 'dutch',
  no: 'norwegian',
  pt: 'portuguese',
  ro: 'romanian',
  ru: 'russian',
  sl: 'slovenian',
  sr: 'serbian',
  sv: 'swedish',
  ta: 'tamil',
  th: null,
  tr: 'turkish',
  uk: 'ukrainian',
  zh: null,
};

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+)*/gu;
/** Scripts that put no spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const MAX_WORD_CHARACTERS = 64;
const MAX_KNOWN_STEMS = 50_000;

/**
 * Makes the terms that texts are indexed and found by, in the languages of a base: lower-case stems without the words
 * that every text has.
 */
export class Words {
  readonly #dictionaries: readonly Dictionary[];
  readonly #segmenters: readonly Intl.Segmenter[];
  readonly #known = new Map<string, readonly string[]>();

  private constructor(dictionaries: readonly Dictionary[], segmenters: readonly Intl.Segmenter[]) {
    this.#dictionaries = dictionaries;
    this.#segmenters = segmenters;
  }

  /** Loads the dictionaries of these languages. */
  static async of(languages: readonly string[]): Promise<Words> {
    const names = languages
      .filter((one): one is KnowledgeLanguage => Object.hasOwn(PACKAGE_NAMES, one))
      .map((one) => PACKAGE_NAMES[one])
      .filter((name) => name !== null);
    const dictionaries = await Promise.all(
      names.map(async (name): Promise<Dictionary> => {
        const [{ stemmer }, { stopwords }] = await Promise.all([
          import(`@orama/stemmers/${name}`) as Promise<{ stemmer: (word: string) => string }>,
          import(`@orama/stopwords/${name}`) as Promise<{ stopwords: string[] }>,
        ]);
        return { stem: stemmer, stopWords: new Set(stopwords.map(normalise)) };
      }),
    );
    const unspaced = languages.filter((one) => ['ja', 'th', 'zh'].includes(one));
    const locales = unspaced.length > 0 ? unspaced : ['zh'];
    return new Words(
      dictionaries,
      locales.map((locale) => new Intl.Segmenter(locale, { granularity: 'word' })),
    );
  }

  /** The terms of a text, in order; one that occurs again is there again. */
  terms(text: string): string[] {
    const terms: string[] = [];
    for (const [found] of text.normalize('NFKC').matchAll(WORD)) {
      if (UNSPACED.test(found)) {
        for (const segmenter of this.#segmenters)
          for (const { segment, isWordLike } of segmenter.segment(found))
            if (isWordLike === true) terms.push(segment);
        continue;
      }
      for (const part of partsOf(found)) terms.push(...this.#stems(part));
    }
    return terms;
  }

  /** Several where the languages of the base see different stems in a word. */
  #stems(part: string): readonly string[] {
    const word = normalise(part).slice(0, MAX_WORD_CHARACTERS);
    const known = this.#known.get(word);
    if (known) return known;
    const stems = [
      ...new Set(
        this.#dictionaries
          .filter(({ stopWords }) => !stopWords.has(word))
          .map(({ stem }) => stem(word))
          .filter((stem) => stem !== ''),
      ),
    ];
    const found = this.#dictionaries.length === 0 ? [word] : stems;
    // Cleared as a whole: texts go on with other words anyway.
    if (this.#known.size >= MAX_KNOWN_STEMS) this.#known.clear();
    this.#known.set(word, found);
    return found;
  }
}

/** A name such as `maxRedirects` is found by itself and by each of its words. */
function partsOf(word: string): string[] {
  if (!/\p{Ll}\p{Lu}/u.test(word)) return [word];
  return [word, ...word.split(/(?<=\p{Ll})(?=\p{Lu})/u)];
}

function normalise(word: string): string {
  return word.toLowerCase().replaceAll('’', "'").replace(/'s$/, '');
}
