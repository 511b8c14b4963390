import { toWords } from './phrases.ts';
import { YES_NO, type YesNoTable } from './yes-no-tables.ts';

export type YesNo = 'yes' | 'no' | 'unclear';

type Meaning = 'yes' | 'no' | 'beside';

/** All phrases of a language by their first word, the longest first. */
type Phrases = ReadonlyMap<string, readonly { words: readonly string[]; meaning: Meaning }[]>;

const known = new Map<string, Phrases>();

/**
 * Finds a yes or a no in what a caller said. A yes holds nothing else but words of courtesy and words of the question:
 * "yes, book it" is one when booking was asked about, and "yes, but at nine" is not. A no may hold anything but a yes,
 * since after it nothing is done.
 * @param said a caller's turn
 * @param question what the agent had asked
 * @param language BCP 47 tag; English where the language has no table
 */
export function yesOrNo(said: string, question: string, language: string): YesNo {
  const phrases = phrasesOf(language.split('-', 1)[0]!.toLowerCase());
  const asked = new Set(toWords(question));
  const words = toWords(said);
  let yes = false;
  let no = false;
  let other = false;
  for (let at = 0; at < words.length;) {
    const rest = words.slice(at);
    const found = phrases.get(rest[0]!)?.find((phrase) => phrase.words.every((word, i) => word === rest[i]));
    if (found?.meaning === 'yes') yes = true;
    else if (found?.meaning === 'no') no = true;
    else if (!found && !asked.has(rest[0]!)) other = true;
    at += found?.words.length ?? 1;
  }
  if (yes === no) return 'unclear';
  if (no) return 'no';
  // "Yes?" asks back.
  return other || /[?？]\s*$/.test(said) ? 'unclear' : 'yes';
}

/** Languages that have words of their own. */
export const YES_NO_LANGUAGES = Object.keys(YES_NO);

function phrasesOf(language: string): Phrases {
  const name = language in YES_NO ? language : 'en';
  let phrases = known.get(name);
  if (!phrases) known.set(name, (phrases = indexed(YES_NO[name]!)));
  return phrases;
}

function indexed(table: YesNoTable): Phrases {
  const index = new Map<string, { words: readonly string[]; meaning: Meaning }[]>();
  for (const meaning of ['yes', 'no', 'beside'] as const) {
    for (const phrase of table[meaning]) {
      const words = toWords(phrase);
      const same = index.get(words[0]!);
      if (same) same.push({ words, meaning });
      else index.set(words[0]!, [{ words, meaning }]);
    }
  }
  for (const list of index.values()) list.sort((a, b) => b.words.length - a.words.length);
  return index;
}
