import { embedByBuiltIn } from './built-in-model.ts';
import { fuseHits } from './fuse-hits.ts';
import type { FusedHit } from './fuse-hits.ts';
import type { Hit, KeywordIndex } from './keyword-index.ts';
import type { SearchOrder } from './search-worker.ts';
import type { VectorIndex } from './vectors.ts';

/** How far down the lists are looked at that are put together. */
const FUSED = 50;
/** Measured with the built-in model, which is small: see knowledge-recall.test.ts. */
const KEYWORD_WEIGHT = 1;
const VECTOR_WEIGHT = 1;

/** Searches one index in the way that is asked for, the best first. */
export async function searchIndex(
  index: { keywords: KeywordIndex; vectors: VectorIndex },
  { query, limit, mode, vector }: Pick<SearchOrder, 'query' | 'limit' | 'mode' | 'vector'>,
): Promise<FusedHit[]> {
  const lists: { hits: Hit[]; weight: number }[] = [];
  // What both lists have in their middle is often the best.
  const long = mode === 'hybrid' ? Math.max(limit, FUSED) : limit;
  if (mode !== 'vector') lists.push({ hits: index.keywords.search(query, long), weight: KEYWORD_WEIGHT });
  if (mode !== 'keyword' && vector !== undefined) {
    const [direction] = vector === 'built-in' ? await embedByBuiltIn([query]) : [vector];
    lists.push({ hits: index.vectors.search(direction!, long), weight: VECTOR_WEIGHT });
  }
  return fuseHits(lists, limit);
}
