import type { DictationTable, Token } from '../languages/dictation/table.ts';
import { compound, readNumber } from '../languages/dictation/tokens.ts';

/** A piece of what one speaker said, with its place in its turn. */
export interface TextToken {
  /** Place of the turn in the list that is looked through. */
  turn: number;
  start: number;
  end: number;
  raw: string;
  /** Lower case. */
  word: string;
  /** `turn`: between two turns of the speaker. */
  type: 'figures' | 'word' | 'mark' | 'turn';
  /** What the dictation's table knows of it. */
  said: Token;
  /** Of a `turn`: what the other side said before it. */
  asked?: string;
  /** Of a `turn`: that, and what was asked before and has had no answer yet. */
  pending?: string;
}

/** One number, letter or sign of something that is spelled. */
export interface Atom {
  text: string;
  letters: boolean;
  /** Tokens, the end excluded. */
  from: number;
  to: number;
}

/** Numbers and letters in a row. */
export interface Run {
  atoms: Atom[];
  plus: boolean;
}

/** Longer words are no words. */
const LONGEST_WORD = 40;
const PATTERN = /\d+|[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*|[^\s]/gu;
const UNKNOWN: Token = { kind: 'word', text: '', value: 0, figures: false };
const LETTER: Token = { ...UNKNOWN, kind: 'letter' };
/** Articles that are number words too. */
const ARTICLES = new Set(['ein', 'eine', 'einem', 'einen', 'un', 'une', 'una', 'uno', 'um', 'uma', 'een']);
/** Between the numbers of a run: marks, and words for marks. */
const BETWEEN_MARKS = new Set(['-', '/', '.', ',', '(', ')', ':', '–', '_', '·']);
const BETWEEN_WORDS = new Set([
  'dash',
  'hyphen',
  'minus',
  'slash',
  'strich',
  'bindestrich',
  'schrägstrich',
  'point',
  'comma',
  'komma',
  'space',
  'leerzeichen',
  'pause',
  'next',
  'weiter',
  'guion',
  'tiret',
]);
const MOST_BETWEEN = 5;

export function tokensOf(text: string, turn: number, table: DictationTable): TextToken[] {
  const tokens: TextToken[] = [];
  for (const match of text.matchAll(PATTERN)) {
    const [raw] = match;
    const start = match.index;
    const figures = /^\d/.test(raw);
    const mark = !figures && !/^[\p{L}\p{M}]/u.test(raw);
    const word =
      raw.length > LONGEST_WORD ? raw.slice(0, LONGEST_WORD) : raw.toLowerCase().replaceAll('’', "'");
    tokens.push({
      turn,
      start,
      end: start + raw.length,
      raw,
      word,
      type: figures ? 'figures' : mark ? 'mark' : 'word',
      said: figures ? { kind: 'number', text: raw, value: 0, figures: true } : saidOf(word, raw, table),
    });
  }
  return tokens;
}

function saidOf(word: string, raw: string, table: DictationTable): Token {
  if (raw.length >= LONGEST_WORD) return UNKNOWN;
  const known = table.words.get(word);
  if (known) return known;
  if (word.length === 1 && /\p{L}/u.test(word)) return LETTER;
  return (table.compounds ? compound(word, table) : undefined) ?? UNKNOWN;
}

/** @returns whether two tokens stand next to each other, with nothing between */
export function touch(left: TextToken | undefined, right: TextToken | undefined): boolean {
  return (
    left !== undefined &&
    right !== undefined &&
    left.type !== 'turn' &&
    left.turn === right.turn &&
    left.end === right.start
  );
}

/** Finds all that is spelled or counted. @param fillers words that may stand between */
export function runsOf(
  tokens: readonly TextToken[],
  table: DictationTable,
  fillers: ReadonlySet<string>,
): Run[] {
  const said = tokens.map((token) => token.said);
  const runs: Run[] = [];
  let run: Run | undefined;
  let between = 0;
  let plus = false;
  const close = () => {
    while (run && run.atoms.length > 1 && isArticle(tokens, run.atoms[0]!)) run.atoms.shift();
    // "Ziehen Sie es von der 4111 … ein": the digit is "eins".
    while (run && run.atoms.length > 1 && isGermanArticle(tokens, run.atoms.at(-1)!)) run.atoms.pop();
    if (run?.atoms.some((atom) => !atom.letters)) runs.push(run);
    run = undefined;
    between = 0;
    plus = false;
  };
  for (let at = 0; at < tokens.length;) {
    const found = atomAt(tokens, said, at, table, run !== undefined);
    if (found) {
      // A plus begins a number anew.
      if (plus && run && between > 0 && tokens[found.from - 1]?.word === '+') {
        close();
        plus = true;
      }
      run ??= { atoms: [], plus };
      run.atoms.push(found);
      between = 0;
      plus = false;
      at = found.to;
      continue;
    }
    const token = tokens[at]!;
    const isPlus = token.said.kind === 'plus';
    if (isPlus) {
      if (run && run.atoms.length > 0) close();
      plus = true;
    } else if (isBetween(token, fillers)) {
      if (++between > MOST_BETWEEN) close();
    } else close();
    at++;
  }
  close();
  return runs;
}

/** Whether something may stand between the numbers of one run. */
export function isBetween({ word, type, said }: TextToken, fillers: ReadonlySet<string>): boolean {
  return (
    BETWEEN_MARKS.has(word) ||
    BETWEEN_WORDS.has(word) ||
    type === 'turn' ||
    said.kind === 'join' ||
    said.kind === 'sign' ||
    said.kind === 'dot' ||
    fillers.has(word)
  );
}

const isArticle = (tokens: readonly TextToken[], { from, to }: Atom) =>
  to === from + 1 && ARTICLES.has(tokens[from]!.word);

const isDigit = ({ said, type }: TextToken) => type === 'word' && said.value > 0 && said.value < 10;

const isGermanArticle = (tokens: readonly TextToken[], { from, to }: Atom) =>
  to === from + 1 && /^eine?[mn]?$/.test(tokens[from]!.word);

function atomAt(
  tokens: readonly TextToken[],
  said: readonly Token[],
  at: number,
  table: DictationTable,
  within: boolean,
): Atom | undefined {
  const token = tokens[at]!;
  if (token.type === 'figures') return { text: token.raw, letters: false, from: at, to: at + 1 };
  if (token.type !== 'word') return undefined;
  const { kind } = token.said;
  if (kind === 'number' || kind === 'scale') {
    const { value, length } = readNumber(said, at, table);
    // "Twenty-three".
    const [dash, unit] = [tokens[at + 1], tokens[at + 2]];
    if (length === 1 && value >= 20 && value < 100 && value % 10 === 0 && dash?.word === '-')
      if (touch(token, dash) && touch(dash, unit) && unit?.said.kind === 'number' && isDigit(unit))
        return { text: String(value + unit.said.value), letters: false, from: at, to: at + 3 };
    return length === 0 ? undefined : { text: String(value), letters: false, from: at, to: at + length };
  }
  if (kind === 'repeat') {
    const next = tokens[at + 1];
    if (next?.said.kind === 'letter')
      return { text: next.word.toUpperCase().repeat(token.said.value), letters: true, from: at, to: at + 2 };
    const digit =
      next?.type === 'figures'
        ? next.raw
        : next?.said.kind === 'number' && next.said.value < 10
          ? String(next.said.value)
          : '';
    return digit.length === 1
      ? { text: digit.repeat(token.said.value), letters: false, from: at, to: at + 2 }
      : undefined;
  }
  const spelled = /^[A-Za-z]$/.test(token.raw);
  const next = tokens[at + 1];
  // "Four o five".
  if (spelled && token.word === 'o' && within && next?.said.kind === 'number')
    return { text: '0', letters: false, from: at, to: at + 1 };
  const isWord = table.letterWords.has(token.word) && token.raw !== token.raw.toUpperCase();
  if (spelled && isWord && !(within && tokens[at - 1]?.type !== 'turn') && next?.raw.length !== 1)
    return undefined;
  const capitals =
    /^[A-Z]{1,6}$/.test(token.raw) &&
    (token.raw.length <= 2 ||
      touch(token, tokens[at + 1]) ||
      touch(tokens[at - 1], token) ||
      (within && token.raw.length === 4));
  if (!spelled && !capitals) return undefined;
  return { text: token.raw.toUpperCase(), letters: true, from: at, to: at + 1 };
}
