import type { DictationTable, Token } from './table.ts';

/** How much of a text is looked at, from its end: longer than any number or address that is dictated. */
const TAIL_CHARACTERS = 240;

/** Cuts the end of a text into tokens. */
export function tokenize(text: string, table: DictationTable): Token[] {
  let tail =
    text.length > TAIL_CHARACTERS ? text.slice(text.indexOf(' ', text.length - TAIL_CHARACTERS)) : text;
  tail = tail.toLowerCase().replaceAll('\u0307', '').normalize('NFC').replaceAll('’', "'");
  const tokens: Token[] = [];
  for (const [piece] of tail.matchAll(table.pattern)) {
    if (/^\d/.test(piece)) pushFigures(tokens, piece);
    else push(tokens, piece, table);
  }
  return tokens;
}

function push(tokens: Token[], piece: string, table: DictationTable): void {
  // French and Italian join small words to the next: "l'adresse".
  const apostrophe = piece.indexOf("'");
  if (apostrophe > 0 && !table.words.has(piece)) {
    for (const part of piece.split("'")) if (part !== '') push(tokens, part, table);
    return;
  }
  const before = tokens.at(-1);
  if (piece === 'm' && (before?.text === 'a' || before?.text === 'p')) {
    tokens[tokens.length - 1] = token('end', `${before.text}m`);
    return;
  }
  tokens.push(
    table.words.get(piece) ?? compound(piece, table) ?? token(isLetter(piece) ? 'letter' : 'word', piece),
  );
}

function pushFigures(tokens: Token[], piece: string): void {
  const groups = piece.split(/[.,:]/);
  // A time or an amount has one separator, or some before three figures each; a telephone number or date others.
  if (
    groups.length === 2 ||
    (groups.length > 2 && groups.slice(1).every((group) => group.length === 3 && piece.includes(',')))
  )
    tokens.push(token('amount', piece));
  else
    for (const group of groups)
      tokens.push({ kind: 'number', text: group, value: Number(group), figures: true });
}

function token(kind: Token['kind'], text: string): Token {
  return { kind, text, value: 0, figures: false };
}

/** A letter that is spelled. A syllable that is written as one character is none. */
const isLetter = (piece: string) => /^[a-zà-öø-ÿąćęłńóśźżğışč]$/.test(piece);

/** Reads numbers that are written as one word: "zweitausendfünf". */
export function compound(piece: string, table: DictationTable): Token | undefined {
  if (!table.compounds) return undefined;
  for (const [scale, { kind, value: factor }] of table.words) {
    if (kind !== 'scale') continue;
    const at = piece.lastIndexOf(scale);
    if (at === -1 || piece === scale) continue;
    const left = at === 0 ? 1 : valueOf(piece.slice(0, at), table);
    const rest = piece.slice(at + scale.length);
    // "hundertundeins", "duizendeneen": the joint is no part of the number behind it, unlike the e of "tausendeins".
    const right =
      rest === '' ? 0 : (valueOf(rest, table) ?? valueOf(rest.replace(/^(und|en|e)(?=..)/, ''), table));
    if (left === undefined || right === undefined) continue;
    return { kind: 'number', text: piece, value: left * factor + right, figures: false };
  }
  return undefined;
}

function valueOf(word: string, table: DictationTable): number | undefined {
  const known = table.words.get(word);
  if (known?.kind === 'number' || known?.kind === 'scale') return known.value;
  return compound(word, table)?.value;
}

/** One number, letter or group of figures of something dictated. */
export interface Item {
  digits: string;
  /** Spoken or written one by one: a digit or a letter. A doubled one counts twice. */
  singles: number;
  letter: boolean;
  /** Written in figures. */
  figures: boolean;
  /** An "and" stands before it that is no part of a number. */
  joined: boolean;
}

/** Joins the words of numbers: "two hundred and five" is one item, "two five" are two. */
export function toItems(tokens: readonly Token[], table: DictationTable): Item[] {
  const items: Item[] = [];
  for (let at = 0; at < tokens.length;) {
    const first = tokens[at]!;
    const joined = tokens[at - 1]?.kind === 'join';
    if (first.kind === 'join' || first.kind === 'plus') {
      at++;
    } else if (first.kind === 'letter') {
      items.push({ digits: first.text, singles: 1, letter: true, figures: false, joined });
      at++;
    } else if (first.kind === 'repeat') {
      const next = tokens[at + 1];
      if (next && (next.kind === 'letter' || (next.kind === 'number' && next.value < 10)))
        items.push({
          digits: (next.kind === 'letter' ? next.text : String(next.value)).repeat(first.value),
          singles: first.value,
          letter: next.kind === 'letter',
          figures: false,
          joined,
        });
      at += 2;
    } else {
      const { value, length } = readNumber(tokens, at, table);
      const digits = first.figures && length === 1 ? first.text : String(value);
      items.push({
        digits,
        singles: digits.length === 1 ? 1 : 0,
        letter: false,
        figures: first.figures,
        joined,
      });
      at += length;
    }
  }
  return items;
}

/** Reads one number of words or figures. @returns its value, and how many tokens it takes */
export function readNumber(
  tokens: readonly Token[],
  from: number,
  table: DictationTable,
): { value: number; length: number } {
  let { value, length } = readSmall(tokens, from, table);
  for (;;) {
    const scale = tokens[from + length];
    if (scale?.kind !== 'scale') return { value, length };
    value = (length === 0 ? 1 : value) * scale.value;
    length++;
    const joined = tokens[from + length]?.kind === 'join' ? 1 : 0;
    const next = from + length + joined;
    if (tokens[next]?.kind !== 'number' || tokens[next].figures) continue;
    const rest = readSmall(tokens, next, table);
    const after = tokens[next + rest.length];
    // "eight hundred five five five": digits follow, not the rest of the number.
    if (rest.value < 10 && joined === 0 && after?.kind === 'number' && after.value < 10)
      return { value, length };
    if (rest.value >= scale.value) return { value, length };
    value += rest.value;
    length += joined + rest.length;
  }
}

/** Reads a number below a thousand: hundreds that are one word, tens and units. */
function readSmall(
  tokens: readonly Token[],
  from: number,
  table: DictationTable,
): { value: number; length: number } {
  const first = tokens[from];
  if (first?.kind !== 'number') return { value: 0, length: 0 };
  if (first.figures) return { value: first.value, length: 1 };
  let { value } = first;
  let length = 1;
  const next = () => {
    const joined = tokens[from + length]?.kind === 'join' ? 1 : 0;
    const number = tokens[from + length + joined];
    return number?.kind === 'number' && !number.figures ? { number, taken: joined + 1 } : undefined;
  };
  for (let more = next(); more; more = next()) {
    if (table.vigesimal && value === 4 && more.number.value === 20 && more.taken === 1) value = 80;
    else if (adds(value, more.number.value, table)) value += more.number.value;
    else break;
    length += more.taken;
  }
  return { value, length };
}

/** Whether a smaller number word adds to the one before: "twenty" and "five". */
function adds(value: number, next: number, table: DictationTable): boolean {
  if (next <= 0) return false;
  if (value >= 100)
    return value % 100 === 0 ? next < 100 : value % 10 === 0 && value % 100 !== 10 && next < 10;
  if (table.vigesimal && (value === 60 || value === 80)) return next < 20;
  if (table.vigesimal && (value === 10 || value === 70 || value === 90)) return next >= 7 && next < 10;
  return value >= 20 && value % 10 === 0 && next < 10;
}
