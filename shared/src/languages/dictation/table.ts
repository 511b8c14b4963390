/** Words of one language that occur in what people dictate: each a list separated by spaces, in lower case. */
export interface DictationWords {
  /** Number words by value. Those below ten are digits. */
  numbers: ReadonlyMap<string, number>;
  /** Words that multiply, by value: "hundred". */
  scales: ReadonlyMap<string, number>;
  /** A number word may be written together with scales: "zweihundertfünf". */
  compounds?: boolean;
  /** 80 is four twenties, 70 is sixty and ten: numbers to 19 add to 60 and 80, and 7 to 9 to 10. */
  vigesimal?: boolean;
  /** Words inside a number, between its parts: "and". */
  joins?: string;
  /** The digit that follows counts twice, three times. */
  double?: string;
  triple?: string;
  /** The plus of an international telephone number. */
  plus?: string;
  /** Words after a number that end it for good: "p.m.", "percent". */
  ends: string;
  /** Words after a number, which a smaller amount may follow: "dollars", "Uhr". */
  units: string;
  /** Parts of the hour that may end a time. */
  fractions: string;
  /** Parts of the hour that an hour must follow: "halb". */
  halves?: string;
  /** Words between a part of the hour, or minutes, and the hour: "past". */
  clock?: string;
  /** Words that stand before a time of day. */
  before?: string;
  /** How "@" and "." are spoken. */
  at: string;
  dot: string;
  /** Other spoken characters of addresses, and all that mean nothing else at the end of a sentence. */
  signs: string;
  /** Single letters that are words by themselves. */
  letterWords?: string;
  /** Words between a letter and the word that explains it: "b as in Bravo". */
  as?: string;
  /** What a short number or letter belongs to: a room, a gate. */
  rooms: string;
  /** Phrases that announce a telephone number, the number of a card, an e-mail address; separated by commas. */
  phones: string;
  cards: string;
  mails: string;
  /** Words that no sentence ends with. */
  unfinished: string;
  /** Words are not separated by spaces. */
  unspaced?: boolean;
}

export type TokenKind =
  | 'number'
  | 'scale'
  | 'join'
  | 'repeat'
  | 'plus'
  | 'end'
  | 'unit'
  | 'fraction'
  | 'half'
  | 'clock'
  | 'at'
  | 'dot'
  | 'sign'
  | 'letter'
  | 'amount'
  | 'word';

export interface Token {
  kind: TokenKind;
  text: string;
  /** Value of a number, factor of a scale or a repetition. */
  value: number;
  /** Written in figures. */
  figures: boolean;
}

/** A table as it is used: each word with what it is. */
export interface DictationTable {
  words: ReadonlyMap<string, Token>;
  compounds: boolean;
  vigesimal: boolean;
  unspaced: boolean;
  letterWords: ReadonlySet<string>;
  before: ReadonlySet<string>;
  as: ReadonlySet<string>;
  signs: ReadonlySet<string>;
  rooms: ReadonlySet<string>;
  unfinished: ReadonlySet<string>;
  phones: readonly string[];
  cards: readonly string[];
  mails: readonly string[];
  /** Cuts a text into tokens. */
  pattern: RegExp;
}

/** @returns the words of a list, in the form in which they are compared */
function list(words: string | undefined): string[] {
  return (words ?? '')
    .normalize('NFC')
    .split(' ')
    .filter((word) => word !== '');
}

const phrases = (text: string) =>
  text
    .normalize('NFC')
    .split(',')
    .map((phrase) => phrase.trim());

/** @param text words for the values from `first` on; words for the same value are separated by `|` */
export function numbersFrom(first: number, text: string, step = 1): [string, number][] {
  return list(text).flatMap((word, index) =>
    word.split('|').map((form): [string, number] => [form, first + index * step]),
  );
}

/** Makes the numbers 21 to 99 that are one word of units and tens. */
export function compoundNumbers(
  units: readonly (readonly [string, number])[],
  tens: readonly (readonly [string, number])[],
  write: (unit: string, ten: string) => string,
): [string, number][] {
  return tens.flatMap(([ten, tenValue]) =>
    units
      .filter(([, value]) => value > 0 && value < 10)
      .map(([unit, value]): [string, number] => [write(unit, ten).normalize('NFC'), tenValue + value]),
  );
}

const FIGURES = String.raw`\d+(?:[.,:]\d+)*`;

/** Prepares the words of a language for look-ups. */
export function dictationTable(source: DictationWords): DictationTable {
  const words = new Map<string, Token>();
  const add = (kind: TokenKind, forms: Iterable<readonly [string, number]>) => {
    for (const [form, value] of forms)
      if (!words.has(form)) words.set(form, { kind, text: form, value, figures: false });
  };
  const plain = (text: string | undefined) => list(text).map((word): [string, number] => [word, 0]);
  add('number', source.numbers);
  add('scale', source.scales);
  add('join', plain(source.joins));
  add(
    'repeat',
    list(source.double).map((word): [string, number] => [word, 2]),
  );
  add(
    'repeat',
    list(source.triple).map((word): [string, number] => [word, 3]),
  );
  add('plus', plain(`+ ${source.plus ?? ''}`));
  add('end', plain(`am pm % ${source.ends}`));
  add('unit', plain(`$ € £ ¥ ₹ ${source.units}`));
  add('fraction', plain(source.fractions));
  add('half', plain(source.halves));
  add('clock', plain(source.clock));
  add('at', plain(`@ ${source.at}`));
  add('dot', plain(source.dot));
  add('sign', plain(source.signs));
  const unspaced = source.unspaced ?? false;
  const known = [...words.keys()].filter((word) => /^\p{L}/u.test(word));
  const vocabulary = [...known, ...list(source.rooms)].sort((a, b) => b.length - a.length).join('|');
  return {
    words,
    compounds: source.compounds ?? false,
    vigesimal: source.vigesimal ?? false,
    unspaced,
    letterWords: new Set(list(source.letterWords)),
    before: new Set(list(source.before)),
    as: new Set(list(source.as)),
    signs: new Set(list(source.signs)),
    rooms: new Set(list(source.rooms)),
    unfinished: new Set(list(source.unfinished)),
    phones: phrases(source.phones),
    cards: phrases(source.cards),
    mails: phrases(source.mails),
    pattern: unspaced
      ? new RegExp(`${FIGURES}|${vocabulary}|[a-z]+|[@+$€£¥₹%]|\\p{L}`, 'gu')
      : new RegExp(`${FIGURES}|[\\p{L}\\p{M}'’]+|[@+$€£¥₹%]`, 'gu'),
  };
}
