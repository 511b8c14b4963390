import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';
import { ID_PATTERNS, IBAN_LENGTHS, isCardNumber, isIban, WRITTEN_IDS } from './check-digits.ts';
import type { Cue } from './cue-tables.ts';
import { lastCue, type Reading } from './findings.ts';
import { askedFor, cueAt, cuesAt } from './number-cues.ts';
import type { FoundKind, RedactionKind } from './kinds.ts';
import { isBetween, type Atom, type Run } from './text-tokens.ts';

/** It is hardly anything but what announces it from farther away. */
const LONG_DIGITS = 7;
/** So many digits at the end of a turn may be the beginning of something personal; fewer are a time or a count. */
const OPEN_DIGITS = 5;
const LONGEST_CARD = 19;
const LONGEST_PHONE = 15;
/** Cards of today have so many digits at least; whatever an order is numbered with may look like an older one. */
const SHORTEST_CARD_ANYWHERE = 15;
/** A number may be given in so many breaths, with so many words before each. */
const MOST_BREATHS = 5;
const WORDS_BETWEEN = 6;
const WORDS_WITHIN = 3;

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
  findContinued(reading);
  for (const run of reading.runs.flatMap((whole) => partsOf(whole, reading))) {
    const cue = cueOf(run, reading);
    findIbans(run, cue, reading);
    findIds(run, cue, reading);
    for (const piece of piecesOf(run, reading))
      classify(piece, run.plus && piece[0] === run.atoms[0], cue, reading);
  }
}

/** A run, parted where something else was asked in between. */
export function partsOf(run: Run, reading: Reading): Run[] {
  const parts: Run[] = [];
  let from = 0;
  for (const start of turnStarts(run.atoms, reading)) {
    const asked = askedFor(askedBefore(run.atoms[start]!, reading), reading);
    if (asked === undefined) continue;
    const before = cueOf({ atoms: run.atoms.slice(from, start), plus: false }, reading);
    if (before === undefined || before === asked) continue;
    parts.push({ atoms: run.atoms.slice(from, start), plus: run.plus && from === 0 });
    from = start;
  }
  if (from === 0) return [run];
  return [...parts, { atoms: run.atoms.slice(from), plus: false }];
}

/** What the other side said right before the turn of a place. */
function askedBefore({ from }: Atom, { tokens }: Reading): string {
  for (let at = from - 1; at >= 0; at--) if (tokens[at]!.type === 'turn') return tokens[at]!.asked ?? '';
  return '';
}

/** Finds numbers that are given in several breaths, with words before each: "…, and the rest is …". */
function findContinued(reading: Reading): void {
  const { runs } = reading;
  for (let first = 0; first + 1 < runs.length; first++) {
    let last = first;
    while (
      last + 1 < runs.length &&
      last < first + MOST_BREATHS &&
      continues(runs[last]!, runs[last + 1]!, reading)
    )
      last++;
    for (; last > first; last--) {
      const atoms = runs.slice(first, last + 1).flatMap((run) => run.atoms);
      const kind = kindOfContinued(atoms, runs[first]!, runs[last]!, reading);
      if (!kind) continue;
      claim(atoms, kind, reading);
      first = last;
      break;
    }
  }
}

/** Whether a run may go on with the next: few words stand between, and nothing else is announced or asked. */
function continues(run: Run, next: Run, reading: Reading): boolean {
  const { tokens, words } = reading;
  let count = 0;
  let turns = 0;
  let text = '';
  if (digitsOf(run.atoms).length < 2 || digitsOf(next.atoms).length < 2) return false;
  for (let at = run.atoms.at(-1)!.to; at < next.atoms[0]!.from; at++) {
    const token = tokens[at]!;
    if (token.type === 'turn') {
      turns++;
      // What ends a turn, or begins one, is counted by itself.
      if (count > WORDS_WITHIN) return false;
      count = 0;
      const asked = askedFor(token.asked ?? '', reading);
      if (asked !== undefined && asked !== cueOf(run, reading)) return false;
    } else if (token.type === 'word' && !words.fillers.has(token.word)) {
      if (token.said.kind === 'unit' || token.said.kind === 'end') return false;
      count++;
      text += ` ${token.word}`;
    } else if (/^[!?;]$/.test(token.word) || (token.word === '.' && count > 0)) return false;
  }
  return count <= (turns > 0 ? WORDS_BETWEEN : WORDS_WITHIN) && lastCue(`${text} `, words.cues) === undefined;
}

function kindOfContinued(
  atoms: readonly Atom[],
  first: Run,
  last: Run,
  reading: Reading,
): RedactionKind | undefined {
  const text = digitsOf(atoms);
  if (isIban(text)) return 'bank_account';
  if (atoms.some(({ letters }) => letters)) return undefined;
  if (text.length >= SHORTEST_CARD_ANYWHERE && isCardNumber(text)) return 'card_number';
  const begun = digitsOf(first.atoms);
  if (text.length < LONG_DIGITS) return undefined;
  const cue = cueOf(first, reading);
  if (cue === 'other' || isTelephoneNumber(begun, reading.countries) || isCardNumber(begun)) return undefined;
  const mayBePhone = cue === 'phone' || begun.length >= 3;
  if (mayBePhone && isTelephoneNumber(text, reading.countries)) return 'phone_number';
  const announced = cue && ANNOUNCED[cue];
  if (!announced || (cue !== 'card' && cue !== 'phone' && cue !== 'bank' && cue !== 'id')) return undefined;
  const { tokens } = reading;
  const inOneTurn = tokens[atoms[0]!.from]!.turn === tokens[atoms.at(-1)!.from]!.turn;
  const after = tokens[last.atoms.at(-1)!.to];
  const endsThere = !after || after.type !== 'word' || reading.words.fillers.has(after.word);
  const fits = text.length >= announced.least && text.length <= announced.most;
  if (!fits || !endsThere) return undefined;
  // What is said at once is parted for a reason, unless it is half of a card.
  if (inOneTurn) return cue === 'card' && begun.length >= 4 ? announced.kind : undefined;
  return begun.length < announced.least || digitsOf(last.atoms).length > 2 ? announced.kind : undefined;
}

export function cueOf(run: Run, reading: Reading): Cue | undefined {
  const [first, second] = run.atoms;
  // "Tax ID 123": these letters announce the number, and are none of it.
  const from = first!.letters && second && /^(?:ID|NR|NO)$/.test(first!.text) ? second.from : first!.from;
  return cueAt(from, run.atoms.at(-1)!.to, reading, digitsOf(run.atoms).length >= LONG_DIGITS);
}

/** Claims atoms, with what stands between those of one run. */
export function claim(
  atoms: readonly Atom[],
  kind: FoundKind,
  { tokens, words, findings, values }: Reading,
): void {
  values?.add(digitsOf(atoms), kind);
  let from = atoms[0]!.from;
  for (let at = 1; at < atoms.length; at++) {
    const [end, next] = [atoms[at - 1]!.to, atoms[at]!.from];
    let together = true;
    for (let place = end; place < next; place++) together &&= isBetween(tokens[place]!, words.fillers);
    if (together) continue;
    findings.claim(from, end, kind);
    from = next;
  }
  findings.claim(from, atoms.at(-1)!.to, kind);
}

function findIbans({ atoms }: Run, cue: Cue | undefined, reading: Reading): void {
  findBareIban(atoms, reading);
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

/** "de 89 3704 …", or without the country: an STT writes it as a word, or leaves it out. */
function findBareIban(atoms: readonly Atom[], reading: Reading): void {
  const { tokens, countries, findings } = reading;
  if (atoms.some(({ letters }) => letters) || !findings.isFree(atoms[0]!.from, atoms.at(-1)!.to)) return;
  const digits = digitsOf(atoms);
  const before = tokens[atoms[0]!.from - 1];
  const named = before?.type === 'word' && before.raw.length === 2 ? before.raw.toUpperCase() : undefined;
  if (named !== undefined && isIban(named + digits)) {
    findings.claim(atoms[0]!.from - 1, atoms[0]!.from, 'bank_account');
    claim(atoms, 'bank_account', reading);
  } else if (countries.some((country) => isIban(country + digits))) claim(atoms, 'bank_account', reading);
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
export function piecesOf({ atoms }: Run, { findings }: Reading): Atom[][] {
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

export const digitsOf = (atoms: readonly Atom[]) => atoms.map(({ text }) => text).join('');

function classify(atoms: Atom[], plus: boolean, cue: Cue | undefined, reading: Reading): void {
  if (plus && isTelephoneNumber(`+${digitsOf(atoms)}`, [])) {
    claim(atoms, 'phone_number', reading);
    return;
  }
  const rest = cue === 'other' ? withoutCertain(atoms, plus, reading) : withoutCards(atoms, reading);
  for (const piece of rest) classifyRest(piece, plus && piece[0] === atoms[0], cue, reading);
}

/** Claims what is a card or a telephone number whatever it is announced as. @returns what is left */
function withoutCertain(atoms: Atom[], plus: boolean, reading: Reading): Atom[][] {
  const digits = digitsOf(atoms);
  const isMobile =
    /^0/.test(digits) && digits.length >= 11 && isTelephoneNumber(digits, reading.countries, 'MOBILE');
  if (digits.length >= SHORTEST_CARD_ANYWHERE && isCardNumber(digits)) claim(atoms, 'card_number', reading);
  else if (isMobile || (plus && digits.length >= 10 && digits.length <= LONGEST_PHONE))
    claim(atoms, 'phone_number', reading);
  else return [atoms];
  return [];
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
  // The sort code of a bank, as it is written in Great Britain.
  if (
    cue === undefined &&
    /^\d\d-\d\d-\d\d$/.test(writtenAs(atoms, reading)) &&
    reading.countries.includes('GB')
  ) {
    claim(atoms, 'bank_account', reading);
    return;
  }
  const known = reading.values?.kindOf(digits);
  if (known && known !== 'number') {
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
      : [...cuesAt(atoms[0]!.from, atoms.at(-1)!.to, reading)].find((one) => {
          const other = ANNOUNCED[one];
          return other && digits.length >= other.least && digits.length <= other.most;
        });
  const announced = meant && ANNOUNCED[meant];
  if (announced && digits.length >= announced.least && digits.length <= announced.most) {
    if (isPlain(digits, announced.kind, atoms, reading)) return;
    claim(atoms, announced.kind, reading);
    return;
  }
  if (cue === 'other') return;
  findPhones(atoms, digits, plus, reading);
}

const TIME_BEFORE = /^(?:at|around|until|till|before|after|since|from|um|gegen|bis|ab|vor|nach|seit)$/;
const TIME = /^([01]?\d|2[0-3])(?:[:. ]?)([0-5]\d)$/;

/** A single amount, time or year is no number of this kind. */
function isPlain(digits: string, kind: RedactionKind, atoms: readonly Atom[], { tokens }: Reading): boolean {
  if (digits.length > 6) return false;
  const before = tokens[atoms[0]!.from - 1];
  const written = writtenAs(atoms, { tokens });
  if (digits.length <= 4 && TIME.test(written) && TIME_BEFORE.test(before?.word ?? '')) return true;
  if (kind !== 'national_id' && kind !== 'phone_number' && kind !== 'bank_account') return false;
  const next = tokens[atoms.at(-1)!.to];
  const time = /^(\d{1,2})[:.](\d\d)$/.test(written);
  const year = /^(?:19|20)\d\d$/.test(digits) && atoms.length <= 2;
  return time || year || next?.said.kind === 'end' || next?.said.kind === 'unit';
}

export function writtenAs(atoms: readonly Atom[], { tokens }: Pick<Reading, 'tokens'>): string {
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

export function turnStarts(atoms: readonly Atom[], { tokens }: Reading): number[] {
  const starts: number[] = [];
  for (let at = 1; at < atoms.length && starts.length < 4; at++)
    if (tokens[atoms[at]!.from]!.turn !== tokens[atoms[at - 1]!.from]!.turn) starts.push(at);
  return starts;
}

export function isTelephoneNumber(digits: string, countries: readonly string[], type?: 'MOBILE'): boolean {
  if (digits.startsWith('+')) return parsePhoneNumberFromString(digits)?.isValid() ?? false;
  if (digits.length < 9 || digits.length > LONGEST_PHONE) return false;
  return countries.some((country) => {
    // In most countries a number that is dialled from within begins with a zero or has its whole length.
    const parsed = parsePhoneNumberFromString(digits, country as CountryCode);
    return (
      parsed?.country === country &&
      parsed.isValid() &&
      (type === undefined || parsed.getType() === type) &&
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
