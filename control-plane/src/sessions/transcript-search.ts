import { z } from 'zod';
import { invalid } from '../http/validation.ts';
import type { Filter, ScopedCollection } from '../tenancy/scope.ts';
import type { SessionRecord } from './session-record.ts';
import { MAX_SEARCHED_WORDS, transcriptWords } from './transcript-words.ts';

/** Sessions that a search of several words may read. */
export const MAX_READ = 50_000;

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

/**
 * Conditions on an array, the one that fits fewest sessions first: that is the one which the database looks up, and the
 * others it tests. Counted from the keys of an index, up to `most`.
 * @returns `least`: how many sessions that one fits, where it had to be known; `most` + 1: more
 */
export async function rarestFirst<C extends Filter<SessionRecord>>(
  sessions: ScopedCollection<SessionRecord>,
  conditions: readonly C[],
  among: Filter<SessionRecord>,
  most = MAX_READ,
): Promise<{ conditions: C[]; least: number }> {
  if (conditions.length < 2) return { conditions: [...conditions], least: 0 };
  let least = most + 1;
  let rarest = conditions[0]!;
  for (const condition of conditions) {
    const count = await sessions.count({ ...among, ...condition }, { limit: least });
    if (count >= least) continue;
    [least, rarest] = [count, condition];
    if (count === 0) break;
  }
  return { conditions: [rarest, ...conditions.filter((condition) => condition !== rarest)], least };
}
