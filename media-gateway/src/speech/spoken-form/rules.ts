import { CURRENCY_SIGNS, LANGUAGE_TABLES, UNITS, type LanguageTable } from './language-tables.ts';
import type { NumberWords } from './number-words.ts';

/** Finds one kind of text that voices read badly, and says how it is spoken. */
export interface SpokenRule {
  /** Global. */
  pattern: RegExp;
  /** @param before what stands before the match; @returns undefined: it is left as it is written */
  say(match: RegExpExecArray, before: string): string | undefined;
}

const SPACE = '[ \\u00a0\\u202f]';
const START = '(?<![\\p{L}\\p{N}.,:/@#-])';
const END = '(?![\\p{L}\\p{N}/@]|[.,:]\\d)';
const DOMAIN =
  '(?:[a-z0-9-]+\\.)+(?:com|org|net|edu|gov|info|eu|co\\.uk|uk|de|fr|io|ai|app|dev|nl|pl|ch|at|com\\.tr|com\\.br)';

/** Everything that is written out in one language, the most particular first. @param locale one that `Intl` knows */
export function rulesFor(words: NumberWords, locale: string): SpokenRule[] {
  const table = LANGUAGE_TABLES[words.language];
  const number = numberPattern(table);
  const value = (text: string) => plainNumber(text, table);
  return [
    ...addresses(words, table),
    ...dates(words, table, locale),
    ...times(words, table),
    ...telephoneNumbers(words, table),
    ...amounts(words, number, value),
    ...codes(words),
    ...numbers(words, table, number, value),
    ...abbreviations(table),
  ];
}

// ---- addresses ----

function addresses(words: NumberWords, table: LanguageTable): SpokenRule[] {
  const signs: Record<string, string> = {
    '.': table.dot,
    '-': table.dash,
    _: table.underscore,
    '/': table.slash,
    '+': table.plus,
    '@': table.at,
  };
  const spell = (text: string) =>
    text
      .replace(/[.\-_/+@]/g, (sign) => ` ${signs[sign]!} `)
      .replace(/\d+/g, (digits) => ` ${words.digits(digits)} `)
      .replace(/\s+/g, ' ')
      .trim();
  return [
    { pattern: /(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, say: ([text]) => spell(text) },
    {
      pattern: new RegExp(
        `(?:https?://(?:[^\\s/]+)|(?<![\\w@.-])(?:www\\.[\\w-]+\\.[\\w.]*\\w|${DOMAIN}(?![\\w-])))(?:/(?:[^\\s]*[^\\s.,;:!?)"'])?)?`,
        'g',
      ),
      say([text]) {
        const bare = text
          .replace(/^https?:\/\//, '')
          .replace(/[?#].*$/, '')
          .replace(/\/$/, '');
        return spell(bare.replace(/^www\./, 'w w w.'));
      },
    },
  ];
}

// ---- dates and times ----

function dates(words: NumberWords, table: LanguageTable, locale: string): SpokenRule[] {
  const format = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', timeZone: 'UTC' });
  const order = new Intl.DateTimeFormat(locale).formatToParts(0).map(({ type }) => type);
  const monthFirst = order.indexOf('month') < order.indexOf('day');
  const say = (year: number | undefined, month: number, day: number, before: string) => {
    const date = new Date(Date.UTC(year ?? 2000, month - 1, day));
    if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
    const name = format.formatToParts(date).find(({ type }) => type === 'month')!.value;
    return table.date(
      table.day(words, day, before),
      name,
      year === undefined ? undefined : yearWords(words, year),
    );
  };
  const months = Array.from({ length: 12 }, (_, i) => {
    const parts = format.formatToParts(Date.UTC(2000, i, 15));
    return parts.find(({ type }) => type === 'month')!.value;
  });
  const names = months.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const rules: SpokenRule[] = [
    {
      pattern: new RegExp(`${START}(\\d{4})-(\\d{2})-(\\d{2})${END}`, 'gu'),
      say: ([, year, month, day], before) => say(Number(year), Number(month), Number(day), before),
    },
    {
      pattern: new RegExp(`${START}(\\d{1,2})([./-])(\\d{1,2})\\2(\\d{4})${END}`, 'gu'),
      say([, first, sign, second, year], before) {
        const american = monthFirst && sign !== '.';
        const [day, month] = american ? [second, first] : [first, second];
        return say(Number(year), Number(month), Number(day), before);
      },
    },
  ];
  if (words.language === 'en')
    rules.push({
      pattern: new RegExp(`\\b(${names}) (\\d{1,2})(?:st|nd|rd|th)?(?:,? (\\d{4}))?${END}`, 'gu'),
      say: ([, name, day, year], before) =>
        say(year === undefined ? undefined : Number(year), months.indexOf(name!) + 1, Number(day), before),
    });
  else
    rules.push({
      pattern: new RegExp(
        `${START}(\\d{1,2})(?:\\.|er)? (?:de )?(${names})(?:(?: de)? (\\d{4}))?${END}`,
        'giu',
      ),
      say([, day, name, year], before) {
        const month = months.findIndex((one) => one.toLowerCase() === name!.toLowerCase()) + 1;
        return say(year === undefined ? undefined : Number(year), month, Number(day), before);
      },
    });
  return rules;
}

function yearWords(words: NumberWords, year: number): string {
  const [century, rest] = [Math.floor(year / 100), year % 100];
  if (words.language !== 'en' || century % 10 === 0 || century < 11) {
    if (words.language !== 'en' || century !== 20 || rest < 10) return words.plain(String(year));
  }
  const first = words.plain(String(century));
  if (rest === 0) return `${first} hundred`;
  return `${first} ${rest < 10 ? `oh ${words.plain(String(rest))}` : words.plain(String(rest))}`;
}

function times(words: NumberWords, table: LanguageTable): SpokenRule[] {
  const say = (hour: number, minute: number, half?: string) => {
    if (hour > 23 || minute > 59) return undefined;
    const upper = half?.replaceAll('.', '').replaceAll(' ', '').toUpperCase();
    if (upper !== undefined && (hour === 0 || hour > 12)) return undefined;
    return table.time(words, hour, minute, upper === 'AM' || upper === 'PM' ? upper : undefined);
  };
  const behind = { de: `(?:${SPACE}?Uhr)?`, nl: `(?:${SPACE}?uur)?`, hi: `(?:${SPACE}?बजे)?` };
  const own = behind[words.language as keyof typeof behind] ?? '';
  const rules: SpokenRule[] = [
    {
      pattern: new RegExp(
        `${START}(\\d{1,2}):(\\d{2})(?:${SPACE}?([AaPp]\\.[Mm]\\.|[AaPp][Mm]\\b))?${own}(?![\\p{L}\\p{N}/]|:\\d)`,
        'gu',
      ),
      say: ([, hour, minute, half]) => say(Number(hour), Number(minute), half),
    },
  ];
  if (words.language === 'en')
    rules.push({
      pattern: new RegExp(`${START}(\\d{1,2})${SPACE}?([AaPp]\\.[Mm]\\.|[AaPp][Mm]\\b)`, 'gu'),
      say: ([, hour, half]) =>
        Number(hour) >= 1 && Number(hour) <= 12
          ? `${words.plain(hour!)} ${half!.replaceAll('.', '').toUpperCase()}`
          : undefined,
    });
  if (words.language === 'fr')
    rules.push({
      pattern: new RegExp(`${START}(\\d{1,2})${SPACE}?h(?:${SPACE}?(\\d{2}))?${END}`, 'gu'),
      say: ([, hour, minute]) => say(Number(hour), Number(minute ?? 0)),
    });
  if (words.language === 'de')
    rules.push({
      pattern: new RegExp(`${START}(\\d{1,2})(?:\\.(\\d{2}))?${SPACE}Uhr${END}`, 'gu'),
      say: ([, hour, minute]) => say(Number(hour), Number(minute ?? 0)),
    });
  return rules;
}

// ---- telephone numbers and codes ----

function telephoneNumbers(words: NumberWords, table: LanguageTable): SpokenRule[] {
  const say = (text: string) => {
    const groups = text.match(/\d+/g)!;
    const digits = groups.join('').length;
    if (digits < 7 || digits > 15) return undefined;
    // Thousands.
    if (/^\d{1,3}(?:[ \u00a0\u202f]\d{3})+$/.test(text)) return undefined;
    const spoken = groups.map((group) => words.digits(group)).join(', ');
    return text.startsWith('+') ? `${table.plus} ${spoken}` : spoken;
  };
  return [
    { pattern: /(?<![\p{L}\p{N}])\+\d(?:[ ().\-/\u00a0]{0,2}\d){6,14}(?!\d)/gu, say: ([text]) => say(text) },
    {
      pattern:
        /(?<![\p{L}\p{N}.,+-])(?:\(\d{2,5}\)[ -]?|\d{2,5}[ -])\d{2,4}(?:[ .-]\d{2,4})+(?![\p{L}\p{N}]|[.,]\d)/gu,
      say: ([text]) => say(text),
    },
    { pattern: /(?<![\p{L}\p{N}])0\d{2,4}[ /-]\d{4,9}(?!\d)/gu, say: ([text]) => say(text) },
  ];
}

function codes(words: NumberWords): SpokenRule[] {
  const spell = (part: string) =>
    part
      .match(/\d+|\D+/g)!
      .map((run) => (/\d/.test(run) ? words.digits(run) : [...run].join(' ')))
      .join(' ');
  return [
    {
      // Capitals with digits.
      pattern:
        /(?<![\p{L}\p{N}-])(?=[A-Z0-9-]*[0-9])(?=[A-Z0-9-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\p{L}\p{N}-])/gu,
      say([text]) {
        if (text.length < 3) return undefined;
        const parts = text.split('-');
        // A name with its number.
        if (/^[A-Z]{4,}$/.test(parts[0]!)) {
          const number = parts.slice(1).join('');
          return /^\d{1,3}$/.test(number) ? `${parts[0]!} ${words.plain(number)}` : undefined;
        }
        return parts.map(spell).join(', ');
      },
    },
    {
      // Digits that are no quantity: many of them, or with a zero before.
      pattern:
        /(?<![\p{L}\p{N}.,:/-])(?<!\d[ \u00a0\u202f])(?:\d{7,20}|0\d{1,19})(?![\p{L}\p{N}:/]|[.,]\d)/gu,
      say: ([text]) => words.digits(text),
    },
  ];
}

// ---- amounts and numbers ----

function amounts(words: NumberWords, number: string, value: (text: string) => string): SpokenRule[] {
  const signs = Object.keys(CURRENCY_SIGNS)
    .sort((a, b) => b.length - a.length)
    .map((sign) => sign.replace('$', '\\$'))
    .join('|');
  const isos = [...new Set(Object.values(CURRENCY_SIGNS)), 'CHF', 'CAD', 'AUD'].join('|');
  const currencyOf = (sign: string) => CURRENCY_SIGNS[sign] ?? sign;
  const units = Object.keys(UNITS)
    .sort((a, b) => b.length - a.length)
    .join('|');
  return [
    {
      pattern: new RegExp(
        `(?<![\\p{L}\\p{N}])(${signs}|(?:${isos})${SPACE})${SPACE}?(${number})${END}`,
        'gu',
      ),
      say: ([, sign, amount]) => words.money(value(amount!), currencyOf(sign!.trim())),
    },
    {
      pattern: new RegExp(`${START}(${number})${SPACE}?(${signs}|${isos})(?![\\p{L}\\p{N}])`, 'gu'),
      say: ([, amount, sign]) => words.money(value(amount!), currencyOf(sign!)),
    },
    {
      pattern: new RegExp(`(?<![\\p{L}\\p{N}])%(${number})${END}`, 'gu'),
      say: ([, amount]) => words.unit(value(amount!), 'percent'),
    },
    {
      pattern: new RegExp(`${START}(-?${number})${SPACE}?(${units})(?![\\p{L}\\p{N}/])`, 'gu'),
      say: ([, amount, unit]) => words.unit(value(amount!), UNITS[unit!]!),
    },
  ];
}

function numbers(
  words: NumberWords,
  table: LanguageTable,
  number: string,
  value: (text: string) => string,
): SpokenRule[] {
  const rules: SpokenRule[] = [
    {
      pattern: new RegExp(
        `${START}(\\d{1,4})${SPACE}?[-–]${SPACE}?(\\d{1,4})(?![\\p{L}\\p{N}/:-]|[.,]\\d)`,
        'gu',
      ),
      say: ([, from, to]) =>
        Number(from) < Number(to) ? `${words.plain(from!)} ${table.to} ${words.plain(to!)}` : undefined,
    },
  ];
  if (table.ordinal)
    rules.push({
      pattern: new RegExp(`${START}${table.ordinal.source}(?![\\p{L}\\p{N}])`, 'gu'),
      say: ([, ordinal]) => words.ordinal(Number(ordinal)),
    });
  if (words.language === 'en')
    rules.push({
      // Years, and what is counted in hundreds.
      pattern: new RegExp(`${START}(1[1-9]\\d{2}|20[1-9]\\d)(?![\\p{L}\\p{N}/:%-]|[.,]\\d)`, 'gu'),
      say: ([year]) => yearWords(words, Number(year)),
    });
  rules.push({
    pattern: new RegExp(`${START}(-?${number})(?![\\p{L}\\p{N}/:@%]|[.,]\\d|${SPACE}?-\\d)`, 'gu'),
    say: ([text]) => (text.length > 18 ? undefined : words.cardinal(value(text))),
  });
  return rules;
}

/** A number as the language writes it. */
function numberPattern({ group, decimal }: LanguageTable): string {
  const between = group === ' ' ? SPACE : `[${group}]`;
  return `(?:\\d{1,3}(?:${between}\\d{3})+|\\d+)(?:[${decimal}]\\d+)?`;
}

/** The number with a point before its decimals, and nothing else beside its digits. */
function plainNumber(text: string, { group, decimal }: LanguageTable): string {
  const whole = group === ' ' ? text.replace(/[ \u00a0\u202f]/g, '') : text.replaceAll(group, '');
  return whole.replace(decimal, '.');
}

// ---- abbreviations ----

function abbreviations(table: LanguageTable): SpokenRule[] {
  const known = Object.keys(table.abbreviations);
  const pattern = known
    .sort((a, b) => b.length - a.length)
    .map((one) => one.replaceAll('.', '\\.'))
    .join('|');
  return [
    {
      pattern: new RegExp(`(?<![\\p{L}\\p{N}])(?:${pattern})(?![\\p{L}\\p{N}])`, 'gu'),
      say: ([text]) => table.abbreviations[text],
    },
    { pattern: /(?<=\s)&(?=\s)/g, say: () => table.and },
  ];
}
