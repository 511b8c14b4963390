import { toWords } from './phrases.ts';

const UNFINISHED = new Set(
  'and but or so because if when then that the a an to of for in on at with from my your his her our their is are was were am be i we they he she it um uh er like about into than as not just maybe which who what where'.split(
    ' ',
  ),
);

/** Whether a sentence sounds as if more were to come. @param _language BCP 47 tag of what is spoken */
export function isUnfinished(text: string, _language: string): boolean {
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
