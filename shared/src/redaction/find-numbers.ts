import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';
import { ID_PATTERNS, IBAN_LENGTHS, isCardNumber, isIban, WRITTEN_IDS } from './check-digits.ts';
import type { Cue } from './cue-tables.ts';
import { lastCue, wordsAfter, wordsBefore, type Reading } from './findings.ts';
import type { RedactionKind } from './kinds.ts';
import type { Atom, Run } from './text-tokens.ts';

/** How far before a number its announcement may stand, in words. */
const CUE_WORDS_BEFORE = 12;
/** A number that comes within so many words of a turn answers what was asked. */
const ANSWER_WORDS = 8;
/** So many digits at the end of a turn may be the beginning of something personal; fewer are a time or a count. */
const OPEN_DIGITS = 5;
const LONGEST_CARD = 19;
const LONGEST_PHONE = 15;

/** By what announces it: the kind, and how many digits it has. */
const ANNOUNCED: Partial<Record<Cue, { kind: RedactionKind; least: number; most: number }>> = {
  card: { kind: 'card_number', least: 12, most: 22 },
  bank: { kind: 'bank_account', least: 5, most: 24 },
  id: { kind: 'national_id', least: 4, most: 16 },
  birth: { kind: 'date_of_birth', least: 4, most: 8 },
  secret: { kind: 'secret', least: 3, most: 12 },
  phone: { kind: 'phone_number', least: 5, most: 17 },
};

/** Finds numbers: cards, accounts, ids, telephone numbers, codes, and dates of birth in figures alone. */
export function findNumbers(reading: Reading): void {
  for (const run of reading.runs) {
    const cue = cueOf(run, reading);
    findIbans(run, cue, reading);
    findIds(run, cue, reading);
    for (const piece of piecesOf(run, reading))
      classify(piece, run.plus && piece[0] === run.atoms[0], cue, reading);
  }
}

/** What a place is announced as: by the words before it, else by those after it, else by what was asked. */
export function cueAt(from: number, to: number, reading: Reading): Cue | undefined {
  const { tokens, words } = reading;
  const { text, asked } = wordsBefore(tokens, from, CUE_WORDS_BEFORE);
  // A mail address is known by its form: no number is one.
  const before = lastCue(text, words.cues, 'mail');
  if (before) return before;
  const after = lastCue(wordsAfter(tokens, to, 5), words.cues);
  if (after && after !== 'other' && after !== 'mail') return after;
  const early = text.length <= 2 || text.trim().split(' ').length <= ANSWER_WORDS;
  return early ? lastCue(` ${asked} `, words.cues, 'mail') : undefined;
}

function cueOf(run: Run, reading: Reading): Cue | undefined {
  const [first, second] = run.atoms;
  // "Tax ID 123": these letters announce the number, and are none of it.
  const from = first!.letters && second && /^(?:ID|NR|NO)$/.test(first!.text) ? second.from : first!.from;
  return cueAt(from, run.atoms.at(-1)!.to, reading);
}

function claim(atoms: readonly Atom[], kind: RedactionKind, { findings, values }: Reading): void {
  values?.add(digitsOf(atoms), kind);
  findings.claim(atoms[0]!.from, atoms.at(-1)!.to, kind);
}

function findIbans({ atoms }: Run, cue: Cue | undefined, reading: Reading): void {
  for (let first = 0; first < atoms.length; first++) {
    if (!atoms[first]!.letters) continue;
    let text = '';
    let last = first;
    let found = false;
    for (; last < atoms.length && text.length < 34 && !found; last++) {
      text += atoms[last]!.text;
      if (text.length >= 2 && IBAN_LENGTHS[text.slice(0, 2)] === undefined) break;
      const whole = text.length === IBAN_LENGTHS[text.slice(0, 2)];
      if (whole && isIban(text)) {
        claim(atoms.slice(first, last + 1), 'bank_account', reading);
        found = true;
      }
    }
    // One digit was not understood.
    if (!found && cue === 'bank' && /^[A-Z]{2}\d{10}/.test(text)) {
      claim(atoms.slice(first, last), 'bank_account', reading);
      found = true;
    }
    if (found) first = last - 1;
  }
}

function findIds({ atoms }: Run, cue: Cue | undefined, reading: Reading): void {
  const { findings } = reading;
  for (let first = 0; first < atoms.length; first++) {
    if (!findings.isFree(atoms[first]!.from, atoms[first]!.to)) continue;
    let text = '';
    const ends: number[] = [];
    for (let at = first; at < atoms.length && text.length < 18; at++) {
      text += atoms[at]!.text;
      ends.push(text.length);
    }
    for (const { pattern, holds } of ID_PATTERNS) {
      const found = pattern.exec(text)?.[0];
      const last = found === undefined ? -1 : ends.indexOf(found.length);
      if (last === -1 || (holds && !holds(found!))) continue;
      claim(atoms.slice(first, first + last + 1), 'national_id', reading);
      first += last;
      break;
    }
  }
  const lettersAndDigits = atoms.some(({ letters }) => letters);
  const size = atoms.reduce((sum, { text }) => sum + text.length, 0);
  if (cue === 'id' && lettersAndDigits && size >= 6 && size <= 20) claim(atoms, 'national_id', reading);
}

/** The stretches of a run that are digits and nothing else yet. */
function piecesOf({ atoms }: Run, { findings }: Reading): Atom[][] {
  const pieces: Atom[][] = [];
  let piece: Atom[] = [];
  for (const atom of atoms) {
    if (!atom.letters && findings.isFree(atom.from, atom.to)) piece.push(atom);
    else if (piece.length > 0) {
      pieces.push(piece);
      piece = [];
    }
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

const digitsOf = (atoms: readonly Atom[]) => atoms.map(({ text }) => text).join('');

function classify(atoms: Atom[], plus: boolean, cue: Cue | undefined, reading: Reading): void {
  const rest = cue === 'other' ? [atoms] : withoutCards(atoms, reading);
  for (const piece of rest) classifyRest(piece, plus && piece[0] === atoms[0], cue, reading);
}

function classifyRest(atoms: Atom[], plus: boolean, cue: Cue | undefined, reading: Reading): void {
  const { tokens } = reading;
  const digits = digitsOf(atoms);
  const first = tokens[atoms[0]!.from]!;
  const last = tokens[atoms.at(-1)!.to - 1]!;
  const written = first.turn === last.turn ? first : undefined;
  if (
    written &&
    atoms.length >= 3 &&
    WRITTEN_IDS.some((pattern) => pattern.test(writtenAs(atoms, reading)))
  ) {
    claim(atoms, 'national_id', reading);
    return;
  }
  const known = reading.values?.kindOf(digits);
  if (known) {
    claim(atoms, known, reading);
    return;
  }
  const after = tokens[atoms.at(-1)!.to];
  if (
    after &&
    (after.said.kind === 'unit' || after.said.kind === 'end') &&
    cue !== 'secret' &&
    digits.length < 7
  )
    return;
  // What was announced is longer or shorter: perhaps it is what follows ("849 as the security code").
  const { least = 0, most = Infinity } = (cue && ANNOUNCED[cue]) ?? {};
  const fits = digits.length >= least && digits.length <= most;
  const meant =
    fits || cue === undefined || cue === 'other'
      ? cue
      : lastCue(wordsAfter(tokens, atoms.at(-1)!.to, 5), reading.words.cues, 'mail');
  const announced = meant && ANNOUNCED[meant];
  if (announced && digits.length >= announced.least && digits.length <= announced.most) {
    if (isPlain(digits, announced.kind, atoms, reading)) return;
    claim(atoms, announced.kind, reading);
    return;
  }
  if (cue === 'other') return;
  findPhones(atoms, digits, plus, reading);
}

/** A single amount or year is no number of this kind. */
function isPlain(digits: string, kind: RedactionKind, atoms: readonly Atom[], { tokens }: Reading): boolean {
  if (kind !== 'national_id' && kind !== 'phone_number' && kind !== 'bank_account') return false;
  if (digits.length > 6) return false;
  const next = tokens[atoms.at(-1)!.to];
  const time = /^(\d{1,2})[:.](\d\d)$/.test(writtenAs(atoms, { tokens }));
  return time || next?.said.kind === 'end' || next?.said.kind === 'unit';
}

function writtenAs(atoms: readonly Atom[], { tokens }: Pick<Reading, 'tokens'>): string {
  let text = '';
  const first = atoms[0]!.from;
  const to = atoms.at(-1)!.to;
  for (let at = first; at < to && text.length < 32; at++)
    text += at > first && tokens[at]!.start > tokens[at - 1]!.end ? ` ${tokens[at]!.raw}` : tokens[at]!.raw;
  return text;
}

/** Claims the numbers of cards. @returns what is left */
function withoutCards(atoms: Atom[], reading: Reading): Atom[][] {
  const left: Atom[][] = [];
  let start = 0;
  for (let first = 0; first < atoms.length; first++) {
    let digits = '';
    let best = -1;
    for (let last = first; last < atoms.length; last++) {
      digits += atoms[last]!.text;
      if (digits.length > LONGEST_CARD) break;
      if (digits.length >= 13 && isCardNumber(digits)) best = last;
    }
    if (best === -1) continue;
    claim(atoms.slice(first, best + 1), 'card_number', reading);
    if (first > start) left.push(atoms.slice(start, first));
    start = best + 1;
    first = best;
  }
  if (start < atoms.length) left.push(atoms.slice(start));
  return left;
}

function findPhones(atoms: Atom[], digits: string, plus: boolean, reading: Reading): void {
  if (plus && digits.length >= 8 && digits.length <= LONGEST_PHONE) {
    claim(atoms, 'phone_number', reading);
    return;
  }
  // A number may begin with a turn, or behind a smaller number that is another matter.
  const begins = [0, ...turnStarts(atoms, reading)];
  for (const from of begins) {
    const part = from === 0 ? atoms : atoms.slice(from);
    if (isTelephoneNumber(digitsOf(part), reading.countries)) {
      claim(part, 'phone_number', reading);
      return;
    }
  }
}

function turnStarts(atoms: readonly Atom[], { tokens }: Reading): number[] {
  const starts: number[] = [];
  for (let at = 1; at < atoms.length && starts.length < 4; at++)
    if (tokens[atoms[at]!.from]!.turn !== tokens[atoms[at - 1]!.from]!.turn) starts.push(at);
  return starts;
}

function isTelephoneNumber(digits: string, countries: readonly string[]): boolean {
  if (digits.length < 9 || digits.length > LONGEST_PHONE) return false;
  return countries.some((country) => {
    // In most countries a number that is dialled from within begins with a zero or has its whole length.
    const parsed = parsePhoneNumberFromString(digits, country as CountryCode);
    return (
      parsed?.country === country &&
      parsed.isValid() &&
      (digits.startsWith('0') || country === 'US' || digits.length >= 10)
    );
  });
}

/** A number at the end of what was said that is nothing yet, and that what is said next may complete. */
export function openNumber({ runs, tokens, words, findings, ...rest }: Reading): Atom[] | undefined {
  const run = runs.at(-1);
  if (!run) return undefined;
  for (let at = run.atoms.at(-1)!.to; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.type === 'figures' || (token.type === 'word' && !words.fillers.has(token.word)))
      return undefined;
  }
  const open = run.atoms.filter(({ from, to }) => findings.isFree(from, to));
  const digits = open.filter(({ letters }) => !letters);
  if (digitsOf(digits).length < OPEN_DIGITS) return undefined;
  const reading: Reading = { runs, tokens, words, findings, ...rest };
  return cueOf(run, reading) === 'other' ? undefined : open;
}
