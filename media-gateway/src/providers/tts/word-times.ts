export interface TimedText {
  text: string;
  startMs: number;
  endMs: number;
  estimated?: boolean;
}

/** Turns times of characters, which come in pieces that end anywhere, into times of words. */
export class WordTimes {
  #text = '';
  #startMs = 0;
  #endMs = 0;

  /** @returns the words that a space has ended */
  push(
    chars: readonly string[],
    startsMs: readonly number[],
    durationsMs: readonly number[],
    offsetMs: number,
  ): TimedText[] {
    const words: TimedText[] = [];
    chars.forEach((char, index) => {
      if (/^\s*$/.test(char)) {
        words.push(...this.end());
        return;
      }
      const startMs = offsetMs + (startsMs[index] ?? 0);
      if (this.#text === '') this.#startMs = startMs;
      this.#text += char;
      this.#endMs = startMs + (durationsMs[index] ?? 0);
    });
    return words;
  }

  /** @returns the word that nothing has ended yet, if there is one */
  end(): TimedText[] {
    if (this.#text === '') return [];
    const word = { text: this.#text, startMs: this.#startMs, endMs: this.#endMs };
    this.#text = '';
    return [word];
  }
}

/** Where the words of `text` lie, as near as their lengths tell. */
export function estimateWordTimes(text: string, startMs: number, durationMs: number): TimedText[] {
  const perCharacterMs = durationMs / Math.max(1, text.length);
  return [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({
    text: word,
    startMs: Math.round(startMs + index * perCharacterMs),
    endMs: Math.round(startMs + (index + word.length) * perCharacterMs),
    estimated: true,
  }));
}
