import { embedByBuiltIn } from './built-in-model.ts';
import { fuseHits, spread, swayHits } from './fuse-hits.ts';
import type { KeywordIndex, RankedHit } from './keyword-index.ts';
import type { SearchOrder } from './search-worker.ts';
import type { VectorIndex } from './vectors.ts';

/** How far down the lists are looked at: what both have in their middle is often the best. */
const LOOKED_AT = 200;
/** Searches one index in the way that is asked for, the best first. */
export async function searchIndex(
  index: { keywords: KeywordIndex; vectors: VectorIndex },
  { query, limit, mode, vector }: Pick<SearchOrder, 'query' | 'limit' | 'mode' | 'vector'>,
): Promise<RankedHit[]> {
  const most = Math.max(limit, LOOKED_AT);
  const byWords = mode === 'vector' ? [] : searchWords(index.keywords, query, most);
  const hits = mode === 'keyword' || vector === undefined ? byWords : await byMeaning();
  return spread(hits, (doc) => index.keywords.documentOf(doc), limit);

  async function byMeaning(): Promise<RankedHit[]> {
    const builtIn = vector === 'built-in';
    const [direction] = builtIn ? await embedByBuiltIn([query]) : [vector as Int8Array];
    const near = index.vectors.search(direction!, most);
    if (mode === 'vector') return near.map((hit) => ({ ...hit, rank: hit.score }));
    // The built-in model is small: alone it finds half of what words find (knowledge-recall.test.ts).
    return builtIn ? swayHits(byWords, near, index.vectors.nearness(direction!)) : fuseHits([byWords, near]);
  }
}

/** Parts of a question that are looked at by themselves. */
const MOST_PARTS = 6;

/**
 * Ranks by all words of a question, and scores by its best part: who speaks says what they ask for in one clause and
 * their story in others, whose words no passage has.
 */
function searchWords(keywords: KeywordIndex, query: string, most: number): RankedHit[] {
  const whole = keywords.search(query, most);
  const parts = query.split(/[.,;:!?\u0964\u3002]+(?=\s|$)/).filter((part) => /\S\s+\S/.test(part.trim()));
  if (whole.length === 0 || parts.length < 2) return whole;
  const best = new Map<number, number>();
  for (const part of parts.slice(-MOST_PARTS))
    for (const { doc, score } of keywords.search(part, most))
      best.set(doc, Math.max(best.get(doc) ?? 0, score));
  return whole.map((hit) => ({ ...hit, score: Math.max(hit.score, best.get(hit.doc) ?? 0) }));
}
