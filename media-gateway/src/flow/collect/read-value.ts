import type { CollectField } from '@parley/shared/contracts/flow-definition';
import { tableOf } from '@parley/shared/languages/dictation/tables';
import { toLocale } from '@parley/shared/languages/locale';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { toWords } from '../../turns/phrases.ts';
import { yesOrNo } from '../../turns/yes-no.ts';
import { YES_NO } from '../../turns/yes-no-tables.ts';
import { continued, corrected, readDigits, readPhone } from './read-digits.ts';
import { orderOf, readDate } from './read-date.ts';
import { readMail } from './read-mail.ts';
import { readNumber } from './read-number.ts';
import { cutAt, holdsOneOf, valueWords } from './word-tables.ts';

/** The longest value that is taken, in characters. */
export const MAX_VALUE = 200;
/** What a text that was masked for the model has in the place of a value. */
const MASK = /\[[a-z_]+\]/;

/** In what circumstances something was said. */
export interface Circumstances {
  /** BCP 47 tag. */
  language: string;
  /** Where the caller is, ISO 3166-1; undefined: not known. */
  country: string | undefined;
  /** YYYY-MM-DD, where the agent is. */
  today: string;
}

/** What was read: a value, or the beginning of one that is dictated in pieces. */
export interface Read {
  value: string;
  whole: boolean;
}

const whole = (value: string | undefined): Read | undefined =>
  value === undefined || value === '' ? undefined : { value, whole: true };

/**
 * The value that a caller's words hold, in the form in which it is stored. Deterministic, and only where it is sure: what
 * it does not read, a model may. Texts (`string`) are always a model's.
 * @param before what was read so far, which may go on or be corrected
 */
export function readSaid(
  field: CollectField,
  text: string,
  at: Circumstances,
  before?: { value: string; isWrong: boolean },
): Read | undefined {
  const { language, country } = at;
  if (field.type === 'digits' || field.type === 'phone') {
    const digits = readDigits(text, language);
    if (digits === '') return undefined;
    if (!before) return dialled(field, digits, country);
    const known = field.type === 'phone' ? nationalOf(before.value) : before.value;
    const joined = before.isWrong ? corrected(known, digits) : continued(known, digits);
    // A telephone number that is said anew is whole by itself.
    const alone = field.type === 'phone' ? readPhone(digits, country) : undefined;
    return alone && 'number' in alone ? whole(alone.number) : dialled(field, joined, country);
  }
  const parts = cutAt(text, valueWords(language).corrections, tableOf(language).unspaced);
  const isCorrected = parts.length > 1 && field.type !== 'boolean';
  // What was said last holds.
  for (const part of isCorrected ? parts.toReversed() : [text]) {
    const value = readPart(field, part, at);
    if (value !== undefined) return whole(value);
  }
  return undefined;
}

function readPart(field: CollectField, text: string, { language, today }: Circumstances): string | undefined {
  switch (field.type) {
    case 'number':
      return readNumber(text, language);
    case 'boolean': {
      const answer = yesOrNo(text, field.description, language);
      return answer === 'unclear' ? undefined : String(answer === 'yes');
    }
    case 'date':
      return readDate(text, language, today);
    case 'email':
      return readMail(text, language);
    case 'enum':
      return optionIn(text, field.options, language);
    default:
      return undefined;
  }
}

/** The value of an entry of keys. Options are chosen by their number, a yes is 1 and a no 2, dates have eight figures. */
export function readKeys(field: CollectField, digits: string, at: Circumstances): Read | undefined {
  switch (field.type) {
    case 'digits':
      return whole(digits);
    case 'phone':
      return dialled(field, digits.replace(/^\*/, '+'), at.country);
    case 'number':
      return /^\d+(\*\d+)?$/.test(digits) ? whole(String(Number(digits.replace('*', '.')))) : undefined;
    case 'boolean':
      return digits === '1' ? whole('true') : digits === '2' ? whole('false') : undefined;
    case 'enum':
      return whole(field.options[Number(digits) - 1]);
    case 'date': {
      if (!/^\d{8}$/.test(digits)) return undefined;
      const order = orderOf(at.language);
      const lengths: Record<string, number> = { d: 2, m: 2, y: 4 };
      let from = 0;
      const parts: Record<string, string> = {};
      for (const part of order) parts[part] = digits.slice(from, (from += lengths[part]!));
      return whole(readDate(`${parts['y']}-${parts['m']}-${parts['d']}`, at.language, at.today));
    }
    default:
      return undefined;
  }
}

/** What a model has understood, checked as if the caller had said it. @param given in whatever form */
export function readGiven(field: CollectField, given: unknown, at: Circumstances): string | undefined {
  if (typeof given !== 'string' && typeof given !== 'number' && typeof given !== 'boolean') return undefined;
  const text = String(given).trim().slice(0, MAX_VALUE);
  if (text === '' || MASK.test(text)) return undefined;
  if (field.type === 'string') return text;
  if (field.type === 'boolean') return text === 'true' || text === 'false' ? text : undefined;
  if (field.type === 'enum') return field.options.find((one) => plain(one) === plain(text));
  if (field.type === 'number') return Number.isFinite(Number(text)) ? String(Number(text)) : undefined;
  if (field.type === 'date')
    return /^\d{4}-\d\d-\d\d$/.test(text) ? readDate(text, at.language, at.today) : undefined;
  const read = readSaid(field, text, at);
  return read?.whole ? read.value : undefined;
}

/** How a value is said to the caller. */
export function spokenValue(field: CollectField, value: string, language: string): string {
  switch (field.type) {
    case 'digits':
      return grouped(inThrees(value));
    case 'phone':
      return grouped(parsePhoneNumberFromString(value)?.formatNational().match(/\d+/g) ?? [value]);
    case 'date':
      return new Intl.DateTimeFormat(toLocale(language), { dateStyle: 'long', timeZone: 'UTC' }).format(
        Date.parse(value),
      );
    case 'boolean': {
      const { yes, no } = YES_NO[language.split('-', 1)[0]!.toLowerCase()] ?? YES_NO['en']!;
      return value === 'true' ? yes[0]! : no[0]!;
    }
    default:
      return value;
  }
}

/** The last group has up to four. */
const inThrees = (digits: string): string[] =>
  digits.length <= 4 ? [digits] : [digits.slice(0, 3), ...inThrees(digits.slice(3))];
const grouped = (groups: readonly string[]) => groups.map((group) => [...group].join(' ')).join(', ');

function dialled(field: CollectField, digits: string, country: string | undefined): Read | undefined {
  if (field.type !== 'phone') return whole(digits.replace(/^\+/, ''));
  const read = readPhone(digits, country);
  if (!read) return undefined;
  return 'number' in read ? whole(read.number) : { value: read.piece, whole: false };
}

/** The digits of a number as somebody in its country says them; of a piece, itself. */
function nationalOf(value: string): string {
  const parsed = parsePhoneNumberFromString(value);
  return parsed ? parsed.formatNational().replaceAll(/\D/g, '') : value;
}

/** The one option that a text names; undefined: none, several, or one that is not meant. */
function optionIn(text: string, options: readonly string[], language: string): string | undefined {
  const { unspaced } = tableOf(language);
  const said = ` ${plain(text)} `;
  const named = options.filter(
    (one) => plain(one) !== '' && said.includes(unspaced ? plain(one) : ` ${plain(one)} `),
  );
  // "Extra large" is not "large".
  const longest = named.filter(
    (one) => !named.some((other) => other !== one && plain(other).includes(plain(one))),
  );
  if (longest.length !== 1) return undefined;
  const rest = said.replace(plain(longest[0]!), ' ');
  return holdsOneOf(rest, valueWords(language).negations, unspaced) ? undefined : longest[0];
}

/** As words are compared: without case, accents and punctuation. */
function plain(text: string): string {
  return toWords(
    text
      .normalize('NFD')
      .replaceAll(/\p{Mn}/gu, '')
      .normalize('NFC'),
  ).join(' ');
}
