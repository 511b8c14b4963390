import { MAX_TIMED_WORD_LENGTH, MAX_TIMED_WORDS, type TimedWord } from '@parley/shared/contracts/turn';

/**
 * Words as they are reported with their turn: none where there are more than the bounds let through.
 * @param words in order, times in ms from the answer
 */
export function toTimedWords(
  words: readonly { text: string; startMs: number; endMs: number }[],
): TimedWord[] | undefined {
  const said = words
    .map(({ text, ...times }) => ({ text: text.trim(), ...times }))
    .filter(({ text }) => text);
  if (said.length === 0 || said.length > MAX_TIMED_WORDS) return undefined;
  if (said.some(({ text }) => text.length > MAX_TIMED_WORD_LENGTH)) return undefined;
  return said.map(({ text, startMs, endMs }) => {
    const start_ms = Math.max(0, Math.round(startMs));
    return { text, start_ms, end_ms: Math.max(start_ms, Math.round(endMs)) };
  });
}
