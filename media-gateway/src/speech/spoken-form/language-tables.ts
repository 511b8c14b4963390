import type { NumberWords, SpokenLanguage } from './number-words.ts';

/** What no library knows of a language: how signs, times and abbreviations are said. */
export interface LanguageTable {
  /** `g`: between thousands, `d`: before decimals. */
  group: string;
  decimal: string;
  at: string;
  dot: string;
  dash: string;
  underscore: string;
  slash: string;
  plus: string;
  /** Between the ends of a range. */
  to: string;
  and: string;
  /** A written ordinal, its number in group 1. */
  ordinal?: RegExp;
  /** @param hour 0 to 23; 1 to 12 with `half` */
  time(words: NumberWords, hour: number, minute: number, half: 'AM' | 'PM' | undefined): string;
  /** The day of a date. @param before what stands before it in the sentence */
  day(words: NumberWords, day: number, before: string): string;
  /** A date put together. */
  date(day: string, month: string, year: string | undefined): string;
  abbreviations: Readonly<Record<string, string>>;
}

const cardinalDay = (words: NumberWords, day: number) => words.plain(String(day));
const dayMonthYear = (day: string, month: string, year: string | undefined) =>
  [day, month, year].filter(Boolean).join(' ');
const joined = (between: string) => (day: string, month: string, year: string | undefined) =>
  [day, month, year].filter(Boolean).join(` ${between} `);

/** Hours as Poles say them: feminine ordinals. */
const POLISH_HOURS =
  'zerowa pierwsza druga trzecia czwarta piąta szósta siódma ósma dziewiąta dziesiąta jedenasta dwunasta trzynasta czternasta piętnasta szesnasta siedemnasta osiemnasta dziewiętnasta dwudziesta dwudziesta_pierwsza dwudziesta_druga dwudziesta_trzecia'
    .split(' ')
    .map((hour) => hour.replace('_', ' '));

const minutes = (words: NumberWords, minute: number) => words.plain(String(minute));
const hourWord = (words: NumberWords, hour: number, one: string) =>
  hour === 1 ? one : hour === 21 && one === 'une' ? 'vingt et une' : words.plain(String(hour));

export const LANGUAGE_TABLES: Record<SpokenLanguage, LanguageTable> = {
  en: {
    group: ',',
    decimal: '.',
    at: 'at',
    dot: 'dot',
    dash: 'dash',
    underscore: 'underscore',
    slash: 'slash',
    plus: 'plus',
    to: 'to',
    and: 'and',
    ordinal: /(\d{1,4})(?:st|nd|rd|th)/,
    time(words, hour, minute, half) {
      const said = half ?? (hour === 0 ? 'AM' : hour > 12 ? 'PM' : undefined);
      const twelve = words.plain(String(hour % 12 === 0 ? 12 : hour % 12));
      if (minute === 0) return said ? `${twelve} ${said}` : `${twelve} o'clock`;
      const past = minute < 10 ? `oh ${minutes(words, minute)}` : minutes(words, minute);
      return said ? `${twelve} ${past} ${said}` : `${twelve} ${past}`;
    },
    day: (words, day) => words.ordinal(day),
    date: (day, month, year) => [month, day, year].filter(Boolean).join(' '),
    abbreviations: {
      'Mr.': 'Mister',
      'Dr.': 'Doctor',
      'Prof.': 'Professor',
      'e.g.': 'for example',
      'i.e.': 'that is',
      'approx.': 'approximately',
      'vs.': 'versus',
      'etc.': 'et cetera',
    },
  },
  de: {
    group: '.',
    decimal: ',',
    at: 'ät',
    dot: 'Punkt',
    dash: 'Bindestrich',
    underscore: 'Unterstrich',
    slash: 'Schrägstrich',
    plus: 'plus',
    to: 'bis',
    and: 'und',
    time: (words, hour, minute) =>
      `${hourWord(words, hour, 'ein')} Uhr${minute === 0 ? '' : ` ${minutes(words, minute)}`}`,
    day: (words, day, before) =>
      `${words.ordinal(day)}${/\b(am|vom|zum|dem|den|beim|ab|seit)\s*$/i.test(before) ? 'n' : 'r'}`,
    date: dayMonthYear,
    abbreviations: {
      'z. B.': 'zum Beispiel',
      'z.B.': 'zum Beispiel',
      'd. h.': 'das heißt',
      'd.h.': 'das heißt',
      'usw.': 'und so weiter',
      'ca.': 'circa',
      'Nr.': 'Nummer',
      'Dr.': 'Doktor',
      'bzw.': 'beziehungsweise',
    },
  },
  fr: {
    group: ' ',
    decimal: ',',
    at: 'arobase',
    dot: 'point',
    dash: 'tiret',
    underscore: 'tiret bas',
    slash: 'slash',
    plus: 'plus',
    to: 'à',
    and: 'et',
    ordinal: /(\d{1,4})(?:er|re|ère|e|ème)/,
    time: (words, hour, minute) =>
      `${hourWord(words, hour, 'une')} heure${hour > 1 ? 's' : ''}${minute === 0 ? '' : ` ${minutes(words, minute)}`}`,
    day: (words, day) => (day === 1 ? 'premier' : cardinalDay(words, day)),
    date: dayMonthYear,
    abbreviations: {
      Mme: 'Madame',
      Mlle: 'Mademoiselle',
      'etc.': 'et cetera',
      'n°': 'numéro',
      'env.': 'environ',
    },
  },
  es: {
    group: '.',
    decimal: ',',
    at: 'arroba',
    dot: 'punto',
    dash: 'guion',
    underscore: 'guion bajo',
    slash: 'barra',
    plus: 'más',
    to: 'a',
    and: 'y',
    ordinal: /(\d{1,4})\.?º/,
    time: (words, hour, minute) =>
      `${hourWord(words, hour, 'una')} ${minute === 0 ? 'en punto' : minutes(words, minute)}`,
    day: cardinalDay,
    date: joined('de'),
    abbreviations: {
      'Sr.': 'señor',
      'Sra.': 'señora',
      'Dr.': 'doctor',
      'Dra.': 'doctora',
      'p. ej.': 'por ejemplo',
      'aprox.': 'aproximadamente',
      'etc.': 'etcétera',
      'n.º': 'número',
    },
  },
  it: {
    group: '.',
    decimal: ',',
    at: 'chiocciola',
    dot: 'punto',
    dash: 'trattino',
    underscore: 'trattino basso',
    slash: 'barra',
    plus: 'più',
    to: 'a',
    and: 'e',
    ordinal: /(\d{1,4})[º°]/,
    time: (words, hour, minute) =>
      `${hourWord(words, hour, 'una')}${minute === 0 ? ' in punto' : ` e ${minutes(words, minute)}`}`,
    day: (words, day) => (day === 1 ? 'primo' : cardinalDay(words, day)),
    date: dayMonthYear,
    abbreviations: {
      'Sig.': 'signor',
      'Sig.ra': 'signora',
      'Dott.': 'dottor',
      'ecc.': 'eccetera',
      'ca.': 'circa',
    },
  },
  pt: {
    group: '.',
    decimal: ',',
    at: 'arroba',
    dot: 'ponto',
    dash: 'hífen',
    underscore: 'sublinhado',
    slash: 'barra',
    plus: 'mais',
    to: 'a',
    and: 'e',
    ordinal: /(\d{1,4})\.?º/,
    time: (words, hour, minute) =>
      `${hourWord(words, hour, 'uma')}${minute === 0 ? (hour === 1 ? ' hora' : ' horas') : ` e ${minutes(words, minute)}`}`,
    day: (words, day) => (day === 1 ? 'primeiro' : cardinalDay(words, day)),
    date: joined('de'),
    abbreviations: {
      'Sr.': 'senhor',
      'Sra.': 'senhora',
      'Dr.': 'doutor',
      'Dra.': 'doutora',
      'p. ex.': 'por exemplo',
      'aprox.': 'aproximadamente',
      'etc.': 'et cetera',
    },
  },
  nl: {
    group: '.',
    decimal: ',',
    at: 'apenstaartje',
    dot: 'punt',
    dash: 'streepje',
    underscore: 'laag streepje',
    slash: 'schuine streep',
    plus: 'plus',
    to: 'tot',
    and: 'en',
    ordinal: /(\d{1,4})(?:ste|de|e)/,
    time: (words, hour, minute) =>
      `${words.plain(String(hour))} uur${minute === 0 ? '' : ` ${minutes(words, minute)}`}`,
    day: cardinalDay,
    date: dayMonthYear,
    abbreviations: {
      'dhr.': 'de heer',
      'mevr.': 'mevrouw',
      'bijv.': 'bijvoorbeeld',
      'enz.': 'enzovoort',
      'ca.': 'circa',
    },
  },
  pl: {
    group: ' ',
    decimal: ',',
    at: 'małpa',
    dot: 'kropka',
    dash: 'myślnik',
    underscore: 'podkreślnik',
    slash: 'ukośnik',
    plus: 'plus',
    to: 'do',
    and: 'i',
    time: (words, hour, minute) =>
      `${POLISH_HOURS[hour]!}${minute === 0 ? '' : minute < 10 ? ` zero ${minutes(words, minute)}` : ` ${minutes(words, minute)}`}`,
    // In dates, ordinals stand in the genitive.
    day: (words, day) => words.ordinal(day).replace(/(i?)y\b|i\b/g, (end) => (end === 'i' ? 'iego' : 'ego')),
    date: dayMonthYear,
    abbreviations: {
      'np.': 'na przykład',
      'itd.': 'i tak dalej',
      'ok.': 'około',
      'ul.': 'ulica',
      'godz.': 'godzina',
    },
  },
  tr: {
    group: '.',
    decimal: ',',
    at: 'et',
    dot: 'nokta',
    dash: 'tire',
    underscore: 'alt çizgi',
    slash: 'bölü',
    plus: 'artı',
    to: 'ile',
    and: 've',
    time: (words, hour, minute) =>
      `${words.plain(String(hour))}${minute === 0 ? '' : minute < 10 ? ` sıfır ${minutes(words, minute)}` : ` ${minutes(words, minute)}`}`,
    day: cardinalDay,
    date: dayMonthYear,
    abbreviations: { 'örn.': 'örneğin', 'vb.': 've benzeri', 'vs.': 've saire', 'Dr.': 'Doktor' },
  },
  hi: {
    group: ',',
    decimal: '.',
    at: 'ऐट',
    dot: 'डॉट',
    dash: 'डैश',
    underscore: 'अंडरस्कोर',
    slash: 'स्लैश',
    plus: 'प्लस',
    to: 'से',
    and: 'और',
    time: (words, hour, minute) =>
      minute === 0
        ? `${words.plain(String(hour))} बजे`
        : `${words.plain(String(hour))} बजकर ${minutes(words, minute)} मिनट`,
    day: cardinalDay,
    date: dayMonthYear,
    abbreviations: { 'डॉ.': 'डॉक्टर' },
  },
};

/** Signs of currencies. A sign that several share stands for the one that most mean by it. */
export const CURRENCY_SIGNS: Readonly<Record<string, string>> = {
  $: 'USD',
  US$: 'USD',
  '€': 'EUR',
  '£': 'GBP',
  '₹': 'INR',
  '¥': 'JPY',
  zł: 'PLN',
  '₺': 'TRY',
  R$: 'BRL',
};

/** Signs of units, as `Intl.NumberFormat` names them. */
export const UNITS: Readonly<Record<string, string>> = {
  '%': 'percent',
  '°C': 'celsius',
  '°F': 'fahrenheit',
  'km/h': 'kilometer-per-hour',
  mph: 'mile-per-hour',
  km: 'kilometer',
  cm: 'centimeter',
  mm: 'millimeter',
  m: 'meter',
  kg: 'kilogram',
  g: 'gram',
  l: 'liter',
  ml: 'milliliter',
  GB: 'gigabyte',
  MB: 'megabyte',
  TB: 'terabyte',
  kB: 'kilobyte',
  min: 'minute',
  lbs: 'pound',
  oz: 'ounce',
};
