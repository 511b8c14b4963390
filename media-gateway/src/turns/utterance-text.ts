import { tableOf } from '@parley/shared/languages/dictation/tables';
import { toWords } from './phrases.ts';

/** Whether a sentence sounds as if more were to come. @param language BCP 47 tag of what is spoken */
export function isUnfinished(text: string, language: string): boolean {
  if (/(\.\.\.|[…,;:、，-])\s*$/.test(text)) return true;
  const words = toWords(text);
  const last = words.at(-1);
  if (last === undefined) return true;
  if (/[?!？！]\s*$/.test(text)) return false;
  const { unfinished, unspaced } = tableOf(language);
  if (!unspaced) return unfinished.has(last);
  const characters = words.join('');
  return [...unfinished].some((word) => characters.endsWith(word));
}

/** Whether two transcripts say the same, formatting apart: a reply begun for one fits the other. */
export function saysTheSame(a: string, b: string): boolean {
  const left = toWords(a);
  const right = toWords(b);
  return left.length === right.length && left.every((word, i) => word === right[i]);
}
