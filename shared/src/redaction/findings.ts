import type { DictationTable } from '../languages/dictation/table.ts';
import { CUES, type Cue, type CueWords } from './cue-tables.ts';
import type { FoundKind } from './kinds.ts';
import type { KnownValues } from './known-values.ts';
import type { Run, TextToken } from './text-tokens.ts';

/** What the words of a speaker are looked through with. */
export interface Reading {
  tokens: readonly TextToken[];
  table: DictationTable;
  words: PreparedCues;
  /** ISO 3166-1, for telephone numbers without a country code. */
  countries: readonly string[];
  /** Numbers of the call that are personal. */
  values: KnownValues | undefined;
  /** All that is spelled or counted. */
  runs: readonly Run[];
  findings: Claims;
}

/** Cue words as they are used. */
export interface PreparedCues {
  source: CueWords;
  cues: ReadonlyMap<Cue, RegExp>;
  /** Right behind a number: what it counts. */
  counted: RegExp;
  /** Around a date: what it is the date of, if not of a birth. */
  events: RegExp;
  /** What announces numbers that are nobody's is known in the language. */
  knowsHarmless: boolean;
  links: ReadonlySet<string>;
  noValue: ReadonlySet<string>;
  saidOfIt: ReadonlySet<string>;
  fillers: ReadonlySet<string>;
  ordinals: ReadonlySet<string>;
  dateWords: ReadonlySet<string>;
  months: ReadonlySet<string>;
  street: ReadonlySet<string>;
  streetEnd: RegExp | undefined;
  names: RegExp;
  mayName: RegExp;
  titles: RegExp;
  relations: RegExp;
  hereAfter: RegExp;
  asksName: RegExp;
  lives: RegExp;
  asksAddress: RegExp;
}

/** Which token is what. A token is given away once. `none`: known to be nothing personal. */
export class Claims {
  readonly kinds: (FoundKind | 'none' | undefined)[];

  constructor(length: number) {
    this.kinds = new Array<undefined>(length).fill(undefined);
  }

  /** @param to excluded */
  claim(from: number, to: number, kind: FoundKind | 'none'): void {
    for (let at = from; at < to; at++) this.kinds[at] ??= kind;
  }

  isFree(from: number, to: number): boolean {
    for (let at = from; at < to; at++) if (this.kinds[at] !== undefined) return false;
    return true;
  }
}

/** Words that stand before a place, as one text with a space at each end. @param most how many */
export function wordsBefore(
  tokens: readonly TextToken[],
  at: number,
  most: number,
): { text: string; asked: string } {
  const words: string[] = [];
  let asked = '';
  for (let place = at - 1; place >= 0 && words.length < most; place--) {
    const token = tokens[place]!;
    if (token.type === 'turn') {
      asked = token.asked ?? '';
      break;
    }
    if (token.type === 'word') words.push(token.word);
    else if (token.type === 'figures') words.push('#');
  }
  return { text: ` ${words.reverse().join(' ')} `, asked };
}

/** What was asked before a place in a turn, and how many words of the turn stand between. @param most how many may */
export function questionBefore(
  tokens: readonly TextToken[],
  at: number,
  most: number,
): { asked: string; count: number } {
  let count = 0;
  for (let place = at - 1; place >= 0 && count <= most; place--) {
    const token = tokens[place]!;
    if (token.type === 'turn') return { asked: token.pending ?? '', count };
    if (token.type !== 'mark') count++;
  }
  return { asked: '', count };
}

/** Begins a sentence that speaks of what was said before it. */
const SPEAKS_OF_IT = /^(?:that|that's|thats|this|it's|its|das|dies)$/;

/** @param options.clause no further than the clause; else into a next sentence that speaks of what stands before */
export function wordsAfter(
  tokens: readonly TextToken[],
  at: number,
  most: number,
  { clause = false, follows = false }: { clause?: boolean; follows?: boolean } = {},
): string {
  const words: string[] = [];
  for (let place = at; place < tokens.length && words.length < most; place++) {
    const token = tokens[place]!;
    if (token.type === 'turn' || (clause && token.word === ',')) break;
    if (/^[.!?]$/.test(token.word) && !(follows && SPEAKS_OF_IT.test(tokens[place + 1]?.word ?? ''))) break;
    if (token.type === 'word') words.push(token.word);
  }
  return ` ${words.join(' ')} `;
}

/** A cue, and where it stands. */
export interface FoundCue {
  cue: Cue;
  start: number;
  end: number;
}

/** The cues of a text, in the order of their ends. One within a longer one does not count: "code" in "zip code". */
export function cuesIn(text: string, cues: ReadonlyMap<Cue, RegExp>, except?: Cue): FoundCue[] {
  const found: FoundCue[] = [];
  for (const [cue, pattern] of cues) {
    if (cue === except) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const end = match.index + match[0].length;
      found.push({ cue, start: match.index, end });
      // The space behind a word is the one before the next.
      pattern.lastIndex = Math.max(match.index + 1, end - 1);
    }
  }
  const within = (one: FoundCue, other: FoundCue) =>
    other.start <= one.start && other.end >= one.end && other.end - other.start > one.end - one.start;
  return found
    .filter((one) => !found.some((other) => within(one, other)))
    .sort((a, b) => a.end - b.end || CUES.indexOf(b.cue) - CUES.indexOf(a.cue));
}

/** The cue that comes last in a text. */
export function lastCue(text: string, cues: ReadonlyMap<Cue, RegExp>, except?: Cue): Cue | undefined {
  return cuesIn(text, cues, except).at(-1)?.cue;
}
