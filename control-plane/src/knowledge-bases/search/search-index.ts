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
  const byWords = mode === 'vector' ? [] : index.keywords.search(query, most);
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
