import type { RankedHit } from './keyword-index.ts';

/** How soon a rank counts less: the constant of reciprocal rank fusion (Cormack and others, 2009). */
const RANK_CONSTANT = 60;
/** So many passages of a document come as they are found; further ones wait for those of other documents. */
const OF_ONE_DOCUMENT = 2;
/** What the rank of a passage is multiplied by that waits. */
const WAITING = 0.25;

/**
 * Puts lists of hits together by the ranks that they give a passage, whatever their scores mean. The score of a
 * passage is the best that a list gave it.
 * @param lists each the best first, with the weight of its ranks
 */
export function fuseHits(lists: readonly { hits: readonly RankedHit[]; weight: number }[]): RankedHit[] {
  const fused = new Map<number, RankedHit>();
  for (const { hits, weight } of lists)
    for (const [place, { doc, score }] of hits.entries()) {
      const known = fused.get(doc) ?? { doc, score: 0, rank: 0 };
      known.rank += weight / (RANK_CONSTANT + place + 1);
      known.score = Math.max(known.score, score);
      fused.set(doc, known);
    }
  return [...fused.values()].sort(bestFirst);
}

/**
 * Sees to it that one document does not fill the whole answer, as long as others have something to say.
 * @param hits the best first
 * @param documentOf the document that a passage is of
 */
export function spread(
  hits: readonly RankedHit[],
  documentOf: (doc: number) => number,
  limit: number,
): RankedHit[] {
  const taken = new Map<number, number>();
  const spread = hits.map((hit) => {
    const document = documentOf(hit.doc);
    const before = taken.get(document) ?? 0;
    taken.set(document, before + 1);
    return before < OF_ONE_DOCUMENT ? hit : { ...hit, rank: hit.rank * WAITING };
  });
  return spread.sort(bestFirst).slice(0, limit);
}

const bestFirst = (a: RankedHit, b: RankedHit): number => b.rank - a.rank || a.doc - b.doc;
