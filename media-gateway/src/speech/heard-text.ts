import type { SpokenUnit } from './spoken-form/spoken-form.ts';

/** How much of a word's end may be missing for the word to count as heard. */
const WORD_TOLERANCE_MS = 60;

/** Characters a second of an ordinary voice: a guess for text without word times whose audio has not come. */
const GUESSED_CHARS_PER_SECOND = 15;

/** Where a stretch of text lies in the audio of a speech. */
export interface SpokenWord {
  text: string;
  startMs: number;
  endMs: number;
  /** No voice has told when it is said: the times are reckoned from the length of the text. */
  estimated?: boolean;
}

/** A piece of text that went to the voice. */
export interface SpeechPiece {
  text: string;
  /** How it is spoken, where that is otherwise. */
  units: readonly SpokenUnit[] | undefined;
  /** The audio position at which it went to the voice. */
  startByte: number;
}

/** The text of a speech, with its known positions in the audio. */
export interface SpeechText {
  /** In order. */
  readonly pieces: readonly SpeechPiece[];
  /** Word times from the voice, if it has them. */
  readonly words: readonly SpokenWord[];
  readonly availableBytes: number;
  /** Whether all audio has come. */
  readonly complete: boolean;
}

/** Words of a speech that were heard, where their times are known. */
export function heardWords({ words }: Pick<SpeechText, 'words'>, heardMs: number): SpokenWord[] {
  return heardMs <= 0 ? [] : words.filter((word) => word.endMs - WORD_TOLERANCE_MS <= heardMs);
}

/**
 * What was heard of a speech, cut at a word. Word times of the provider where there are any; for text without them,
 * in proportion to the audio between the known points.
 */
export function heardText(speech: SpeechText, heardMs: number, bytesPerMs: number): string {
  if (heardMs <= 0) return '';
  if (speech.words.length > 0)
    return heardWords(speech, heardMs)
      .map((word) => word.text)
      .join(' ');
  const heard: string[] = [];
  for (let i = 0; i < speech.pieces.length; i++) {
    const piece = speech.pieces[i]!;
    const words = piece.units ?? piece.text.split(/\s+/).map((word) => ({ written: word, spoken: word }));
    const total = piece.units
      ? words.reduce((sum, { spoken }) => sum + spoken.length + 1, -1)
      : piece.text.length;
    const startMs = piece.startByte / bytesPerMs;
    const next = speech.pieces[i + 1];
    const knownEndMs =
      next !== undefined && next.startByte > piece.startByte
        ? next.startByte / bytesPerMs
        : speech.complete && !next
          ? speech.availableBytes / bytesPerMs
          : undefined;
    const endMs =
      knownEndMs ??
      Math.max(speech.availableBytes / bytesPerMs, startMs + (total / GUESSED_CHARS_PER_SECOND) * 1000);
    if (startMs >= heardMs) break;
    if (endMs <= heardMs) {
      heard.push(piece.text);
      continue;
    }
    let chars = 0;
    for (const { written, spoken } of words) {
      chars += spoken.length + 1;
      const wordEndMs = startMs + ((chars - 1) / total) * (endMs - startMs);
      if (wordEndMs - WORD_TOLERANCE_MS > heardMs) break;
      heard.push(written);
    }
    break;
  }
  return heard.join(' ');
}
