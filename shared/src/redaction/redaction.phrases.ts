import { seededRandom } from '../values/seeded-random.ts';
import { FRAMES, NAMES_AND_ADDRESSES } from './redaction.corpus.ts';
import { FIFTH } from './redaction.unseen-fifth.ts';
import { FOURTH } from './redaction.unseen-fourth.ts';
import { SECOND, THIRD } from './redaction.unseen.ts';
import type { SpokenTurn } from './find-personal-data.ts';

/** A conversation, with what of each turn is to be masked. */
export interface Phrase {
  turns: (SpokenTurn & { values: { start: number; end: number; kind: string }[] })[];
}

type Language = keyof typeof FRAMES;
type Random = () => number;

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
const digits = (random: Random, count: number) =>
  Array.from({ length: count }, () => Math.floor(random() * 10)).join('');

const WORDS: Record<Language, { digits: readonly string[]; dot: string; at: string; double: string }> = {
  en: {
    digits: ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'],
    dot: 'dot',
    at: 'at',
    double: 'double',
  },
  de: {
    digits: ['null', 'eins', 'zwei', 'drei', 'vier', 'fünf', 'sechs', 'sieben', 'acht', 'neun'],
    dot: 'Punkt',
    at: 'at',
    double: 'doppel',
  },
};
const MONTHS: Record<Language, readonly string[]> = {
  en: ['January', 'March', 'May', 'August', 'October', 'December'],
  de: ['Januar', 'März', 'Mai', 'August', 'Oktober', 'Dezember'],
};
const DAYS: Record<Language, readonly [number, string][]> = {
  en: [
    [1, 'first'],
    [3, 'third'],
    [12, 'twelfth'],
    [20, 'twentieth'],
    [31, 'thirty first'],
  ],
  de: [
    [1, 'erster'],
    [3, 'dritter'],
    [12, 'zwölfter'],
    [20, 'zwanzigster'],
    [31, 'einunddreißigster'],
  ],
};
const YEARS: Record<Language, readonly string[]> = {
  en: ['nineteen eighty five', 'nineteen sixty', 'two thousand and one', 'ninety nine'],
  de: ['neunzehnhundertfünfundachtzig', 'neunzehnhundertsechzig', 'zweitausendeins', 'neunundneunzig'],
};

/** @param form 0: in one piece, 1: in groups, 2: digit by digit, 3: digit by digit with "double", 4: with commas */
function said(text: string, form: number, language: Language, group = 4): string {
  if (form === 0) return text;
  const groups = text.match(new RegExp(`.{1,${group}}`, 'g'))!;
  if (form === 1) return groups.join(' ');
  const words = WORDS[language];
  const speak = (piece: string) =>
    [...piece].map((one) => (/\d/.test(one) ? words.digits[Number(one)]! : one)).join(' ');
  if (form === 2) return speak(text);
  if (form === 4) return groups.map(speak).join(', ');
  return text
    .replace(/(\d)\1|./g, (piece, twice: string | undefined) =>
      twice === undefined ? `${speak(piece)} ` : `${words.double} ${speak(twice)} `,
    )
    .trim();
}

function luhn(random: Random, prefix: string, length: number): string {
  const body = prefix + digits(random, length - 1 - prefix.length);
  let sum = 0;
  [...body].reverse().forEach((one, at) => {
    const value = Number(one) * (at % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  });
  return body + String((10 - (sum % 10)) % 10);
}

function iban(random: Random): string {
  const body = digits(random, 18);
  let rest = 0n;
  rest = BigInt(`${body}131400`) % 97n;
  return `DE${String(98n - rest).padStart(2, '0')}${body}`;
}

/** Of German tax ids (ISO 7064, MOD 11,10). */
function steuer(random: Random): string {
  const body = `${1 + Math.floor(random() * 9)}${digits(random, 9)}`;
  let product = 10;
  for (const one of body) {
    let sum = (Number(one) + product) % 10;
    if (sum === 0) sum = 10;
    product = (sum * 2) % 11;
  }
  return body + String((11 - product) % 10);
}

function valueOf(kind: string, form: number, language: Language, random: Random): string {
  const words = WORDS[language];
  switch (kind) {
    case 'card': {
      const [prefix, length] = pick(random, [
        ['4', 16],
        ['52', 16],
        ['2221', 16],
        ['37', 15],
        ['6011', 16],
      ] as const);
      return said(luhn(random, prefix, length), form, language);
    }
    case 'phone': {
      if (language === 'en') {
        const national = `${pick(random, ['415', '212', '303', '617', '512'])}${2 + Math.floor(random() * 8)}${digits(random, 2).replace('11', '12')}${digits(random, 4)}`;
        if (form === 0) return `+1${national}`;
        if (form === 1) return `(${national.slice(0, 3)}) ${national.slice(3, 6)}-${national.slice(6)}`;
        return said(national, form, language, 3);
      }
      const national = pick(random, [
        `0176${digits(random, 8)}`,
        `0151${digits(random, 8)}`,
        `030${1 + Math.floor(random() * 8)}${digits(random, 7)}`,
      ]);
      if (form === 0) return `+49${national.slice(1)}`;
      if (form === 1) return `${national.slice(0, 4)} ${national.slice(4)}`;
      return said(national, form, language, 3);
    }
    case 'email': {
      const name = pick(random, ['anna', 'm.huber', 'john.smith', 'info', 'p_meyer', 'sales-team', 'kim89']);
      const domain = pick(random, ['gmail.com', 'example.org', 'web.de', 'acme.co.uk', 'outlook.com']);
      if (form < 2) return `${name}@${domain}`;
      const spoken = `${name}@${domain}`
        .replaceAll('.', ` ${words.dot} `)
        .replace('@', ` ${words.at} `)
        .replace('_', language === 'en' ? ' underscore ' : ' Unterstrich ')
        .replace('-', language === 'en' ? ' dash ' : ' Bindestrich ')
        .replace('89', ` ${words.digits[8]} ${words.digits[9]}`);
      return form === 3 ? spoken.replace(/^anna/, 'a n n a') : spoken;
    }
    case 'iban': {
      const value = iban(random);
      if (form >= 2) return `D E ${said(value.slice(2), form, language)}`;
      return said(value, form, language);
    }
    case 'account':
      return said(`${1 + Math.floor(random() * 9)}${digits(random, 7 + (form % 3))}`, form, language, 3);
    case 'sort':
      return form < 2
        ? `${digits(random, 2)}-${digits(random, 2)}-${digits(random, 2)}`
        : said(digits(random, 6), 2, language);
    case 'routing':
      return said(`0${digits(random, 8)}`, form, language, 3);
    case 'blz':
      return said(`${1 + Math.floor(random() * 8)}${digits(random, 7)}`, form, language, 3);
    case 'ssn': {
      const parts = [
        `1${digits(random, 2)}`,
        `${1 + Math.floor(random() * 9)}${digits(random, 1)}`,
        `${1 + Math.floor(random() * 9)}${digits(random, 3)}`,
      ];
      if (form === 0) return parts.join('-');
      if (form === 1) return parts.join(' ');
      return said(parts.join(''), form, language, 3);
    }
    case 'nino': {
      const value = `${pick(random, ['AB', 'CE', 'JH', 'PW'])}${digits(random, 6)}${pick(random, ['A', 'B', 'C', 'D'])}`;
      return form === 0 ? value : form === 1 ? said(value, 1, language, 2) : said(value, 2, language);
    }
    case 'passport':
      return said(`${1 + Math.floor(random() * 9)}${digits(random, 8)}`, form, language, 3);
    case 'ausweis': {
      const value = `${pick(random, ['L', 'T', 'C'])}${digits(random, 2)}${pick(random, ['X', 'F', 'K'])}${digits(random, 5)}`;
      return form < 2 ? value : said(value, 2, language);
    }
    case 'svnr': {
      const value = `${digits(random, 8)}${pick(random, ['M', 'S', 'B'])}${digits(random, 3)}`;
      return form < 2 ? said(value, form, language, 2) : said(value, 2, language);
    }
    case 'steuer':
      return said(steuer(random), form, language, 3);
    case 'birth': {
      const day = pick(random, DAYS[language]);
      const month = pick(random, MONTHS[language]);
      const year = 1940 + Math.floor(random() * 65);
      if (form === 0)
        return language === 'en'
          ? `0${1 + Math.floor(random() * 9)}/1${digits(random, 1)}/${year}`
          : `1${digits(random, 1)}.0${1 + Math.floor(random() * 9)}.${year}`;
      if (form === 1)
        return language === 'en' ? `${month} ${day[0]}, ${year}` : `${day[0]}. ${month} ${year}`;
      if (form === 2)
        return language === 'en'
          ? `${month} ${day[1]} ${pick(random, YEARS.en)}`
          : `${day[1].replace(/er$/, 'en')} ${month} ${pick(random, YEARS.de)}`;
      if (form === 3)
        return language === 'en'
          ? `the ${day[1]} of ${month} ${pick(random, YEARS.en)}`
          : `${day[1].replace(/er$/, 'en')} ${month} ${year}`;
      return language === 'en'
        ? `${day[0]} ${month} ${year}`
        : `1${digits(random, 1)} Punkt ${1 + Math.floor(random() * 9)} Punkt ${year}`.replaceAll(
            ' Punkt ',
            '.',
          );
    }
    case 'pin':
      return said(digits(random, 4), form % 2 === 0 ? 0 : 2, language);
    case 'cvv':
      return said(digits(random, 3), form % 2 === 0 ? 0 : 2, language);
    case 'code':
      return said(digits(random, 6), form, language, 3);
    case 'password':
      return pick(random, ['bluehorse77', 'Sommer2019', 'xK9plmq', 'correct horse battery', 'hunter2']);
    default:
      throw new Error(`unknown kind ${kind}`);
  }
}

/** The values of one frame in one form: halves belong together. */
function fill(frame: string, form: number, language: Language, random: Random): Phrase {
  const halves = new Map<string, [string, string]>();
  return {
    turns: frame.split(' | ').map((part) => {
      const agent = part.startsWith('A: ');
      const values: Phrase['turns'][number]['values'] = [];
      let text = '';
      for (const piece of (agent ? part.slice(3) : part).split(/(\{[^}]*\})/)) {
        const named = /^\{(\w+):([^}\d][^}]*|\d[^}]+)\}$/.exec(piece);
        const made = /^\{(\w+)(?::([12]))?\}$/.exec(piece);
        let value: string | undefined;
        if (made) {
          const kind = made[1]!;
          if (made[2] === undefined) value = valueOf(kind, form, language, random);
          else {
            let both = halves.get(kind);
            if (!both) {
              // Parted between two words or groups.
              const whole = valueOf(kind, form === 0 ? 1 : form === 3 ? 2 : form, language, random).split(
                ' ',
              );
              const middle = Math.max(1, Math.floor(whole.length / 2));
              both = [whole.slice(0, middle).join(' '), whole.slice(middle).join(' ')];
              halves.set(kind, both);
            }
            value = both[Number(made[2]) - 1]!;
          }
        } else if (named) value = named[2]!;
        if (value === undefined) text += piece;
        else {
          const kind = (made ?? named)![1]!;
          values.push({ start: text.length, end: text.length + value.length, kind });
          text += value;
        }
      }
      return { role: agent ? 'agent' : 'caller', text, values };
    }),
  };
}

export const FORMS = 5;
export const UNSEEN = { second: SECOND, third: THIRD, fourth: FOURTH, fifth: FIFTH };

/** @param rounds how often each frame is filled in each form */
export function structuredPhrases(language: Language, half: 'tuned' | 'heldOut', rounds = 1): Phrase[] {
  const random = seededRandom(language.length * 7919 + (half === 'tuned' ? 11 : 23) + language.charCodeAt(0));
  const phrases: Phrase[] = [];
  for (let round = 0; round < rounds; round++)
    for (const frame of FRAMES[language][half].personal)
      for (let form = 0; form < FORMS; form++) phrases.push(fill(frame, form, language, random));
  return phrases;
}

export function harmlessPhrases(language: Language, half: 'tuned' | 'heldOut'): Phrase[] {
  return FRAMES[language][half].harmless.map((frame) => fill(frame, 0, language, seededRandom(1)));
}

export function namedPhrases(
  language: Language,
  half: 'tuned' | 'heldOut',
  kind: 'name' | 'address',
): Phrase[] {
  return NAMES_AND_ADDRESSES[language][half]
    .filter((frame) => frame.includes(`{${kind}:`))
    .map((frame) => fill(frame, 0, language, seededRandom(1)));
}

/**
 * Of what was put together after the finders: each sentence in each form, with an opening and an ending by chance.
 * @param most in so many forms, another one for each sentence
 */
export function unseenPhrases(
  language: Language,
  set: keyof typeof UNSEEN,
  most = FORMS,
): { personal: Phrase[]; harmless: Phrase[] } {
  const { openings, endings, personal, harmless } = UNSEEN[set][language];
  const random = seededRandom(language === 'en' ? 4099 : 8209);
  const dressed = (frame: string) => {
    // What the caller says first, and last.
    const turns = frame.split(' | ');
    const first = turns.findIndex((turn) => !turn.startsWith('A: '));
    turns[first] = `${pick(random, openings)}${turns[first]!}`;
    turns[turns.length - 1] += pick(random, endings);
    return turns.join(' | ');
  };
  return {
    personal: personal.flatMap((frame, nth) =>
      Array.from({ length: FORMS }, (_, form) => fill(dressed(frame), form, language, random)).filter(
        (_, form) => (form + nth) % FORMS < most,
      ),
    ),
    harmless: harmless.map((frame) => fill(dressed(frame), 0, language, random)),
  };
}
