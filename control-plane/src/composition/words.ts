/** Letters of a word that are kept. */
const MAX_WORD_LENGTH = 64;

/** Words of a text in order, lower-cased: whatever stands between letters and digits separates them. */
export function splitWords(text: string): string[] {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u);
  return words.filter((word) => word !== '').map((word) => word.slice(0, MAX_WORD_LENGTH));
}
