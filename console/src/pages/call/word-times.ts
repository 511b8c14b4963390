import type { LogTurn, TimedWord } from './session-log.ts';

/** A piece of a turn's text that is shown and clicked as one, with the white space behind it. */
export interface ShownWord {
  text: string;
  start_ms: number;
  end_ms: number;
}

/** Turns of more words are shown as one piece: nobody clicks into ten thousand. */
const MAX_WORDS = 3000;

/**
 * The words of a turn as they are shown, each with its time. Words that were timed keep their times; the others share what
 * is left between their neighbours, by their length. The text shown is always exactly the turn's.
 */
export function wordTimes(turn: Pick<LogTurn, 'text' | 'start_ms' | 'end_ms' | 'words'>): ShownWord[] {
  const pieces = turn.text.match(/\S+\s*|^\s+/gu) ?? [];
  const end = Math.max(turn.start_ms, turn.end_ms);
  if (pieces.length === 0) return [];
  if (pieces.length > MAX_WORDS) return [{ text: turn.text, start_ms: turn.start_ms, end_ms: end }];
  const timed = matched(pieces, turn.words ?? []);
  const words: ShownWord[] = [];
  // An STT may hear a word begin before anything else has heard the turn.
  let from = Math.min(turn.start_ms, timed[0]?.start_ms ?? Infinity);
  for (let at = 0; at < pieces.length;) {
    const known = timed[at];
    if (known) {
      const start_ms = Math.max(from, known.start_ms);
      from = Math.max(start_ms, known.end_ms);
      words.push({ text: pieces[at]!, start_ms, end_ms: from });
      at++;
      continue;
    }
    let next = at;
    while (next < pieces.length && !timed[next]) next++;
    const until = Math.max(from, timed[next]?.start_ms ?? end);
    const length = pieces.slice(at, next).reduce((sum, piece) => sum + piece.length, 0);
    const begin = from;
    let passed = 0;
    for (; at < next; at++) {
      const start_ms = from;
      passed += pieces[at]!.length;
      from = Math.round(begin + ((until - begin) * passed) / length);
      words.push({ text: pieces[at]!, start_ms, end_ms: from });
    }
  }
  return words;
}

/** Which timed word each piece is; in order, and only where the letters are the same. */
function matched(pieces: readonly string[], words: readonly TimedWord[]): (TimedWord | undefined)[] {
  let next = 0;
  return pieces.map((piece) => {
    const letters = lettersOf(piece);
    // A word that was understood otherwise is passed over, but only a few: behind them the text has gone on.
    for (let at = next; letters !== '' && at < Math.min(words.length, next + 4); at++) {
      if (lettersOf(words[at]!.text) !== letters) continue;
      next = at + 1;
      return words[at];
    }
    return undefined;
  });
}

function lettersOf(word: string): string {
  return word
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}

/** The place of the last of `items` that begins at or before `ms`; -1 before the first. They begin in order. */
export function placeAt(items: readonly { start_ms: number }[], ms: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (items[middle]!.start_ms <= ms) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * The place of the turn that is heard at `ms`, or was heard last; -1 before the first. Of several at once it is the one that
 * began last: an agent's turn goes on when somebody's short word in it is over.
 */
export function turnAt(turns: readonly { start_ms: number; end_ms: number }[], ms: number): number {
  const last = placeAt(turns, ms);
  let at = last;
  while (at >= 0 && turns[at]!.end_ms < ms) at--;
  return at < 0 ? last : at;
}

/** The word that is heard at `ms`; -1 between words and outside of the turn. */
export function wordAt(words: readonly ShownWord[], ms: number): number {
  const at = placeAt(words, ms);
  return at >= 0 && ms < words[at]!.end_ms ? at : -1;
}
