/** About twenty minutes of speech. */
export const MAX_TEXT_LENGTH = 20_000;
/** A piece is what flite speaks at a time: some seconds of speech, a fraction of a second of work. */
const MAX_PIECE_LENGTH = 250;
const MAX_WORD_LENGTH = 40;

const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019\u201a\u2032]/g, "'"],
  [/[\u201c\u201d\u201e\u2033]/g, '"'],
  [/\s*[\u2013\u2014\u2015]\s*/g, ', '],
  [/\u2044/g, '/'],
  [/\u00df/g, 'ss'],
  [/\u00e6/gi, 'ae'],
  [/\u00f8/gi, 'o'],
  [/\u20ac/g, ' euro '],
  [/\u00a3/g, ' pound '],
  [/\p{Mark}/gu, ''],
];

/**
 * What of `text` an English voice can say, in pieces that end where a speaker may pause. Accents are dropped, and so is
 * what has no Latin letters or digits in it; long words, which flite cannot hold, are broken.
 * @returns printable ASCII; nothing when there is nothing to say
 * @throws RangeError when the text is longer than `MAX_TEXT_LENGTH`
 */
export function speakablePieces(text: string): string[] {
  if (text.length > MAX_TEXT_LENGTH) {
    throw new RangeError(`The text has ${text.length} characters; the maximum is ${MAX_TEXT_LENGTH}.`);
  }
  let plain = text.normalize('NFKD');
  for (const [pattern, replacement] of REPLACEMENTS) plain = plain.replace(pattern, replacement);
  plain = plain
    .replace(/[^\x20-\x7e]/g, ' ')
    // Some thousand dots in a row overrun flite's memory.
    .replace(/([^A-Za-z0-9\s])\1{3,}/g, '$1$1$1')
    .replace(new RegExp(`\\S{${MAX_WORD_LENGTH}}(?=\\S)`, 'g'), '$& ')
    .replace(/ +/g, ' ')
    .trim();
  const pieces: string[] = [];
  while (plain.length > MAX_PIECE_LENGTH) {
    const end = pauseBefore(plain);
    pieces.push(plain.slice(0, end).trim());
    plain = plain.slice(end).trim();
  }
  return [...pieces, plain].filter((piece) => /[A-Za-z0-9]/.test(piece));
}

/** The best place to pause within the first piece: after a sentence, else a clause, else a word. */
function pauseBefore(text: string): number {
  const head = text.slice(0, MAX_PIECE_LENGTH);
  for (const pause of [/^.*[.!?]["')]*(?= )/, /^.*[,;:](?= )/, /^.*(?= )/]) {
    const found = pause.exec(head);
    if (found && found[0].length > 0) return found[0].length;
  }
  return MAX_PIECE_LENGTH;
}
