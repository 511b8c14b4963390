import { toWords } from '../phrases.ts';

/**
 * How a text ends, as far as something dictated is concerned.
 * - `none`: nothing is being dictated
 * - `complete`: something dictated that is whole and cannot grow
 * - `may_grow`: something dictated that is whole and could still go on
 * - `incomplete`: something dictated of which more has to come
 */
export type DictationState = 'none' | 'complete' | 'may_grow' | 'incomplete';

export interface DictationContext {
  /** BCP 47 tag of what is spoken. */
  language: string;
  /** Where the speaker is, ISO 3166-1; undefined: the country that the language suggests. */
  country?: string | undefined;
}

const NUMBER_WORDS = new Set(
  'zero oh one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand double triple'.split(
    ' ',
  ),
);

/** Tells how a text ends: in the middle of digits, spelling or an e-mail address, or not. */
export function dictationState(text: string, _context: DictationContext): DictationState {
  const words = toWords(text);
  const last = words.at(-1);
  if (last === undefined) return 'none';
  if (/@\S*$/.test(text.trim()) && !/@\S+\.\S{2,}\W*$/.test(text.trim())) return 'incomplete';
  if (last === 'at' || last === 'dot' || last === 'underscore' || last === 'dash') return 'incomplete';
  const spelled = (word: string | undefined) =>
    word !== undefined && (/^\d+$/.test(word) || /^[\p{L}]$/u.test(word) || NUMBER_WORDS.has(word));
  // One number alone is an answer; two in a row are the beginning of a longer one.
  return spelled(last) && spelled(words.at(-2)) ? 'incomplete' : 'none';
}

/** As `dictationState`, for one speaker: the state of the last text is remembered, as turns ask for it on each tick. */
export function dictationReader(context: DictationContext): (text: string) => DictationState {
  let known = '';
  let state: DictationState = 'none';
  return (text) => {
    if (text !== known) {
      known = text;
      state = dictationState(text, context);
    }
    return state;
  };
}
