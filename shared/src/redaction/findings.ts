import type { DictationTable } from '../languages/dictation/table.ts';
import type { Cue, CueWords } from './cue-tables.ts';
import type { RedactionKind } from './kinds.ts';
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
  readonly kinds: (RedactionKind | 'none' | undefined)[];

  constructor(length: number) {
    this.kinds = new Array<undefined>(length).fill(undefined);
  }

  /** @param to excluded */
  claim(from: number, to: number, kind: RedactionKind | 'none'): void {
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

export function wordsAfter(tokens: readonly TextToken[], at: number, most: number): string {
  const words: string[] = [];
  for (let place = at; place < tokens.length && words.length < most; place++) {
    const token = tokens[place]!;
    if (token.type === 'turn' || /^[.!?]$/.test(token.word)) break;
    if (token.type === 'word') words.push(token.word);
  }
  return ` ${words.join(' ')} `;
}

/** The cue that comes last in a text. */
export function lastCue(text: string, cues: ReadonlyMap<Cue, RegExp>, except?: Cue): Cue | undefined {
  let best: Cue | undefined;
  let bestAt = -1;
  for (const [cue, pattern] of cues) {
    if (cue === except) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
      const end = match.index + match[0].length;
      if (end > bestAt) {
        best = cue;
        bestAt = end;
      }
      // The space behind a word is the one before the next.
      pattern.lastIndex = Math.max(match.index + 1, end - 1);
    }
  }
  return best;
}
