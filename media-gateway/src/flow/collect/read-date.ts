import { tableOf } from '@parley/shared/languages/dictation/tables';
import { compound, readNumber, tokenize } from '@parley/shared/languages/dictation/tokens';
import type { DictationTable } from '@parley/shared/languages/dictation/table';
import { toLocale } from '@parley/shared/languages/locale';
import { valueWords } from './word-tables.ts';

const DAY_MS = 86_400_000;
/** A year of two figures further ahead than this is one of the century before. */
const FURTHEST_YEARS = 20;

/**
 * The date of a text. A day of the week is the next one, a date without a year the next such date.
 * @param today YYYY-MM-DD
 * @returns YYYY-MM-DD; undefined: there is none that is sure
 */
export function readDate(text: string, language: string, today: string): string | undefined {
  const said = text.toLowerCase();
  return (
    written(said, language, today) ?? withMonth(said, language, today) ?? relative(said, language, today)
  );
}

/** "2026-03-05", "5.3.2026", "03/05/26": day and month in the order of the language. */
function written(text: string, language: string, today: string): string | undefined {
  const iso = /(?<!\d)(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)/.exec(text);
  if (iso) return dateOf(Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const numeric = /(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})(?!\d)/.exec(text);
  if (!numeric) return undefined;
  const [first, second] = [Number(numeric[1]), Number(numeric[2])];
  const monthFirst = orderOf(language).startsWith('m') ? second <= 31 && first <= 12 : second > 12;
  const [day, month] = monthFirst ? [second, first] : [first, second];
  return dateOf(fullYear(numeric[3]!, today), month, day);
}

/** The order of a date in figures: "dmy", "mdy", "ymd". */
export function orderOf(language: string): string {
  return new Intl.DateTimeFormat(toLocale(language))
    .formatToParts(0)
    .flatMap(({ type }) => (type === 'day' || type === 'month' || type === 'year' ? [type[0]] : []))
    .join('');
}

/** "March the third", "3. März 2026", "le premier mai". */
function withMonth(text: string, language: string, today: string): string | undefined {
  const table = tableOf(language);
  const clean = text.replaceAll(/(?<=\d)(st|nd|rd|th|er|º|\.)(?=\s|$|,)/g, '');
  const months = monthNames(language);
  const name = [...months.keys()]
    .toSorted((a, b) => b.length - a.length)
    .find((one) => (table.unspaced ? clean.includes(one) : wordsOf(clean).includes(one)));
  if (name === undefined) return undefined;
  const at = table.unspaced
    ? clean.indexOf(name)
    : clean.search(new RegExp(`(?<!\\p{L})${name}(?!\\p{L})`, 'u'));
  const before = numbersIn(clean.slice(0, at), language, table);
  const after = numbersIn(clean.slice(at + name.length), language, table);
  const month = months.get(name)!;
  // A day stands before the month, or else behind it; a year behind both, or before all.
  const day = before.at(-1) !== undefined && before.at(-1)! <= 31 ? before.pop()! : after.shift();
  if (day === undefined || day > 31) return undefined;
  const years = [...after, ...before];
  if (years.length === 0) return next(month, day, today);
  const year = yearOf(years, today);
  return year === undefined ? undefined : dateOf(year, month, day);
}

/** "today", "tomorrow", "on Friday". */
function relative(text: string, language: string, today: string): string | undefined {
  const locale = toLocale(language);
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const words = wordsOf(text).join(' ');
  const start = Date.parse(today);
  for (const days of [2, -2, 1, 0, -1]) {
    const name = format.format(days, 'day').toLowerCase();
    if (/\d/.test(name) || !holds(words, wordsOf(name).join(' '), language)) continue;
    return isoOf(start + days * DAY_MS);
  }
  for (let days = 1; days <= 7; days++) {
    const at = start + days * DAY_MS;
    const name = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' })
      .format(at)
      .toLowerCase();
    if (holds(words, wordsOf(name).join(' '), language)) return isoOf(at);
  }
  return undefined;
}

function holds(words: string, name: string, language: string): boolean {
  return tableOf(language).unspaced ? words.includes(name) : ` ${words} `.includes(` ${name} `);
}

const wordsOf = (text: string) => text.split(/[^\p{L}\p{M}\p{N}]+/u).filter((word) => word !== '');

/** The names of the months as they stand alone, within a date, and short. */
function monthNames(language: string): Map<string, number> {
  const locale = toLocale(language);
  const names = new Map<string, number>();
  for (let month = 1; month <= 12; month++) {
    const at = Date.UTC(2026, month - 1, 1);
    const add = (options: Intl.DateTimeFormatOptions) => {
      const parts = new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }).formatToParts(at);
      const name = parts
        .find(({ type }) => type === 'month')
        ?.value.toLowerCase()
        .replace(/\.$/, '');
      if (name !== undefined && /\p{L}/u.test(name)) names.set(name, month);
    };
    add({ month: 'long' });
    add({ month: 'long', day: 'numeric' });
    add({ month: 'short', day: 'numeric' });
  }
  return names;
}

/** The numbers of a text, days of the month among them. */
function numbersIn(text: string, language: string, table: DictationTable): number[] {
  const tokens = tokenize(withOrdinals(text, language, table), table);
  const numbers: number[] = [];
  for (let at = 0; at < tokens.length;) {
    const { value, length } = readNumber(tokens, at, table);
    if (length > 0) numbers.push(value);
    at += Math.max(1, length);
  }
  return numbers;
}

/** Writes days that are said as ordinals in figures. */
function withOrdinals(text: string, language: string, table: DictationTable): string {
  const { ordinals = [], ordinalEnd } = valueWords(language);
  const known = ordinals.flatMap((forms, i) =>
    forms
      .split('|')
      .filter((form) => form !== '')
      .map((form): [string, number] => [form, i + 1]),
  );
  let changed = wordsOf(text).join(' ');
  for (const [form, day] of known.toSorted(([a], [b]) => b.length - a.length))
    changed = ` ${changed} `.replaceAll(` ${form} `, ` ${day} `).trim();
  if (!ordinalEnd) return changed;
  const day = (word: string) => {
    const stem = word.replace(ordinalEnd, '');
    const value = table.words.get(stem)?.value ?? compound(stem, table)?.value;
    return stem !== word && value !== undefined && value > 0 && value <= 31 ? String(value) : word;
  };
  return changed.split(' ').map(day).join(' ');
}

/** "1984", "nineteen eighty-four", "twenty twenty-six", "84". */
function yearOf(numbers: readonly number[], today: string): number | undefined {
  const [first, second] = numbers;
  if (numbers.length === 1)
    return first! >= 1000
      ? first
      : first! < 100
        ? fullYear(String(first).padStart(2, '0'), today)
        : undefined;
  if (numbers.length === 2 && first! >= 18 && first! <= 20 && second! < 100) return first! * 100 + second!;
  return undefined;
}

function fullYear(figures: string, today: string): number {
  if (figures.length === 4) return Number(figures);
  const now = Number(today.slice(0, 4));
  const year = Math.floor(now / 100) * 100 + Number(figures);
  return year > now + FURTHEST_YEARS ? year - 100 : year;
}

function next(month: number, day: number, today: string): string | undefined {
  const year = Number(today.slice(0, 4));
  const date = dateOf(year, month, day);
  // The 29th of February is not in each year.
  return date !== undefined && date >= today ? date : dateOf(year + 1, month, day);
}

function dateOf(year: number, month: number, day: number): string | undefined {
  const at = Date.UTC(year, month - 1, day);
  const date = new Date(at);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year >= 1800 && year < 2200;
  return exists ? isoOf(at) : undefined;
}

const isoOf = (at: number) => new Date(at).toISOString().slice(0, 10);
