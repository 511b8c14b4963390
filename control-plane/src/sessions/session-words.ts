import { splitWords } from '../composition/words.ts';
import type { SessionRecord } from './session-record.ts';

const MAX_WORDS = 60;
/** The shortest end of a number that is looked for. */
const MIN_DIGITS = 4;
/** Variables that hold who the caller is. */
const WHO = ['name', 'external_id'] as const;

type Searched = Pick<SessionRecord, 'from_number' | 'to_number' | 'user_identifier' | 'variables'>;

/** What a session is found by: words of the caller's name and identifiers, and the ends of both numbers. */
export function wordsOf(session: Partial<Searched>): string[] {
  const numbers = [session.from_number, session.to_number].flatMap((number) => {
    const digits = (number ?? '').replace(/\D/g, '');
    const ends = Math.max(0, digits.length - MIN_DIGITS + 1);
    return Array.from({ length: ends }, (_, from) => digits.slice(from));
  });
  const texts = [session.user_identifier, ...WHO.map((name) => session.variables?.[name])];
  const words = texts.flatMap((text) => splitWords(text ?? ''));
  return [...new Set([...numbers, ...words])].slice(0, MAX_WORDS);
}

/**
 * The words of a search, all of which a session must have. A telephone number is one, however it is written.
 * @returns none for a text without letters and digits
 */
export function searchedWords(text: string): string[] {
  if (/^[\d\s()+./-]+$/.test(text)) {
    const digits = text.replace(/\D/g, '');
    return digits === '' ? [] : [digits];
  }
  return [...new Set(splitWords(text))];
}
