import { toLocale } from '../languages/locale.ts';
import { tableOf } from '../languages/dictation/tables.ts';
import type { DictationTable } from '../languages/dictation/table.ts';
import { CUES, CUE_WORDS, MORE_CUES, type Cue, type CueWords } from './cue-tables.ts';
import { findAddresses } from './find-addresses.ts';
import { findDates } from './find-dates.ts';
import { findMails } from './find-mails.ts';
import { findNames } from './find-names.ts';
import { findNumbers, openNumber } from './find-numbers.ts';
import { findSecrets } from './find-secrets.ts';
import { Claims, lastCue, type PreparedCues, type Reading } from './findings.ts';
import type { FoundKind } from './kinds.ts';
import { findUnannounced } from './find-unannounced.ts';
import type { KnownValues } from './known-values.ts';
import { runsOf, tokensOf, type TextToken } from './text-tokens.ts';

/** What one side said at once. */
export interface SpokenTurn {
  role: 'agent' | 'caller' | 'operator';
  text: string;
}

/** A stretch of a turn's text that is personal. */
export interface Finding {
  /** Place of the turn in the list. */
  turn: number;
  start: number;
  /** Excluded. */
  end: number;
  kind: FoundKind;
}

export interface FindOptions {
  /** BCP 47 tag of what is spoken. */
  language: string;
  /** Names that the call knows, each a word, in lower case. */
  names?: ReadonlySet<string>;
  /** Numbers of the call that are personal; those that are found are added. */
  values?: KnownValues;
  /** Long numbers that nothing announces are left as they are: it is no speech, but what programs write. */
  announcedOnly?: boolean;
}

/** A stretch of a turn's text. */
export type Stretch = Omit<Finding, 'kind'>;

export interface PersonalData {
  findings: Finding[];
  /** A number at the end of what either side has said so far, which its next turn may complete. */
  open: Stretch[];
}

/** How much of a question announces what the answer is. */
const ASKED_CHARACTERS = 240;

/**
 * Finds personal data in what both sides say. What one side says over several turns is read as one text, so that a
 * number that is given in two turns is found whole; what the other side asked before announces what an answer is.
 * Takes time in proportion to the texts' length.
 */
export function findPersonalData(
  turns: readonly SpokenTurn[],
  { language, names = new Set(), values, announcedOnly = false }: FindOptions,
): PersonalData {
  const table = tableOf(language);
  const words = cuesOf(language);
  const countries = countriesOf(language);
  const findings: Finding[] = [];
  const open: Stretch[] = [];
  for (const caller of [true, false]) {
    const tokens = streamOf(turns, caller, table, words);
    if (tokens.length === 0) continue;
    const reading: Reading = {
      tokens,
      table,
      words,
      countries,
      values,
      runs: runsOf(tokens, table, words.fillers),
      findings: new Claims(tokens.length),
    };
    findMails(reading);
    findDates(reading);
    findSecrets(reading);
    findNumbers(reading);
    findAddresses(reading);
    findNames(reading, names);
    open.push(...stretchesOf(tokens, openNumber(reading) ?? []));
    if (!announcedOnly && words.knowsHarmless) findUnannounced(reading, { caller });
    findings.push(...toFindings(reading));
  }
  return { findings, open };
}

/** All that one side says, in one row. */
function streamOf(
  turns: readonly SpokenTurn[],
  caller: boolean,
  table: DictationTable,
  { cues }: PreparedCues,
): TextToken[] {
  const tokens: TextToken[] = [];
  let asked = '';
  let pending = '';
  for (const [turn, { role, text }] of turns.entries()) {
    if ((role === 'caller') !== caller) {
      asked = text
        .slice(-ASKED_CHARACTERS)
        .toLowerCase()
        .replace(/[^\p{L}\p{M}\d' ]+/gu, ' ')
        .replace(/ {2,}/g, ' ')
        .trim();
      const asksAnew = lastCue(` ${asked} `, cues) !== undefined;
      pending = (asksAnew ? asked : `${pending} ${asked}`).slice(-ASKED_CHARACTERS).trim();
      continue;
    }
    tokens.push({
      turn,
      start: 0,
      end: 0,
      raw: '',
      word: '',
      type: 'turn',
      said: { kind: 'word', text: '', value: 0, figures: false },
      asked,
      pending,
    });
    const said = tokensOf(text, turn, table);
    for (const token of said) tokens.push(token);
    asked = '';
    // Until then they are asked for the same. "One moment" is no number.
    const numbers = said.filter((token) => token.said.kind === 'number');
    if (numbers.length > 1 || numbers.some(({ type }) => type === 'figures')) pending = '';
  }
  return tokens;
}

function stretchesOf(
  tokens: readonly TextToken[],
  places: readonly { from: number; to: number }[],
): Stretch[] {
  const stretches: Stretch[] = [];
  for (const { from, to } of places) {
    const { turn, start } = tokens[from]!;
    const { end } = tokens[to - 1]!;
    const last = stretches.at(-1);
    if (last?.turn === turn) last.end = end;
    else stretches.push({ turn, start, end });
  }
  return stretches;
}

function toFindings({ tokens, findings }: Reading): Finding[] {
  const found: Finding[] = [];
  let open: Finding | undefined;
  for (const [at, token] of tokens.entries()) {
    const kind = findings.kinds[at];
    if (token.type === 'turn' || kind === undefined || kind === 'none') {
      open = undefined;
      continue;
    }
    if (open?.kind === kind && open.turn === token.turn) open.end = token.end;
    else found.push((open = { turn: token.turn, start: token.start, end: token.end, kind }));
  }
  return found;
}

// ---- words of a language ----

const prepared = new Map<string, PreparedCues>();

function cuesOf(language: string): PreparedCues {
  const tag = language.split('-', 1)[0]!.toLowerCase();
  let words = prepared.get(tag);
  if (!words) prepared.set(tag, (words = prepare(tag)));
  return words;
}

const asWords = (part: string) => new RegExp(`(?<![^ ])(?:${part})(?![^ ])`, 'gu');
/** The text ends with it. */
const atEnd = (part: string) => new RegExp(`(?<![^ ])(?:${part}) $`, 'u');
const setOf = (list: string) => new Set(list.split(/[| ]/));

function prepare(tag: string): PreparedCues {
  const source: CueWords = CUE_WORDS[tag] ?? CUE_WORDS['en']!;
  const more = MORE_CUES[tag];
  const cues = new Map<Cue, RegExp>(
    CUES.map((cue) => [
      cue,
      asWords([source.cues[cue], more?.[cue]].filter((part) => part !== undefined).join('|')),
    ]),
  );
  return {
    source,
    cues,
    counted: new RegExp(`^ (?:\\p{L}+ )?(?:${source.counted}) `, 'u'),
    events: asWords(source.events),
    knowsHarmless: CUE_WORDS[tag] !== undefined || more?.other !== undefined,
    links: setOf(source.links),
    noValue: setOf(source.noValue),
    saidOfIt: setOf(source.saidOfIt),
    fillers: setOf(source.fillers),
    ordinals: setOf(source.ordinals),
    dateWords: setOf(source.dateWords),
    months: monthsOf(tag),
    street: setOf(source.street),
    streetEnd: source.streetEnd === '' ? undefined : new RegExp(`(?:${source.streetEnd})$`, 'u'),
    names: atEnd(source.names),
    mayName: atEnd(source.mayName),
    titles: atEnd(source.titles),
    relations: atEnd(
      `(?:my|his|her|our|mein|meine|meinem|meinen|meiner|ihr|ihre|unser|unsere) (?:${source.relations})`,
    ),
    hereAfter: new RegExp(`^ (?:${source.hereAfter}) `, 'u'),
    asksName: new RegExp(`(?<![^ ])(?:${source.asksName})(?![^ ])`, 'u'),
    lives: atEnd(source.lives),
    asksAddress: new RegExp(`(?:${source.asksAddress})`, 'u'),
  };
}

function monthsOf(tag: string): ReadonlySet<string> {
  const months = new Set<string>();
  for (const month of ['long', 'short'] as const) {
    const format = new Intl.DateTimeFormat(toLocale(tag), { month, day: 'numeric', timeZone: 'UTC' });
    for (let at = 0; at < 12; at++) {
      const parts = format.formatToParts(new Date(Date.UTC(2024, at, 15)));
      const name = parts
        .find(({ type }) => type === 'month')!
        .value.toLowerCase()
        .replace(/\.$/, '');
      if (name.length > 2) months.add(name);
    }
  }
  return months;
}

/** Where numbers without a country code may belong: the country of the language, and those that share it. */
function countriesOf(language: string): string[] {
  const own = toLocale(language).maximize().region;
  const tag = language.split('-', 1)[0]!.toLowerCase();
  const near: Record<string, string[]> = { en: ['US', 'GB'], de: ['DE', 'AT', 'CH'] };
  return [...new Set([...(own === undefined ? [] : [own]), ...(near[tag] ?? [])])];
}
