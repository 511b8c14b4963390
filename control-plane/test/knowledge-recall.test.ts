import t from 'tap';
import { embedByBuiltIn } from '../src/knowledge-bases/search/built-in-model.ts';
import { KeywordIndex, KeywordIndexBuilder } from '../src/knowledge-bases/search/keyword-index.ts';
import { searchIndex } from '../src/knowledge-bases/search/search-index.ts';
import type { SearchMode } from '../src/knowledge-bases/search/search-worker.ts';
import { joinVectors, quantise, VectorIndex } from '../src/knowledge-bases/search/vectors.ts';
import { Words } from '../src/knowledge-bases/search/words.ts';
import { answerable, chunksOf, documentationPages, isAnswer } from './fixtures/knowledge-corpus.ts';
import type { CorpusChunk } from './fixtures/knowledge-corpus.ts';
import { QUESTIONS } from './fixtures/knowledge-questions.ts';

/**
 * How often what people ask is found: documentation that the installed packages ship, and questions that were written
 * without it (`fixtures/knowledge-questions.ts`). A question counts as answered when one of the first five passages
 * is of a page that answers it.
 */
const LONG = process.env['TEST_LONG'] === '1';
const FOUND_AT = 5;
t.setTimeout(3_600_000);

const words = await Words.of(['en']);

/** As the indexer does it: the name of a document counts as a heading. */
function keywordIndex(chunks: readonly CorpusChunk[]): KeywordIndex {
  const builder = new KeywordIndexBuilder(words);
  for (const { page, heading, text } of chunks)
    builder.add({ document: page, heading: `${page.split('/').at(-1)} ${heading}`, text });
  return new KeywordIndex(words, builder.finish());
}

async function recall(
  chunks: readonly CorpusChunk[],
  questions: readonly (typeof QUESTIONS)[number][],
  mode: SearchMode,
  vectors: VectorIndex = new VectorIndex(new Int8Array(), 0),
): Promise<number> {
  const index = { keywords: keywordIndex(chunks), vectors };
  let found = 0;
  for (const [query, ...answers] of questions) {
    const vector = mode === 'keyword' ? undefined : 'built-in';
    const hits = await searchIndex(index, { query, limit: FOUND_AT, mode, vector });
    if (hits.some(({ doc }) => isAnswer(chunks[doc]!.page, answers))) found++;
  }
  return found / questions.length;
}

void t.test('a sample of questions finds its pages by their words', async (t) => {
  const all = documentationPages();
  const questions = answerable(all).filter((_, at) => at % 8 === 0);
  const answers = (page: string) => questions.some(([, ...one]) => isAnswer(page, one));
  const pages = all.filter((page, at) => answers(page) || at % 16 === 0);
  const found = await recall(chunksOf(pages), questions, 'keyword');
  t.comment(`${questions.length} questions, ${pages.length} pages: recall@${FOUND_AT} ${found.toFixed(3)}`);
  t.ok(found >= 0.75, String(found));
});

void t.test(
  'all questions find their pages among all',
  { skip: !LONG && 'TEST_LONG=1 runs it' },
  async (t) => {
    const pages = documentationPages();
    const questions = answerable(pages);
    t.ok(
      pages.length >= 300 && questions.length >= 200,
      `${pages.length} pages, ${questions.length} questions`,
    );
    const chunks = chunksOf(pages);
    const keyword = await recall(chunks, questions, 'keyword');
    const made: Int8Array[] = [];
    for (let from = 0; from < chunks.length; from += 16)
      made.push(
        ...(await embedByBuiltIn(
          chunks.slice(from, from + 16).map(({ heading, text }) => `${heading}\n${text}`),
        )),
      );
    const { vectors, dimensions } = joinVectors(made);
    const hybrid = await recall(chunks, questions, 'hybrid', new VectorIndex(vectors, dimensions));
    t.comment(
      `${chunks.length} passages: recall@${FOUND_AT} keyword ${keyword.toFixed(3)}, hybrid ${hybrid.toFixed(3)}`,
    );
    t.ok(keyword >= 0.75, String(keyword));
    t.ok(hybrid >= 0.85 && hybrid >= keyword, String(hybrid));
  },
);

/** In processor time: other work on the machine tells nothing of the search. */
void t.test('a search over 100,000 passages', { skip: !LONG && 'TEST_LONG=1 runs it' }, async (t) => {
  const some = chunksOf(documentationPages());
  let seed = 3;
  const random = (below: number) => (seed = (seed * 16807) % 2147483647) % below;
  const half = () => some[random(some.length)]!.text.slice(0, 400);
  const chunks = Array.from({ length: 100_000 }, () => ({
    page: 'x',
    heading: '',
    text: `${half()} ${half()}`,
  }));
  const dimensions = 512;
  const vectors = Int8Array.from({ length: chunks.length * dimensions }, () => random(255) - 127);
  const index = { keywords: keywordIndex(chunks), vectors: new VectorIndex(vectors, dimensions) };
  for (const mode of ['keyword', 'hybrid'] as const) {
    const took: number[] = [];
    for (const [query] of QUESTIONS) {
      // The model's own time comes on top, whatever the number of passages.
      const vector = quantise(Array.from({ length: dimensions }, () => random(255) - 127));
      const start = process.cpuUsage();
      await searchIndex(index, { query, limit: 15, mode, vector });
      const { user, system } = process.cpuUsage(start);
      took.push((user + system) / 1000);
    }
    took.sort((a, b) => a - b);
    const p95 = took[Math.floor(took.length * 0.95)]!;
    t.comment(`${mode}: p50 ${took[took.length >> 1]!.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`);
    t.ok(p95 <= 50, `${mode}: ${p95} ms`);
  }
});
