import { cueAt } from './find-numbers.ts';
import type { Reading } from './findings.ts';
import { touch, type TextToken } from './text-tokens.ts';

const FURTHEST = 7;

/** Finds dates: those of a birth are claimed as such, others as nothing personal. */
export function findDates(reading: Reading): void {
  const { tokens, findings } = reading;
  for (let at = 0; at < tokens.length; at++) {
    const found = writtenDate(tokens, at) ?? datesWithMonth(reading, at);
    if (!found) continue;
    const [from, to] = found;
    if (!findings.isFree(from, to)) continue;
    const cue = cueAt(from, to, reading);
    // Groups of an account or a card that might be a date: the number is looked at as what it was announced as.
    if (cue !== undefined && cue !== 'birth' && cue !== 'other' && tokens[from + 1]?.word === '-') continue;
    findings.claim(from, to, cue === 'birth' ? 'date_of_birth' : 'none');
    at = to - 1;
  }
}

/** "03/12/1985", "3.12.85", "1985-12-03". */
function writtenDate(tokens: readonly TextToken[], at: number): [number, number] | undefined {
  const [day, first, month, second, year] = tokens.slice(at, at + 5);
  if (day?.type !== 'figures' || month?.type !== 'figures' || year?.type !== 'figures') return undefined;
  if (
    first!.word !== second!.word ||
    !/^[./-]$/.test(first!.word) ||
    !touch(day, first) ||
    !touch(second, year)
  )
    return undefined;
  const sizes = `${day.raw.length}${month.raw.length}${year.raw.length}`;
  if (!/^([12][12][24]|4[12][12])$/.test(sizes)) return undefined;
  const [a, b, c] = [Number(day.raw), Number(month.raw), Number(year.raw)];
  const [d, m] = day.raw.length === 4 ? [c, b] : [a, b];
  return d <= 31 && m <= 31 && d > 0 && m > 0 && (d <= 12 || m <= 12) ? [at, at + 5] : undefined;
}

/** "March 12th, 1985", "the third of May nineteen sixty", "12. März 1985". */
function datesWithMonth({ tokens, words }: Reading, at: number): [number, number] | undefined {
  const month = tokens[at]!;
  if (month.type !== 'word' || !words.months.has(month.word)) return undefined;
  let from = at;
  for (let place = at - 1; place >= Math.max(0, at - FURTHEST); place--) {
    const token = tokens[place]!;
    if (isNumber(token, words)) from = place;
    else if (!words.dateWords.has(token.word) && token.word !== '.') break;
  }
  let to = at + 1;
  for (let place = at + 1; place < Math.min(tokens.length, at + 1 + FURTHEST); place++) {
    const token = tokens[place]!;
    if (isNumber(token, words)) to = place + 1;
    else if (/^(th|st|nd|rd)$/.test(token.word)) to = place + 1;
    else if (!words.dateWords.has(token.word) && !/^[.,]$/.test(token.word)) break;
  }
  if (from === at && to === at + 1) return undefined;
  const article = tokens[from - 1];
  return [article && /^(the|der|den)$/.test(article.word) ? from - 1 : from, to];
}

function isNumber(token: TextToken, words: Reading['words']): boolean {
  if (token.type === 'figures') return true;
  if (token.type !== 'word') return false;
  const { kind } = token.said;
  if (kind === 'number' || kind === 'scale' || words.ordinals.has(token.word)) return true;
  return words.source.ordinalEnd !== '' && isOrdinal(token.word);
}

const isOrdinal = (word: string) =>
  /^(zwei|vier|fünf|sechs|neun|zehn|elf|zwölf|\p{L}*(zehn|zig|ßig))(sten|ster|ste|ten|ter|te)$/u.test(word);
