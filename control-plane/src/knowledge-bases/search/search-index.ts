import { embedByBuiltIn } from './built-in-model.ts';
import { fuseHits } from './fuse-hits.ts';
import type { FusedHit } from './fuse-hits.ts';
import type { Hit, KeywordIndex } from './keyword-index.ts';
import type { SearchOrder } from './search-worker.ts';
import type { VectorIndex } from './vectors.ts';

/** How far down the lists are looked at that are put together. */
const FUSED = 200;
/**
 * What the ranks of a model count, those of words being 1. The built-in model is small: alone it finds three fifths of
 * what words find (knowledge-recall.test.ts), so that it may order what words find, and add to it where they find little.
 */
const VECTOR_WEIGHT = { built_in: 0.2, provider: 1 } as const;

/** Searches one index in the way that is asked for, the best first. */
export async function searchIndex(
  index: { keywords: KeywordIndex; vectors: VectorIndex },
  { query, limit, mode, vector }: Pick<SearchOrder, 'query' | 'limit' | 'mode' | 'vector'>,
): Promise<FusedHit[]> {
  const lists: { hits: Hit[]; weight: number }[] = [];
  // What both lists have in their middle is often the best.
  const long = mode === 'hybrid' ? Math.max(limit, FUSED) : limit;
  if (mode !== 'vector') lists.push({ hits: index.keywords.search(query, long), weight: 1 });
  if (mode !== 'keyword' && vector !== undefined) {
    const builtIn = vector === 'built-in';
    const [direction] = builtIn ? await embedByBuiltIn([query]) : [vector];
    const weight = VECTOR_WEIGHT[builtIn ? 'built_in' : 'provider'];
    lists.push({ hits: index.vectors.search(direction!, long), weight });
  }
  return fuseHits(lists, limit);
}
