import { cardNumber, countryOfLanguage, telephoneNumber } from './dialled-number.ts';
import type { DictationTable, Token, TokenKind } from '@parley/shared/languages/dictation/table';
import { tableOf } from '@parley/shared/languages/dictation/tables';
import { toItems, tokenize, type Item } from '@parley/shared/languages/dictation/tokens';

/**
 * How a text ends, as far as something dictated is concerned.
 * - `none`: nothing is being dictated
 * - `complete`: something dictated that is whole and cannot grow
 * - `may_grow`: something dictated that is whole and could still go on
 * - `incomplete`: something dictated of which more has to come
 */
export type DictationState = 'none' | 'complete' | 'may_grow' | 'incomplete';

export interface DictationContext {
  /** BCP 47 tag of what is spoken. */
  language: string;
  /** Where the speaker is, ISO 3166-1; undefined: the country that the language suggests. */
  country?: string | undefined;
}

/** What is spelled and counted. Everything else ends it, on the left. */
const NUMERIC: ReadonlySet<TokenKind> = new Set([
  'number',
  'scale',
  'join',
  'repeat',
  'plus',
  'end',
  'unit',
  'fraction',
  'half',
  'clock',
  'letter',
  'amount',
]);
/** What means nothing unless a number stands before it. */
const FOLLOWERS: ReadonlySet<TokenKind> = new Set(['join', 'end', 'unit', 'clock']);

const TLD =
  /^(com|net|org|info|biz|edu|gov|io|app|dev|eu|us|uk|de|at|ch|fr|be|es|it|pt|br|nl|pl|tr|in|jp|cn|ru|ca|au|mx|ar|se|no|dk|fi|cz|ie|me|tv)$/;

const POSTCODES: Record<string, RegExp> = {
  GB: /^[a-z]{1,2}\d[a-z\d]?\d[a-z]{2}$/,
  CA: /^[a-z]\d[a-z]\d[a-z]\d$/,
  NL: /^\d{4}[a-z]{2}$/,
};

/** Their written forms, whose letters are else taken for words. Small letters behind a year are a word ("2019 en"). */
const WRITTEN_POSTCODES: Record<string, RegExp> = {
  GB: /(?<![\p{L}\p{N}])[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}[.!?]?$/iu,
  NL: /(?<![\p{L}\p{N}])\d{4}(?:[a-z]{2}| ?[A-Z]{2})[.!?]?$/u,
};

/**
 * Tells how a text ends: in the middle of a number, of spelling or of an e-mail address, behind a whole one, or in
 * other words. Numbers, times, prices and addresses are known by the tables of `tables.ts`, telephone numbers by the
 * numbering plan of the speaker's country. What a pause means is decided by this, so where a text could be both
 * whole and not (a "four fifteen" that is a time or an area code), words before it decide, else it is whole.
 */
export function dictationState(text: string, context: DictationContext): DictationState {
  const table = tableOf(context.language);
  const written = writtenAddress(text);
  if (written !== undefined) return written;
  const { language, country = countryOfLanguage(language) } = context;
  if (WRITTEN_POSTCODES[country ?? '']?.test(text.trimEnd())) return 'complete';
  const tokens = tokenize(text, table);
  if (tokens.length === 0) return 'none';
  const said = sentence(tokens, table);
  const state =
    spokenAddress(tokens, said, table, /[?？]\s*$/.test(text)) ??
    explainedLetter(tokens, table) ??
    numbers(tokens, said, table, context);
  // The STT has heard that the voice stayed up.
  return state === 'complete' && /(\.\.\.|[…,;:、，-])\s*$/.test(text) ? 'may_grow' : state;
}

/** As `dictationState`, for one speaker: the state of the last text is remembered, as turns ask for it on each tick. */
export function dictationReader({ language, country }: DictationContext): (text: string) => DictationState {
  const context = { language, country: country ?? countryOfLanguage(language) };
  let known = '';
  let state: DictationState = 'none';
  return (text) => {
    if (text !== known) {
      known = text;
      state = dictationState(text, context);
    }
    return state;
  };
}

/** An e-mail address in writing, as some STTs give it. */
function writtenAddress(text: string): DictationState | undefined {
  const at = text.lastIndexOf('@');
  if (at === -1) return undefined;
  const domain = /^\s*([\p{L}\d-]*(?:\s?\.\s?[\p{L}\d-]+)*)[\s.!,]*$/u.exec(text.slice(at + 1))?.[1];
  if (domain === undefined) return undefined;
  const last = domain.split('.').at(-1)!.trim().toLowerCase();
  if (!domain.includes('.')) return 'incomplete';
  return addressEnd(last);
}

function addressEnd(last: string): DictationState {
  if (TLD.test(last)) return 'complete';
  return last.length < 2 ? 'incomplete' : 'may_grow';
}

/** An e-mail or web address in words: "anna at example dot com". */
function spokenAddress(
  tokens: readonly Token[],
  said: string,
  table: DictationTable,
  question: boolean,
): DictationState | undefined {
  const last = tokens.at(-1)!;
  if (question) return undefined;
  if (last.kind === 'at' || last.kind === 'sign' || table.signs.has(last.text)) return 'incomplete';
  const at = tokens.findLastIndex(({ kind }) => kind === 'at');
  const dot = tokens.findLastIndex(({ kind }) => kind === 'dot');
  const announced = table.mails.some((phrase) => said.includes(phrase)) || said.includes('www');
  if (dot === tokens.length - 1) return at !== -1 || announced ? 'incomplete' : undefined;
  if (at === -1 && !announced) return undefined;
  if (dot > at) {
    // Spelled, "d e", or a word.
    const rest = tokens.slice(dot + 1);
    if (rest.length === 1 || rest.every(({ kind }) => kind === 'letter'))
      return addressEnd(rest.map((token) => token.text).join(''));
    return undefined;
  }
  if (at === -1 || at < tokens.length - 3) return undefined;
  const spelled = at > 0 && tokens[at - 1]!.kind === 'letter' && !table.letterWords.has(tokens[at - 1]!.text);
  return announced || spelled || table.signs.has(tokens[at]!.text) ? 'incomplete' : undefined;
}

/** A letter with a word that explains it, "b as in Bravo": a name is being spelled. */
function explainedLetter(tokens: readonly Token[], table: DictationTable): DictationState | undefined {
  let at = tokens.length - 1;
  if (!table.as.has(tokens[at]!.text)) at--;
  const end = at;
  while (at >= 0 && table.as.has(tokens[at]!.text)) at--;
  return at >= 0 && at < end && tokens[at]!.kind === 'letter' && !table.letterWords.has(tokens[at]!.text)
    ? 'incomplete'
    : undefined;
}

/** Numbers, times, prices and spelling. */
function numbers(
  tokens: readonly Token[],
  said: string,
  table: DictationTable,
  { language, country = countryOfLanguage(language) }: DictationContext,
): DictationState {
  let from = tokens.length;
  while (from > 0 && NUMERIC.has(tokens[from - 1]!.kind)) from--;
  while (from < tokens.length && (FOLLOWERS.has(tokens[from]!.kind) || isWord(tokens[from]!, table))) from++;
  const run = tokens.slice(from);
  const last = run.at(-1);
  if (!last) return 'none';
  if (run.length === 1 && last.kind !== 'number' && last.kind !== 'amount' && last.kind !== 'half')
    return 'none';
  switch (last.kind) {
    case 'join':
    case 'clock':
    case 'half':
    case 'repeat':
    case 'plus':
      return 'incomplete';
    case 'end':
      return 'complete';
    case 'fraction':
      // "a quarter" alone may be anything.
      return run.length === 2 && run[0]!.value === 1 ? 'may_grow' : 'complete';
    case 'unit':
      return run.at(-2)!.kind === 'amount' ? 'complete' : 'may_grow';
    case 'amount':
      return run.length === 1 || run.at(-2)!.kind === 'unit' ? 'complete' : 'may_grow';
    default:
  }
  const before = tokens[from - 1];
  if (run.some(({ kind }) => kind === 'half' || kind === 'clock' || kind === 'fraction')) return 'complete';
  const unit = run.findLastIndex(({ kind }) => kind === 'unit' || kind === 'end' || kind === 'amount');
  const items = toItems(run.slice(unit + 1), table);
  if (unit !== -1 && items.length === 1 && !items[0]!.letter) return 'complete';
  const announced = (phrases: readonly string[]) => phrases.some((phrase) => said.includes(phrase));
  return judge(items, {
    country,
    international: run[unit + 1]?.kind === 'plus',
    telephone: announced(table.phones),
    card: announced(table.cards),
    room: isRoom(tokens, from, table),
    time: before !== undefined && table.before.has(before.text),
  });
}

interface Surroundings {
  country: string | undefined;
  international: boolean;
  telephone: boolean;
  card: boolean;
  room: boolean;
  time: boolean;
}

/** What a row of numbers and letters is. */
function judge(items: readonly Item[], around: Surroundings): DictationState {
  const count = items.length;
  if (count === 0) return 'none';
  const text = items.map((item) => item.digits).join('');
  const singles = items.reduce((sum, item) => sum + item.singles, 0);
  const letters = items.some((item) => item.letter);
  if (around.room && count <= 4 && text.length <= 5)
    return items.at(-1)!.letter && count > 1 ? 'complete' : 'may_grow';
  if (letters) {
    if (POSTCODES[around.country ?? '']?.test(text)) return 'complete';
    return count > 2 || singles !== (items.some((item) => !item.letter) ? 2 : 0)
      ? lettersLeft(items)
      : 'may_grow';
  }
  if (around.card) return cardNumber(text);
  // "two and three" are two numbers.
  if (count === 2 && items[1]!.joined) return 'may_grow';
  const telephone = () => telephoneNumber(around.international ? `+${text}` : text, around.country);
  if (around.telephone || around.international) return telephone();
  if (isTimeOrDate(items, around.time)) return 'complete';
  if (count === 1 && singles < 2) return text.length < 7 ? 'may_grow' : longNumber(text, telephone);
  if (text.length >= 6) return longNumber(text, telephone);
  const groups = items.some((item) => item.figures && item.digits.length > 2);
  return singles > 1 || count > 2 || groups ? 'incomplete' : 'may_grow';
}

function lettersLeft(items: readonly Item[]): DictationState {
  const pair = items.length === 2 && items[0]!.letter !== items[1]!.letter;
  return pair || (items.length === 1 && items[0]!.singles === 1) ? 'may_grow' : 'incomplete';
}

function longNumber(digits: string, telephone: () => DictationState): DictationState {
  const dialled = telephone();
  if (dialled !== 'incomplete') return dialled;
  return digits.length > 12 ? cardNumber(digits) : 'incomplete';
}

/** Hour and minutes, a year in two parts, a day, month and year. */
function isTimeOrDate(items: readonly Item[], time: boolean): boolean {
  const values = items.map(({ digits }) => Number(digits));
  const [first, second, third] = values as [number, number?, number?];
  const two = (at: number) => items[at]!.digits.length === 2;
  const year = (at: number) =>
    (items.length === at + 1 &&
      items[at]!.digits.length === 4 &&
      values[at]! >= 1900 &&
      values[at]! < 2100) ||
    (items.length === at + 2 && two(at) && two(at + 1) && values[at]! >= 18 && values[at]! <= 20);
  if (items.length === 2 && two(1) && first <= 24 && second! < 60 && items[0]!.digits !== '0') return true;
  if (items.length === 3 && time && first <= 24 && items[0]!.digits !== '0' && second === 0 && third! < 10)
    return true;
  if (items.length > 1 && year(0)) return true;
  if (items.length > 1 && first <= 31 && first > 0 && year(1)) return true;
  return (
    items.length > 2 &&
    first > 0 &&
    second! > 0 &&
    Math.min(first, second!) <= 12 &&
    Math.max(first, second!) <= 31 &&
    year(2)
  );
}

/** A single letter that is a word by itself, and no beginning of spelling. */
const isWord = (token: Token, table: DictationTable) =>
  token.kind === 'letter' && table.letterWords.has(token.text);

/** Whether a room, a gate or the like stands before the numbers, or one word before that. */
function isRoom(tokens: readonly Token[], from: number, table: DictationTable): boolean {
  return [from - 1, from - 2].some((at) => at >= 0 && table.rooms.has(tokens[at]!.text));
}

/** The text in words, with a space at each end. */
function sentence(tokens: readonly Token[], table: DictationTable): string {
  const words = tokens.map((token) => token.text);
  return table.unspaced ? words.join('') : ` ${words.join(' ')} `;
}
