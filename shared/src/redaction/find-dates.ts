import { askedFor, cueAt } from './number-cues.ts';
import { wordsAfter, wordsBefore, type Reading } from './findings.ts';
import { touch, type TextToken } from './text-tokens.ts';

const FURTHEST = 7;

/** Whoever was born since hardly calls. */
const YOUNGEST = 15;
const EVENT_WORDS = 8;

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
    const isBirth = cue === 'birth' || (cue !== 'other' && isLongAgo(from, to, reading));
    findings.claim(from, to, isBirth ? 'date_of_birth' : 'none');
    at = to - 1;
  }
}

/** A day of a year in which callers were born, and nothing says what else was on it. */
function isLongAgo(from: number, to: number, reading: Reading): boolean {
  const { tokens, words } = reading;
  const until = new Date().getUTCFullYear() - YOUNGEST;
  const numbers = tokens.slice(from, to).filter((token) => isNumber(token, words));
  const month = tokens.slice(from, to).some(({ word }) => words.months.has(word));
  if (numbers.length < (month ? 2 : 3)) return false;
  if (!yearsOf(from, to, reading).some((year) => year > 1900 && year <= until)) return false;
  const around = `${wordsBefore(tokens, from, EVENT_WORDS).text}|${wordsAfter(tokens, to, EVENT_WORDS)}`;
  words.events.lastIndex = 0;
  return !words.events.test(around);
}

/** What in a date may be its year: "1985", "nineteen eighty-five", "ninety-nine". */
function yearsOf(from: number, to: number, { runs }: Reading): number[] {
  const values = runs
    .flatMap(({ atoms }) => atoms)
    .filter((atom) => !atom.letters && atom.from >= from && atom.to <= to)
    .map(({ text }) => (text.length <= 4 ? Number(text) : 0));
  return values.map((value, at) => {
    if (values[at - 1] === 19 && value < 100) return 1900 + value;
    return at === values.length - 1 && value > 31 && value < 100 ? 1900 + value : value;
  });
}

/** "03/12/1985", "3.12.85", "1985-12-03". */
function writtenDate(tokens: readonly TextToken[], at: number): [number, number] | undefined {
  const [day, first, month, second, year] = tokens.slice(at, at + 5);
  if (day?.type !== 'figures' || month?.type !== 'figures' || year?.type !== 'figures') return undefined;
  if (
    first!.word !== second!.word ||
    !/^[./-]$/.test(first!.word) ||
    !touch(day, first) ||
    // "12. 3. 1985".
    (first!.word !== '.' && !touch(second, year)) ||
    !touch(month, second)
  )
    return undefined;
  const sizes = `${day.raw.length}${month.raw.length}${year.raw.length}`;
  if (!/^([12][12][24]|4[12][12])$/.test(sizes)) return undefined;
  const [a, b, c] = [Number(day.raw), Number(month.raw), Number(year.raw)];
  const [d, m] = day.raw.length === 4 ? [c, b] : [a, b];
  return d <= 31 && m <= 31 && d > 0 && m > 0 && (d <= 12 || m <= 12) ? [at, at + 5] : undefined;
}

/** "March 12th, 1985", "the third of May nineteen sixty", "12. März 1985". */
function datesWithMonth(reading: Reading, at: number): [number, number] | undefined {
  const { tokens, words } = reading;
  const month = tokens[at]!;
  if (month.type !== 'word') return undefined;
  const byOrder = isMonthByOrder(reading, at);
  if (!words.months.has(month.word) && !byOrder) return undefined;
  let from = at;
  for (let place = at - 1; place >= Math.max(0, at - FURTHEST); place--) {
    const token = tokens[place]!;
    if (isNumber(token, words)) from = place;
    else if (!mayStandWithin(token, reading)) break;
  }
  let to = at + 1;
  for (let place = at + 1; place < Math.min(tokens.length, at + 1 + FURTHEST); place++) {
    const token = tokens[place]!;
    if (isNumber(token, words)) to = place + 1;
    else if (/^(th|st|nd|rd)$/.test(token.word)) to = place + 1;
    else if (!mayStandWithin(token, reading)) break;
  }
  if (byOrder && (from === at || to === at + 1)) return undefined;
  if (from === at && to === at + 1) return undefined;
  const article = tokens[from - 1];
  return [article && /^(the|der|den)$/.test(article.word) ? from - 1 : from, to];
}

/** Between the parts of a date, which may be given in two turns: but not where something else is asked. */
function mayStandWithin(token: TextToken, reading: Reading): boolean {
  if (token.type !== 'turn') return reading.words.dateWords.has(token.word) || /^[.,'’-]$/.test(token.word);
  const asked = askedFor(token.asked ?? '', reading);
  return asked === undefined || asked === 'birth';
}

/** "The third of the fifth, eighty-five". */
function isMonthByOrder({ tokens, words }: Reading, at: number): boolean {
  if (!isOrder(tokens[at]!, words)) return false;
  for (let place = at - 1; place >= Math.max(0, at - 4); place--) {
    const token = tokens[place]!;
    if (isOrder(token, words))
      return isNumber(tokens[at + 1] ?? token, words) || isNumber(tokens[at + 2] ?? token, words);
    if (!words.dateWords.has(token.word)) return false;
  }
  return false;
}

const isOrder = (token: TextToken, words: Reading['words']) =>
  token.type === 'word' &&
  (words.ordinals.has(token.word) || (words.source.ordinalEnd !== '' && isOrdinal(token.word)));

function isNumber(token: TextToken, words: Reading['words']): boolean {
  if (token.type === 'figures') return true;
  if (token.type !== 'word') return false;
  const { kind } = token.said;
  if (kind === 'number' || kind === 'scale' || words.ordinals.has(token.word)) return true;
  return words.source.ordinalEnd !== '' && isOrdinal(token.word);
}

const isOrdinal = (word: string) =>
  /^(zwei|vier|fünf|sechs|neun|zehn|elf|zwölf|\p{L}*(zehn|zig|ßig))(sten|ster|ste|ten|ter|te)$/u.test(word);
