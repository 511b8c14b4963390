import type { Hit } from './keyword-index.ts';

/** How soon a rank counts less: the constant of reciprocal rank fusion (Cormack and others, 2009). */
const RANK_CONSTANT = 60;

/** A passage found in one way or several. */
export interface FusedHit extends Hit {
  /** What it is ordered by. */
  rank: number;
}

/**
 * Puts lists of hits together by the ranks that they give a passage, whatever their scores mean. The score of a
 * passage is the best that a list gave it.
 * @param lists each the best first, with the weight of its ranks
 */
export function fuseHits(
  lists: readonly { hits: readonly Hit[]; weight: number }[],
  limit: number,
): FusedHit[] {
  const fused = new Map<number, FusedHit>();
  for (const { hits, weight } of lists)
    for (const [place, { doc, score }] of hits.entries()) {
      const known = fused.get(doc) ?? { doc, score: 0, rank: 0 };
      known.rank += weight / (RANK_CONSTANT + place + 1);
      known.score = Math.max(known.score, score);
      fused.set(doc, known);
    }
  return [...fused.values()].sort((a, b) => b.rank - a.rank || a.doc - b.doc).slice(0, limit);
}
