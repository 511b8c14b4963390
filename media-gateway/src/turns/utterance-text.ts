import { toWords } from './phrases.ts';

const NUMBER_WORDS = new Set(
  'zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand double triple'.split(
    ' ',
  ),
);

const UNFINISHED = new Set(
  'and but or so because if when then that the a an to of for in on at with from my your his her our their is are was were am be i we they he she it um uh er like about into than as not just maybe which who what where'.split(
    ' ',
  ),
);

/** Whether somebody seems to be in the middle of dictating digits, spelling or an e-mail address. */
export function isDictating(text: string): boolean {
  const words = toWords(text);
  const last = words.at(-1);
  if (last === undefined) return false;
  if (/@\S*$/.test(text.trim()) && !/@\S+\.\S{2,}\W*$/.test(text.trim())) return true;
  if (last === 'at' || last === 'dot' || last === 'underscore' || last === 'dash') return true;
  const spelled = (word: string | undefined) =>
    word !== undefined && (/^\d+$/.test(word) || /^[\p{L}]$/u.test(word) || NUMBER_WORDS.has(word));
  // One number alone is an answer; two in a row are the beginning of a longer one.
  return spelled(last) && spelled(words.at(-2));
}

/** Whether a sentence sounds as if more were to come. */
export function isUnfinished(text: string): boolean {
  if (/(\.\.\.|…|[,;:-])\s*$/.test(text)) return true;
  const words = toWords(text);
  const last = words.at(-1);
  if (last === undefined) return true;
  return UNFINISHED.has(last) && !/[?!]\s*$/.test(text);
}

/** Whether two transcripts say the same, formatting apart: a reply begun for one fits the other. */
export function saysTheSame(a: string, b: string): boolean {
  const left = toWords(a);
  const right = toWords(b);
  return left.length === right.length && left.every((word, i) => word === right[i]);
}
