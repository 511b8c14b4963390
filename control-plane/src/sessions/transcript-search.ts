import { z } from 'zod';
import { invalid } from '../http/validation.ts';
import type { Filter, ScopedCollection } from '../tenancy/scope.ts';
import type { SessionRecord } from './session-record.ts';
import { MAX_SEARCHED_WORDS, transcriptWords } from './transcript-words.ts';

/** Sessions that a search of several words may read. */
const MAX_READ = 50_000;

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
 * The conditions of a search in transcripts, the one that fits fewest sessions first: that is the one which the database
 * looks up, and the others it tests.
 * @param among what else holds of all sessions of the list
 * @throws ValidationError when too many would have to be read
 */
export async function saying(
  sessions: ScopedCollection<SessionRecord>,
  text: string,
  among: Filter<SessionRecord>,
): Promise<{ said: string }[]> {
  const conditions = transcriptWords(text).map((said) => ({ said }));
  if (conditions.length < 2) return conditions;
  let least = MAX_READ + 1;
  let rarest = conditions[0]!;
  for (const condition of conditions) {
    const count = await sessions.count({ ...among, ...condition }, { limit: least });
    if (count >= least) continue;
    [least, rarest] = [count, condition];
    if (count === 0) break;
  }
  if (least > MAX_READ)
    throw invalid(
      ['query', 'transcript'],
      'each of these words occurs in more than 50,000 sessions: add a rarer one, or a time range',
    );
  return [rarest, ...conditions.filter((condition) => condition !== rarest)];
}
