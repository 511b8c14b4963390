import t from 'tap';
import { fuseHits, spread, swayHits } from './fuse-hits.ts';
import { joinVectors, quantise, VectorIndex, vectorFromText, vectorToText } from './vectors.ts';

let seed = 11;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
/** Directions around some middles, as texts about the same things have. */
function directions(count: number, dimensions: number): Int8Array[] {
  const middles = Array.from({ length: 50 }, () => Array.from({ length: dimensions }, () => random() - 0.5));
  return Array.from({ length: count }, (_, at) =>
    quantise(middles[at % middles.length]!.map((value) => value + (random() - 0.5) * 1.2)),
  );
}

function cosine(a: Int8Array, b: Int8Array): number {
  const dot = (x: Int8Array, y: Int8Array) => x.reduce((sum, value, at) => sum + value * y[at]!, 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

void t.test('the nearest directions are found, with their cosines', async (t) => {
  const all = directions(300, 16);
  const { vectors, dimensions } = joinVectors(all);
  const index = new VectorIndex(vectors, dimensions);
  const query = directions(1, 16)[0]!;
  const cosines = all.map((one) => cosine(query, one));
  const expected = [...cosines.keys()].sort((a, b) => cosines[b]! - cosines[a]!).slice(0, 10);
  const found = index.search(query, 10);
  t.same(
    found.map(({ doc }) => doc),
    expected,
  );
  t.ok(found.every(({ doc, score }) => Math.abs(score - cosines[doc]!) < 1e-6));
  t.same(vectorFromText(vectorToText(query)), query);
  t.same(index.search(new Int8Array(16), 5), [], 'nothing points nowhere');
  t.same(index.search(new Int8Array(8), 5), [], 'nor anywhere in another model');
});

void t.test('of very many directions nearly all of the nearest are found', async (t) => {
  const all = directions(20_500, 64);
  const { vectors, dimensions } = joinVectors(all);
  const index = new VectorIndex(vectors, dimensions);
  let [found, wanted] = [0, 0];
  for (const query of directions(5, 64)) {
    const cosines = all.map((one) => cosine(query, one));
    const best = new Set([...cosines.keys()].sort((a, b) => cosines[b]! - cosines[a]!).slice(0, 10));
    wanted += best.size;
    found += index.search(query, 10).filter(({ doc }) => best.has(doc)).length;
  }
  t.ok(found >= 0.95 * wanted, `${found} of ${wanted}`);
});

void t.test('a passage without a direction is joined as one that points nowhere', async (t) => {
  const joined = joinVectors([Int8Array.of(3, 4), new Int8Array(), Int8Array.of(127, 0)]);
  t.same([...joined.vectors], [3, 4, 0, 0, 127, 0]);
  const found = new VectorIndex(joined.vectors, joined.dimensions).search(Int8Array.of(127, 0), 3);
  t.same(
    found.map(({ doc, score }) => [doc, score.toFixed(3)]),
    [
      [2, '1.000'],
      [0, '0.600'],
      [1, '0.000'],
    ],
  );
  t.same(joinVectors([]), { vectors: new Int8Array(), dimensions: 0 });
});

void t.test('ranks are put together, whatever the scores mean', (t) => {
  const words = [
    { doc: 1, score: 0.9 },
    { doc: 2, score: 0.8 },
    { doc: 3, score: 0.1 },
  ];
  const meaning = [
    { doc: 3, score: 0.4 },
    { doc: 2, score: 0.3 },
    { doc: 4, score: 0.2 },
  ];
  t.same(
    fuseHits([words, meaning])
      .slice(0, 3)
      .map(({ doc, score }) => ({ doc, score })),
    [
      { doc: 3, score: 0.4 },
      { doc: 2, score: 0.8 },
      { doc: 1, score: 0.9 },
    ],
  );
  t.same(
    fuseHits([words]).map(({ doc }) => doc),
    [1, 2, 3],
  );
  t.end();
});

void t.test('a weak model orders what words found, and comes behind it with what they did not', (t) => {
  const words = [
    { doc: 1, score: 0.9, rank: 1 },
    { doc: 2, score: 0.8, rank: 0.9 },
    { doc: 3, score: 0.1, rank: 0.2 },
  ];
  const near = new Map([
    [2, 0.9],
    [3, 1],
    [4, 0.95],
    [5, 0.5],
  ]);
  const added = [4, 2, 5].map((doc) => ({ doc, score: near.get(doc)! }));
  const swayed = swayHits(words, added, (doc) => near.get(doc) ?? 0);
  t.same(
    swayed.map(({ doc, score }) => ({ doc, score })),
    [
      { doc: 2, score: 0.9 },
      { doc: 1, score: 0.9 },
      { doc: 3, score: 1 },
      { doc: 4, score: 0.95 },
      { doc: 5, score: 0.5 },
    ],
  );
  t.end();
});

void t.test('passages of one document wait for those of others, and come where there are none', (t) => {
  const hits = [9, 8, 7, 6, 1].map((rank, doc) => ({ doc, score: 0.5, rank }));
  const found = (documents: number[], limit: number) =>
    spread(hits, (doc) => documents[doc]!, limit).map(({ doc }) => doc);
  t.same(found([1, 1, 1, 2, 3], 3), [0, 3, 1], 'the second only behind those that are nearly as good');
  t.same(found([1, 1, 1, 2, 3], 5), [0, 3, 1, 2, 4]);
  t.same(found([1, 1, 1, 1, 1], 4), [0, 1, 2, 3]);
  t.same(found([1, 2, 3, 4, 5], 5), [0, 1, 2, 3, 4]);
  t.end();
});
