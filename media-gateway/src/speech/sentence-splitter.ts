/** Words whose full stop ends no sentence. */
const ABBREVIATIONS = new Set([
  'mr',
  'mrs',
  'ms',
  'dr',
  'prof',
  'st',
  'vs',
  'etc',
  'no',
  'e.g',
  'i.e',
  'approx',
  'dept',
  'est',
  'inc',
  'ltd',
  'jr',
  'sr',
]);

/** The first piece may end at a comma once it has this many characters: the voice starts sooner. */
const FIRST_PHRASE_CHARS = 24;
/** Longer text without an end of sentence is cut at a word: a voice must not wait for ever. */
const MAX_PIECE_CHARS = 280;

/**
 * Cuts streamed text into pieces that a voice can speak on their own: sentences, and for the first piece of a reply
 * a phrase, so that speech starts early. Nothing is lost or added: the pieces joined by spaces are the text.
 */
export class SentenceSplitter {
  #text = '';
  #first = true;

  /** @returns pieces that are complete now */
  push(delta: string): string[] {
    this.#text += delta;
    const pieces: string[] = [];
    for (;;) {
      const end = this.#findEnd();
      if (end === -1) return pieces;
      const piece = this.#text.slice(0, end).trim();
      this.#text = this.#text.slice(end).trimStart();
      if (piece !== '') {
        pieces.push(piece);
        this.#first = false;
      }
    }
  }

  /** The end of the text: what is left, if anything. */
  flush(): string | undefined {
    const rest = this.#text.trim();
    this.#text = '';
    this.#first = true;
    return rest === '' ? undefined : rest;
  }

  /** Index just past the end of the first piece, or -1 while it may go on. */
  #findEnd(): number {
    const text = this.#text;
    for (let i = 0; i < text.length; i++) {
      const char = text[i]!;
      if (char === '\n') return i + 1;
      if (/[。！？।]/.test(char)) return i + 1;
      if (char === '.' || char === '!' || char === '?' || char === '…') {
        let end = i + 1;
        while (end < text.length && /[.!?…"'”’)\]]/.test(text[end]!)) end++;
        // What follows decides: without a space it may be a number, an address or an abbreviation.
        if (end === text.length) return -1;
        if (/\s/.test(text[end]!) && !(char === '.' && this.#isAbbreviation(i))) return end;
        i = end - 1;
        continue;
      }
      if (
        this.#first &&
        i >= FIRST_PHRASE_CHARS &&
        /[,;:–—]/.test(char) &&
        i + 1 < text.length &&
        /\s/.test(text[i + 1]!)
      )
        return i + 1;
    }
    if (text.length > MAX_PIECE_CHARS) {
      const space = text.lastIndexOf(' ', MAX_PIECE_CHARS);
      return space > 0 ? space + 1 : MAX_PIECE_CHARS;
    }
    return -1;
  }

  #isAbbreviation(dot: number): boolean {
    const word = /([\p{L}.]+)$/u.exec(this.#text.slice(0, dot))?.[1]?.toLowerCase();
    if (word === undefined)
      return /\d$/.test(this.#text.slice(0, dot)) && /^\.\s*\d/.test(this.#text.slice(dot));
    return ABBREVIATIONS.has(word) || word.length === 1;
  }
}
