import * as de from 'n2words/de-DE';
import * as enGB from 'n2words/en-GB';
import * as enUS from 'n2words/en-US';
import * as es from 'n2words/es-ES';
import * as fr from 'n2words/fr-FR';
import * as hi from 'n2words/hi-IN';
import * as it from 'n2words/it-IT';
import * as nl from 'n2words/nl-NL';
import * as pl from 'n2words/pl-PL';
import * as pt from 'n2words/pt-PT';
import * as tr from 'n2words/tr-TR';

interface Converter {
  toCardinal(value: string | number): string;
  toOrdinal(value: string | number): string;
  toCurrency(value: string): string;
}

/** Converters by language, each with the currency that its `toCurrency` speaks. */
const CONVERTERS = {
  en: { words: enUS, currency: 'USD' },
  de: { words: de, currency: 'EUR' },
  fr: { words: fr, currency: 'EUR' },
  es: { words: es, currency: 'EUR' },
  it: { words: it, currency: 'EUR' },
  pt: { words: pt, currency: 'EUR' },
  nl: { words: nl, currency: 'EUR' },
  pl: { words: pl, currency: 'PLN' },
  tr: { words: tr, currency: 'TRY' },
  hi: { words: hi, currency: 'INR' },
} as const satisfies Record<string, { words: Converter; currency: string }>;

/** Languages whose numbers, dates and the like are written out. */
export type SpokenLanguage = keyof typeof CONVERTERS;

/** The language of a BCP 47 tag, if it is one whose numbers are written out. */
export function spokenLanguage(tag: string): SpokenLanguage | undefined {
  const language = tag.split('-', 1)[0]!.toLowerCase();
  return Object.hasOwn(CONVERTERS, language) ? (language as SpokenLanguage) : undefined;
}

/** Languages in which numbers that end in one follow their noun: a voice does that better than a table. */
const INFLECTED_ONE: ReadonlySet<SpokenLanguage> = new Set(['de', 'fr', 'es', 'it', 'pt', 'pl', 'hi']);

/** Numbers of one language, in words. */
export class NumberWords {
  readonly language: SpokenLanguage;
  readonly #locale: string;
  readonly #converter: Converter;
  readonly #currency: string;
  readonly #digits: readonly string[];

  /** @param locale a locale that `Intl` knows, of the language */
  constructor(language: SpokenLanguage, locale: string) {
    const british = language === 'en' && /-(GB|IE|AU|NZ|IN|ZA)\b/i.test(locale);
    const { words, currency } = british ? { words: enGB, currency: 'GBP' } : CONVERTERS[language];
    this.language = language;
    this.#locale = locale;
    this.#converter = words;
    this.#currency = currency;
    this.#digits = Array.from({ length: 10 }, (_, digit) => words.toCardinal(digit));
  }

  /** @param number digits, a point before decimals, a minus sign at most; @returns undefined: a voice reads it better */
  cardinal(number: string): string | undefined {
    if (INFLECTED_ONE.has(this.language) && /(^|[^1])1$/.test(number) && !number.includes('.'))
      return undefined;
    return this.plain(number);
  }

  /** The cardinal, whatever its noun. */
  plain(number: string): string {
    const [whole, decimals = ''] = number.split('.');
    if (decimals.length <= 2) return this.#converter.toCardinal(number);
    // The converter would make one number of them.
    return `${this.#converter.toCardinal(`${whole}.${decimals[0]}`)} ${this.digits(decimals.slice(1))}`;
  }

  ordinal(number: number): string {
    return this.#converter.toOrdinal(number);
  }

  /** One digit after the other. */
  digits(text: string): string {
    return [...text].map((digit) => this.#digits[Number(digit)] ?? digit).join(' ');
  }

  /** @param amount digits, a point before decimals. @param currency ISO 4217 */
  money(amount: string, currency: string): string | undefined {
    const [major = '0', minor = ''] = amount.split('.');
    if (minor.length > 2)
      return this.#withName(amount, { style: 'currency', currency, currencyDisplay: 'name' });
    if (currency === this.#currency) return this.#converter.toCurrency(`${major}.${minor.padEnd(2, '0')}`);
    const whole = this.#withName(major, {
      style: 'currency',
      currency,
      currencyDisplay: 'name',
      maximumFractionDigits: 0,
    });
    const cents = Number(minor.padEnd(2, '0'));
    return whole === undefined || cents === 0
      ? whole
      : `${whole} ${CENTS[this.language]}${this.plain(String(cents))}`;
  }

  /** @param unit as `Intl.NumberFormat` names it */
  unit(number: string, unit: string): string | undefined {
    return this.#withName(number, { style: 'unit', unit, unitDisplay: 'long' });
  }

  /** The name with its number in words, in the order of the language. */
  #withName(number: string, options: Intl.NumberFormatOptions): string | undefined {
    const parts = new Intl.NumberFormat(this.#locale, options).formatToParts(Number(number));
    const spoken = this.cardinal(number);
    let said = false;
    return parts
      .map(({ type, value }) => {
        if (type === 'literal' || type === 'unit' || type === 'currency') return value;
        const first = !said;
        said = true;
        return first ? (spoken ?? number) : '';
      })
      .join('')
      .replace(/\s+/g, ' ')
      .trim();
  }
}

/** What stands between a currency and what is less than one of it. */
const CENTS: Record<SpokenLanguage, string> = {
  en: '',
  de: '',
  fr: '',
  es: 'con ',
  it: 'e ',
  pt: 'e ',
  nl: '',
  pl: '',
  tr: '',
  hi: '',
};
