/** Words of one language that matter in what a caller gives as a value. */
export interface ValueWords {
  /** Behind these the caller corrects what they have just said. */
  corrections: readonly string[];
  /** What is said for the decimal sign, and before a negative number. */
  point: readonly string[];
  minus: readonly string[];
  /** Who says one of these names what they do not mean. */
  negations: readonly string[];
  /** Days of the month that are not said as numbers: from the first on, forms of one day separated by `|`. */
  ordinals?: readonly string[];
  /** What a number word ends with that is a day of the month. */
  ordinalEnd?: RegExp;
}

// prettier-ignore
const WORDS: Readonly<Record<string, ValueWords>> = {
  en: {
    corrections: ['no', 'sorry', 'i mean', 'i meant', 'correction', 'wait', 'rather', 'actually', 'scratch that', 'make that'],
    point: ['point', 'dot'], minus: ['minus', 'negative'], negations: ['not', 'no', 'neither', 'nor', 'except', "don't"],
    ordinals: ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth', 'eleventh', 'twelfth', 'thirteenth', 'fourteenth', 'fifteenth', 'sixteenth', 'seventeenth', 'eighteenth', 'nineteenth', 'twentieth', 'twenty first', 'twenty second', 'twenty third', 'twenty fourth', 'twenty fifth', 'twenty sixth', 'twenty seventh', 'twenty eighth', 'twenty ninth', 'thirtieth', 'thirty first'],
  },
  de: {
    corrections: ['nein', 'entschuldigung', 'ich meine', 'ich meinte', 'falsch', 'besser gesagt', 'vielmehr', 'korrektur', 'moment', 'quatsch'],
    point: ['komma'], minus: ['minus'], negations: ['nicht', 'kein', 'keine', 'außer', 'weder'],
    ordinals: ['erste|ersten|erster', '', 'dritte|dritten|dritter', '', '', '', 'siebte|siebten|siebter', 'achte|achten|achter'],
    ordinalEnd: /(sten|ster|ste|ten|ter|te)$/,
  },
  fr: {
    corrections: ['non', 'pardon', 'je veux dire', 'plutôt', 'correction', 'excusez moi', 'attendez'],
    point: ['virgule', 'point'], minus: ['moins'], negations: ['pas', 'non', 'sauf', 'ni'], ordinals: ['premier|1er'],
  },
  es: {
    corrections: ['no', 'perdón', 'perdone', 'digo', 'quiero decir', 'mejor dicho', 'corrección', 'espere'],
    point: ['coma', 'punto'], minus: ['menos'], negations: ['no', 'menos', 'ni', 'excepto'], ordinals: ['primero|1º'],
  },
  it: {
    corrections: ['no', 'scusi', 'scusa', 'volevo dire', 'anzi', 'correzione', 'aspetti'],
    point: ['virgola', 'punto'], minus: ['meno'], negations: ['non', 'no', 'tranne', 'né'], ordinals: ['primo|1º'],
  },
  pt: {
    corrections: ['não', 'desculpe', 'desculpa', 'quero dizer', 'aliás', 'digo', 'correção', 'espere'],
    point: ['vírgula', 'ponto'], minus: ['menos'], negations: ['não', 'exceto', 'nem'], ordinals: ['primeiro|1º'],
  },
  nl: {
    corrections: ['nee', 'sorry', 'ik bedoel', 'pardon', 'correctie', 'wacht', 'eigenlijk'],
    point: ['komma', 'punt'], minus: ['min'], negations: ['niet', 'geen', 'behalve', 'noch'],
    ordinals: ['eerste', '', 'derde', '', '', '', '', 'achtste'], ordinalEnd: /(ste|de)$/,
  },
  pl: {
    corrections: ['nie', 'przepraszam', 'to znaczy', 'raczej', 'poprawka', 'chwila'],
    point: ['przecinek'], minus: ['minus'], negations: ['nie', 'oprócz', 'ani'],
    ordinals: ['pierwszy|pierwszego', 'drugi|drugiego', 'trzeci|trzeciego', 'czwarty|czwartego', 'piąty|piątego', 'szósty|szóstego', 'siódmy|siódmego', 'ósmy|ósmego', 'dziewiąty|dziewiątego', 'dziesiąty|dziesiątego', 'jedenasty|jedenastego', 'dwunasty|dwunastego', 'trzynasty|trzynastego', 'czternasty|czternastego', 'piętnasty|piętnastego', 'szesnasty|szesnastego', 'siedemnasty|siedemnastego', 'osiemnasty|osiemnastego', 'dziewiętnasty|dziewiętnastego', 'dwudziesty|dwudziestego', 'dwudziestego pierwszego', 'dwudziestego drugiego', 'dwudziestego trzeciego', 'dwudziestego czwartego', 'dwudziestego piątego', 'dwudziestego szóstego', 'dwudziestego siódmego', 'dwudziestego ósmego', 'dwudziestego dziewiątego', 'trzydziestego', 'trzydziestego pierwszego'],
  },
  tr: {
    corrections: ['hayır', 'pardon', 'yani', 'özür dilerim', 'düzeltiyorum'],
    point: ['virgül', 'nokta'], minus: ['eksi'], negations: ['değil', 'hayır', 'hariç'],
  },
  hi: {
    corrections: ['नहीं', 'माफ़ कीजिए', 'सॉरी', 'मतलब'],
    point: ['दशमलव', 'पॉइंट'], minus: ['माइनस', 'ऋण'], negations: ['नहीं', 'मत'],
  },
  ja: {
    corrections: ['いいえ', 'いや', 'すみません', 'じゃなくて', 'ではなくて', '訂正'],
    point: ['点', 'てん'], minus: ['マイナス'], negations: ['ではなく', 'じゃなく', 'ない'],
  },
  zh: {
    corrections: ['不是', '不对', '抱歉', '对不起', '应该是', '我是说'],
    point: ['点'], minus: ['负'], negations: ['不', '没', '别'],
  },
};

/** The words of a BCP 47 tag's language; those of English where there are none. */
export function valueWords(language: string): ValueWords {
  return WORDS[language.split('-', 1)[0]!.toLowerCase()] ?? WORDS['en']!;
}

/** Languages that have words of their own. */
export const VALUE_LANGUAGES = Object.keys(WORDS);

/** Whether a text holds one of some words. @param unspaced words are not separated by spaces */
export function holdsOneOf(text: string, words: readonly string[], unspaced: boolean): boolean {
  return pattern(words, unspaced).test(text.toLowerCase());
}

/** The parts of a text between words. */
export function cutAt(text: string, words: readonly string[], unspaced: boolean): string[] {
  return text
    .toLowerCase()
    .split(pattern(words, unspaced))
    .filter((part) => part.trim() !== '');
}

function pattern(words: readonly string[], unspaced: boolean): RegExp {
  const any = words.toSorted((a, b) => b.length - a.length).join('|');
  return new RegExp(unspaced ? `(?:${any})` : `(?<![\\p{L}\\p{M}'])(?:${any})(?![\\p{L}\\p{M}'])`, 'u');
}
