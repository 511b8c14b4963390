import { decodeMulaw } from '@parley/shared/audio/g711';
import { decodeToneWords, normalizeWord, TONE_CHARACTER_MS } from '@parley/emulators/speech/tone-words';

/** How much of a word may be missing when it still counts as heard whole: two windows of the decoder. */
const WHOLE_TOLERANCE_MS = 40;

/** A word that came out of the telephone. */
export interface SpokenWord {
  word: string;
  /** Cut short: one may say that it was heard, or that it was not. */
  partial: boolean;
}

/** Words that an agent was heard to say. A word that was stopped and went on later is one word. */
export function heardWords(mulaw: Uint8Array, vocabulary: readonly string[]): SpokenWord[] {
  // Punctuation is spoken too, with the word: as silence or tone it makes the word longer.
  const lengths = new Map<string, number>();
  for (const token of vocabulary) {
    const word = normalizeWord(token);
    const ms = token.length * TONE_CHARACTER_MS;
    lengths.set(word, Math.min(lengths.get(word) ?? Infinity, ms));
  }
  const words: (SpokenWord & { ms: number })[] = [];
  for (const heard of decodeToneWords(decodeMulaw(mulaw), 8000, vocabulary)) {
    if (heard.word === undefined) continue;
    const ms = heard.endMs - heard.startMs;
    const last = words.at(-1);
    if (last?.word === heard.word) last.ms += ms;
    else words.push({ word: heard.word, ms, partial: false });
  }
  return words.map(({ word, ms }) => ({ word, partial: ms < lengths.get(word)! - WHOLE_TOLERANCE_MS }));
}

export interface TruthErrors {
  /** In the transcript, but nobody heard it. */
  invented: string[];
  /** Heard, but not in the transcript. */
  forgotten: string[];
}

/** Compares what was heard with what the transcript claims the agent said, in order. */
export function compareTranscript(heard: readonly SpokenWord[], committed: readonly string[]): TruthErrors {
  const claimed = committed.flatMap((text) => text.split(/\s+/).map(normalizeWord).filter(Boolean));
  // Longest common subsequence: an error in the middle does not spoil the rest.
  const width = claimed.length + 1;
  const lengths = new Uint16Array((heard.length + 1) * width);
  for (let i = heard.length - 1; i >= 0; i--) {
    for (let j = claimed.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        heard[i]!.word === claimed[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const errors: TruthErrors = { invented: [], forgotten: [] };
  let i = 0;
  let j = 0;
  while (i < heard.length || j < claimed.length) {
    if (i < heard.length && j < claimed.length && heard[i]!.word === claimed[j]) {
      i++;
      j++;
    } else if (
      j >= claimed.length ||
      (i < heard.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)
    ) {
      if (!heard[i]!.partial) errors.forgotten.push(heard[i]!.word);
      i++;
    } else {
      errors.invented.push(claimed[j]!);
      j++;
    }
  }
  return errors;
}
