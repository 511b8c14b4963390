import type { Token } from '@parley/shared/languages/dictation/table';
import { tableOf } from '@parley/shared/languages/dictation/tables';
import { toItems, tokenize } from '@parley/shared/languages/dictation/tokens';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';
import { telephoneNumber } from '../../turns/dictation/dialled-number.ts';
import { cutAt, valueWords } from './word-tables.ts';

/** As many as anything has that is dictated. */
const MOST_DIGITS = 64;
/** So many digits at least are the beginning of a telephone number. */
const LEAST_PIECE = 2;

/**
 * Digits that were spoken or written: "double five oh" is 550. What follows a word of correction takes the place of as many
 * digits before it.
 * @returns with "+" in front where that was said; empty: there are none
 */
export function readDigits(text: string, language: string): string {
  const { unspaced } = tableOf(language);
  const parts = cutAt(text, valueWords(language).corrections, unspaced);
  const digits = parts.map((part) => digitsOf(part, language)).filter((part) => part !== '');
  return digits.reduce((before, correction) => corrected(before, correction), '').slice(0, MOST_DIGITS);
}

/** Digits whose end, or all of them, were said anew. */
export function corrected(before: string, correction: string): string {
  if (correction.startsWith('+') || correction.length >= before.length) return correction;
  return before.slice(0, before.length - correction.length) + correction;
}

/**
 * Digits that go on, or were said again.
 * @param before what was read so far
 */
export function continued(before: string, more: string): string {
  if (more.startsWith('+') || more.startsWith(before) || isLike(before, more)) return more;
  return (before + more).slice(0, MOST_DIGITS);
}

/** Whether digits are the same ones, said again with few others among them. */
function isLike(before: string, again: string): boolean {
  const same = [...again].filter((digit, i) => digit === before[i]).length;
  return again.length === before.length && same >= before.length / 2;
}

/** A telephone number. @returns E.164, the piece of one that is not whole yet, or nothing */
export function readPhone(
  digits: string,
  country: string | undefined,
): { number: string } | { piece: string } | undefined {
  const parsed = parsePhoneNumberFromString(digits, country as CountryCode | undefined);
  if (parsed?.isValid()) return { number: parsed.number };
  const isPiece = digits.length >= LEAST_PIECE && telephoneNumber(digits, country) === 'incomplete';
  return isPiece ? { piece: digits } : undefined;
}

function digitsOf(text: string, language: string): string {
  const table = tableOf(language);
  const runs: Token[][] = [];
  let run: Token[] | undefined;
  for (const token of tokenize(text, table)) {
    if (token.kind === 'amount') {
      // Groups of figures with one sign between them.
      runs.push([{ ...token, kind: 'number', text: token.text.replaceAll(/\D/g, ''), figures: true }]);
      run = undefined;
    } else if (['number', 'scale', 'repeat', 'join'].includes(token.kind)) {
      if (!run) runs.push((run = []));
      run.push(token);
    } else run = undefined;
  }
  const numeric = runs.filter((one) => one.some(({ kind }) => kind !== 'join'));
  // "One" by itself is no digit where others are dictated: "the one that I have is …".
  const counted = numeric.filter(
    (one) => numeric.length === 1 || one.length > 1 || one[0]!.figures || one[0]!.value !== 1,
  );
  const digits = counted
    .flatMap((one) => toItems(one, table))
    .map((item) => item.digits)
    .join('');
  const plus = digits !== '' && tokenize(text, table).some(({ kind }) => kind === 'plus');
  return plus ? `+${digits}` : digits;
}
