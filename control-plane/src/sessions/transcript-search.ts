import { z } from 'zod';
import { MAX_READ, rarestFirst } from '../composition/word-search.ts';
import { invalid } from '../http/validation.ts';
import type { Filter, ScopedCollection } from '../tenancy/scope.ts';
import type { SessionRecord } from './session-record.ts';
import { MAX_SEARCHED_WORDS, transcriptWords } from './transcript-words.ts';

export const transcriptQuery = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => transcriptWords(text).length > 0, 'must have a letter or a digit')
  .refine(
    (text) => transcriptWords(text).length <= MAX_SEARCHED_WORDS,
    `must have at most ${MAX_SEARCHED_WORDS} words`,
  )
  .meta({
    description:
      'Words of the transcript, all of which must occur, in any order and from either side. Whole words; upper and lower case are ' +
      'the same. In texts without spaces (Chinese, Japanese, Thai) pairs of characters stand for words. Found is what the ' +
      'transcript shows: nothing that was masked, and nothing of erased sessions. Words that all occur in more than 50,000 ' +
      'sessions cannot be combined.',
  });

/**
 * The conditions of a search in transcripts.
 * @param among what else holds of all sessions of the list
 * @throws ValidationError when too many would have to be read
 */
export async function saying(
  sessions: ScopedCollection<SessionRecord>,
  text: string,
  among: Filter<SessionRecord>,
): Promise<{ said: string }[]> {
  const words = transcriptWords(text).map((said) => ({ said }));
  const { conditions, least } = await rarestFirst(sessions, words, among);
  if (least > MAX_READ)
    throw invalid(
      ['query', 'transcript'],
      'each of these words occurs in more than 50,000 sessions: add a rarer one, or a time range',
    );
  return conditions;
}
