import { claim, digitsOf, partsOf, piecesOf, turnStarts, writtenAs } from './find-numbers.ts';
import { cuesIn, wordsAfter, type Reading } from './findings.ts';
import { askedFor, cueAt } from './number-cues.ts';
import type { Atom, TextToken } from './text-tokens.ts';

/** Shorter ones are prices, years and counts. */
const LEAST_DIGITS = 7;
/** A number in several turns counts as one while the other side says no more words than these in between. */
const MOST_SAID_BETWEEN = 4;
/** And these between parts that are no count or time. */
const MOST_SAID_BETWEEN_PARTS = 10;
const PART_DIGITS = 4;

/**
 * Finds long numbers that nothing announces, neither as something personal nor as something else: nobody knows what they are.
 * To be called when all else was found.
 * @param options.caller else they are found only where a caller has said them before
 */
export function findUnannounced(reading: Reading, { caller }: { caller: boolean }): void {
  if (!caller) return findRepeated(reading);
  for (const run of reading.runs.flatMap((whole) => partsOf(whole, reading))) {
    for (const piece of piecesOf(run, reading))
      for (const part of inOneBreath(piece, reading))
        if (digitsOf(part).length >= LEAST_DIGITS && !isHarmless(part, reading))
          claim(part, 'number', reading);
    const mixed = run.atoms.filter(({ from, to }) => reading.findings.isFree(from, to));
    if (isMixedNumber(mixed) && !isAnnouncedOtherwise(mixed, reading)) claim(mixed, 'number', reading);
  }
}

function findRepeated(reading: Reading): void {
  for (const run of reading.runs)
    for (const piece of piecesOf(run, reading))
      if (reading.values?.kindOf(digitsOf(piece)) === 'number') claim(piece, 'number', reading);
}

/** Parts a number where more is said between two of its turns than a word or two. */
function inOneBreath(atoms: Atom[], reading: Reading): Atom[][] {
  const parts: Atom[][] = [];
  let from = 0;
  for (const start of turnStarts(atoms, reading)) {
    const { asked = '' } = turnOf(atoms[start]!, reading.tokens) ?? {};
    const isPart = [atoms.slice(from, start), atoms.slice(start)].every(
      (one) => digitsOf(one).length >= PART_DIGITS,
    );
    const most = isPart ? MOST_SAID_BETWEEN_PARTS : MOST_SAID_BETWEEN;
    if (asked.split(' ').length <= most && askedFor(asked, reading) === undefined) continue;
    parts.push(atoms.slice(from, start));
    from = start;
  }
  return [...parts, atoms.slice(from)];
}

function turnOf({ from }: Atom, tokens: readonly TextToken[]): TextToken | undefined {
  for (let at = from - 1; at >= 0; at--) if (tokens[at]!.type === 'turn') return tokens[at];
  return undefined;
}

function isHarmless(atoms: readonly Atom[], reading: Reading): boolean {
  return isOtherForm(atoms, reading) || isAnnouncedOtherwise(atoms, reading);
}

/** As something that is nobody's, before it, behind it, or by a question. */
function isAnnouncedOtherwise(atoms: readonly Atom[], reading: Reading): boolean {
  const { tokens, words } = reading;
  const [from, to] = [atoms[0]!.from, atoms.at(-1)!.to];
  if (cueAt(from, to, reading) === 'other') return true;
  const behind = wordsAfter(tokens, to, 5, { clause: true });
  return words.counted.test(behind) || cuesIn(behind, words.cues).some(({ cue }) => cue === 'other');
}

/** Amounts, versions, addresses of machines, years, times, and numbers in their order. */
function isOtherForm(atoms: readonly Atom[], { tokens }: Reading): boolean {
  const written = writtenAs(atoms, { tokens });
  const [before, after] = [tokens[atoms[0]!.from - 1], tokens[atoms.at(-1)!.to]];
  if (/^[$€£¥₹]$/.test(before?.word ?? '')) return true;
  if (atoms.length === 1 && (after?.said.kind === 'unit' || after?.said.kind === 'end')) return true;
  // "Eight million".
  if (atoms.length === 1 && tokens[atoms[0]!.from]!.type === 'word') return true;
  if (/^\d{1,3}([.,'’]\d{3})+([.,]\d{1,2})?$/.test(written) || /^\d+[.,]\d+$/.test(written)) return true;
  if (/^[1-9]\d{0,2}(\.\d{1,5}){3}$/.test(written) || /\d:\d\d/.test(written)) return true;
  const texts = atoms.map(({ text }) => text);
  if (texts.every((text) => /^(?:19|20)\d\d$/.test(text))) return true;
  const values = texts.map(Number);
  const ascends = values.every((value, at) => at === 0 || value > values[at - 1]!);
  return values.length >= 4 && ascends && texts.every((text) => text.length <= 3);
}

/** Numbers with letters, as ids have them. */
function isMixedNumber(atoms: readonly Atom[]): boolean {
  const text = digitsOf(atoms);
  const digits = text.replace(/\D/g, '').length;
  return (
    text.length >= 9 && text.length <= 20 && digits >= 5 && digits < text.length && text.length - digits <= 6
  );
}
