import { toLocale } from '@parley/shared/languages/locale';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { SpokenWord } from '../heard-text.ts';
import { NumberWords, spokenLanguage } from './number-words.ts';
import { rulesFor, type SpokenRule } from './rules.ts';

/** A stretch of text between spaces, as it is written and as it is spoken. */
export interface SpokenUnit {
  written: string;
  /** Words with spaces between them; empty: nothing is said for it. */
  spoken: string;
}

/** A text that was made ready for a voice. */
export interface SpokenText {
  text: string;
  /** What of the written text became what of the spoken one; undefined: both are the same. */
  units: readonly SpokenUnit[] | undefined;
}

/** Makes a text ready for a voice. */
export type ToSpoken = (text: string) => SpokenText;

export const AS_WRITTEN: ToSpoken = (text) => ({ text, units: undefined });

type TtsTexts = Pick<AgentConfig['tts'], 'normalize_text' | 'pronunciations'>;

/** Rules of the languages and pronunciations that calls have used: they take a while to make, and calls share them. */
const rulesByTag = new Map<string, readonly SpokenRule[]>();
const MAX_TAGS = 64;

/**
 * How the texts of an agent are spoken: words with a pronunciation of their own, then, unless it is switched off,
 * numbers, dates, addresses and the like. What no rule knows is left to the voice.
 * @param language BCP 47 tag
 */
export function spokenForm(language: string, { normalize_text, pronunciations }: TtsTexts): ToSpoken {
  const rules = [...pronunciationRules(pronunciations), ...(normalize_text ? rulesOf(language) : [])];
  if (rules.length === 0) return AS_WRITTEN;
  return (text) => applyRules(text, rules);
}

function rulesOf(tag: string): readonly SpokenRule[] {
  const known = rulesByTag.get(tag);
  if (known) return known;
  const language = spokenLanguage(tag);
  const locale = toLocale(tag).baseName;
  const rules = language ? rulesFor(new NumberWords(language, locale), locale) : [];
  if (rulesByTag.size < MAX_TAGS) rulesByTag.set(tag, rules);
  return rules;
}

/** Whole words. One that is written with a capital fits only as it is written, any other in every case. */
function pronunciationRules(pronunciations: TtsTexts['pronunciations']): SpokenRule[] {
  return pronunciations.map(({ word, say }) => ({
    pattern: new RegExp(
      `(?<![\\p{L}\\p{M}\\p{N}])${word.trim().replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}(?![\\p{L}\\p{M}\\p{N}])`,
      word === word.toLowerCase() ? 'giu' : 'gu',
    ),
    say: () => say.trim(),
  }));
}

interface Piece {
  written: string;
  /** What is spoken for it; undefined: no rule has fitted. */
  spoken: string | undefined;
}

function applyRules(text: string, rules: readonly SpokenRule[]): SpokenText {
  let pieces: Piece[] = [{ written: text, spoken: undefined }];
  for (const rule of rules) {
    if (!pieces.some(({ written, spoken }) => spoken === undefined && fits(rule, written))) continue;
    pieces = pieces.flatMap((piece, i) =>
      piece.spoken === undefined ? split(piece.written, rule, pieces[i - 1]?.written ?? '') : [piece],
    );
  }
  if (pieces.every(({ spoken }) => spoken === undefined)) return { text, units: undefined };
  const units = unitsOf(pieces);
  return {
    text: units.flatMap(({ spoken }) => (spoken === '' ? [] : [spoken])).join(' '),
    units,
  };
}

function fits({ pattern }: SpokenRule, text: string): boolean {
  pattern.lastIndex = 0;
  return pattern.test(text);
}

function split(text: string, { pattern, say }: SpokenRule, before: string): Piece[] {
  const pieces: Piece[] = [];
  let done = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    if (match[0] === '') {
      pattern.lastIndex++;
      continue;
    }
    const spoken = say(match, match.index === 0 ? before : text.slice(0, match.index));
    if (spoken === undefined) continue;
    if (match.index > done) pieces.push({ written: text.slice(done, match.index), spoken: undefined });
    pieces.push({ written: match[0], spoken });
    done = match.index + match[0].length;
  }
  if (done < text.length) pieces.push({ written: text.slice(done), spoken: undefined });
  return pieces;
}

/** Cuts at spaces where nothing was changed: what was changed is one unit with what stands close to it. */
function unitsOf(pieces: readonly Piece[]): SpokenUnit[] {
  const units: SpokenUnit[] = [];
  let open: SpokenUnit | undefined;
  for (const { written, spoken } of pieces) {
    if (spoken !== undefined) {
      open ??= units[units.push({ written: '', spoken: '' }) - 1]!;
      open.written += written;
      open.spoken += spoken;
      continue;
    }
    for (const part of written.match(/\s+|\S+/g) ?? []) {
      if (/^\s/.test(part)) {
        open = undefined;
        continue;
      }
      open ??= units[units.push({ written: '', spoken: '' }) - 1]!;
      open.written += part;
      open.spoken += part;
    }
  }
  // Punctuation alone is nothing that a voice could say.
  for (const unit of units)
    if (!/[\p{L}\p{N}]/u.test(unit.spoken) && /[\p{L}\p{N}]/u.test(unit.written)) unit.spoken = '';
  return units;
}

/** Turns the times of spoken words into those of the words that are written, in order, for one reply. */
export class WrittenWords {
  /** What is still to come: units, and how many spoken words each has. */
  #waiting: { written: string; words: number }[] = [];
  /** Spoken words of the first one that have come, and when they began. */
  #come = 0;
  #startMs = 0;
  #endMs = 0;
  #changed = false;
  #told = false;

  /** A text goes to the voice. */
  add({ text, units }: SpokenText): void {
    this.#changed ||= units !== undefined;
    const list = units ?? wordsOf(text).map((word) => ({ written: word, spoken: word }));
    for (const { written, spoken } of list) this.#waiting.push({ written, words: wordsOf(spoken).length });
  }

  /** Another voice goes on in the middle. @param words how many of the spoken ones are still to come */
  resume(words: number): void {
    let left = this.#waiting.reduce((sum, unit) => sum + unit.words, 0) - this.#come;
    while (left > words && this.#waiting.length > 0) {
      const rest = this.#waiting[0]!.words - this.#come;
      const skipped = Math.min(rest, left - words);
      left -= skipped;
      this.#come += skipped;
      if (skipped === rest) this.#shift();
    }
  }

  /** The voice has told all of its words. @returns what is left of the written ones: it was spoken, too */
  finish(): readonly SpokenWord[] {
    const rest = this.#changed && this.#told ? this.#waiting : [];
    this.#waiting = [];
    this.#come = 0;
    const at = { startMs: this.#endMs, endMs: this.#endMs, estimated: true };
    return rest.map(({ written }) => ({ text: written, ...at }));
  }

  /** @param words as the voice tells them. @returns the written words that they are */
  take(words: readonly SpokenWord[]): readonly SpokenWord[] {
    this.#told ||= words.length > 0;
    this.#endMs = words.at(-1)?.endMs ?? this.#endMs;
    // Without a change, what the voice tells is best.
    if (!this.#changed) {
      for (const { text } of words) this.#skip(wordsOf(text).length);
      return words;
    }
    const written: SpokenWord[] = [];
    for (const { text, startMs, endMs, estimated = false } of words) {
      for (let i = wordsOf(text).length; i > 0; i--) {
        const unit = this.#next(written, startMs);
        if (!unit) break;
        if (this.#come === 0) this.#startMs = startMs;
        this.#come++;
        if (this.#come < unit.words) continue;
        written.push({ text: unit.written, startMs: this.#startMs, endMs, ...(estimated && { estimated }) });
        this.#shift();
      }
    }
    // What has no spoken words is heard with the word before it.
    const last = words.at(-1);
    if (last) this.#next(written, last.endMs);
    return written;
  }

  /** The unit that the next spoken word belongs to; those without any are passed. */
  #next(written: SpokenWord[], atMs: number): { written: string; words: number } | undefined {
    while (this.#waiting[0]?.words === 0) {
      written.push({ text: this.#waiting[0].written, startMs: atMs, endMs: atMs, estimated: true });
      this.#shift();
    }
    return this.#waiting[0];
  }

  #skip(words: number): void {
    for (let i = 0; i < words && this.#waiting.length > 0; i++) {
      this.#come++;
      if (this.#come >= this.#waiting[0]!.words) this.#shift();
    }
  }

  #shift(): void {
    this.#waiting.shift();
    this.#come = 0;
  }
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
