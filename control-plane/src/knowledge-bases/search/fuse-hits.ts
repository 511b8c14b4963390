import type { Hit, RankedHit } from './keyword-index.ts';

/** How soon a rank counts less: the constant of reciprocal rank fusion (Cormack and others, 2009). */
const RANK_CONSTANT = 60;
/** What the ranks of a document's best passages count, and of all behind them: they wait for those of others. */
const OF_ONE_DOCUMENT = [1, 0.7, 0.25] as const;

/**
 * Puts lists of hits together by the ranks that they give a passage, whatever their scores mean. The score of a
 * passage is the best that a list gave it.
 * @param lists each the best first
 */
export function fuseHits(lists: readonly (readonly Hit[])[]): RankedHit[] {
  const fused = new Map<number, RankedHit>();
  for (const hits of lists)
    for (const [place, { doc, score }] of hits.entries()) {
      const known = fused.get(doc) ?? { doc, score: 0, rank: 0 };
      known.rank += 1 / (RANK_CONSTANT + place + 1);
      known.score = Math.max(known.score, score);
      fused.set(doc, known);
    }
  return [...fused.values()].sort(bestFirst);
}

/** How much what a weak model says of a passage sways the rank that its words give it. */
const SWAY = 0.4;
/** What words did not find comes behind all that they did. */
const BEHIND = 1e-6;

/**
 * Lets a model that is weaker than words order what they found, and add to it where they found little.
 * @param nearness of a passage's direction to the question's: a cosine
 */
export function swayHits(
  found: readonly RankedHit[],
  added: readonly Hit[],
  nearness: (doc: number) => number,
): RankedHit[] {
  const known = new Set(found.map(({ doc }) => doc));
  const swayed = found.map((hit) => {
    const near = nearness(hit.doc);
    return { ...hit, score: Math.max(hit.score, near), rank: hit.rank * (1 + SWAY * near) };
  });
  const behind = added.filter(({ doc }) => !known.has(doc));
  return [...swayed, ...behind.map((hit) => ({ ...hit, rank: hit.score * BEHIND }))].sort(bestFirst);
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
    return { ...hit, rank: hit.rank * OF_ONE_DOCUMENT[Math.min(before, OF_ONE_DOCUMENT.length - 1)]! };
  });
  return spread.sort(bestFirst).slice(0, limit);
}

const bestFirst = (a: RankedHit, b: RankedHit): number => b.rank - a.rank || a.doc - b.doc;
