import { embedByBuiltIn } from './built-in-model.ts';
import { fuseHits, spread } from './fuse-hits.ts';
import type { KeywordIndex, RankedHit } from './keyword-index.ts';
import type { SearchOrder } from './search-worker.ts';
import type { VectorIndex } from './vectors.ts';

/** How far down the lists are looked at: what both have in their middle is often the best. */
const LOOKED_AT = 200;
/**
 * What the ranks of a model count, those of words being 1. The built-in model is small: alone it finds three fifths of
 * what words find (knowledge-recall.test.ts), so that it may order what words find, and add to it where they find little.
 */
const VECTOR_WEIGHT = { built_in: 0.2, provider: 1 } as const;

/** Searches one index in the way that is asked for, the best first. */
export async function searchIndex(
  index: { keywords: KeywordIndex; vectors: VectorIndex },
  { query, limit, mode, vector }: Pick<SearchOrder, 'query' | 'limit' | 'mode' | 'vector'>,
): Promise<RankedHit[]> {
  const most = Math.max(limit, LOOKED_AT);
  const lists: { hits: RankedHit[]; weight: number }[] = [];
  if (mode !== 'vector') lists.push({ hits: index.keywords.search(query, most), weight: 1 });
  if (mode !== 'keyword' && vector !== undefined) {
    const builtIn = vector === 'built-in';
    const [direction] = builtIn ? await embedByBuiltIn([query]) : [vector];
    const weight = VECTOR_WEIGHT[builtIn ? 'built_in' : 'provider'];
    const hits = index.vectors.search(direction!, most).map((hit) => ({ ...hit, rank: hit.score }));
    lists.push({ hits, weight });
  }
  const hits = mode === 'hybrid' ? fuseHits(lists) : (lists[0]?.hits ?? []);
  return spread(hits, (doc) => index.keywords.documentOf(doc), limit);
}
