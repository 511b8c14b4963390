import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readIndex, writeIndex } from './index-file.ts';
import { KeywordIndex, KeywordIndexBuilder } from './keyword-index.ts';
import { searchIndex } from './search-index.ts';
import { VectorIndex } from './vectors.ts';
import { Words } from './words.ts';

const english = await Words.of(['en']);

function build(words: Words, texts: readonly string[]) {
  const builder = new KeywordIndexBuilder(words);
  for (const [at, text] of texts.entries()) builder.add({ text, heading: '', document: String(at) });
  return builder.finish();
}

/** BM25 by its formula, passage by passage: what the index must agree with. */
function plainBm25(words: Words, texts: readonly string[], query: string): number[] {
  const all = texts.map((text) => words.terms(text));
  const average = all.reduce((sum, terms) => sum + terms.length, 0) / all.length;
  return all.map((terms) =>
    [...new Set(words.terms(query))].reduce((score, term) => {
      const having = all.filter((other) => other.includes(term)).length;
      const tf = terms.filter((one) => one === term).length;
      const idf = Math.log(1 + (all.length - having + 0.5) / (having + 0.5));
      return score + (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * terms.length) / average));
    }, 0),
  );
}

void t.test('words are found in their forms, in the languages of the base', async (t) => {
  t.same(english.terms("The cat's running, and it was RUNNING"), ['cat', 'run', 'run']);
  t.same(english.terms('maxRedirects snake_case'), [
    ...new Set(['maxredirect', 'max', 'redirect', 'snake', 'case']),
  ]);
  const german = await Words.of(['de']);
  t.same(german.terms('Die Häuser'), german.terms('das Haus'), 'German');
  const both = await Words.of(['en', 'de']);
  t.ok(both.terms('houses').includes(english.terms('house')[0]!));
  const japanese = await Words.of(['ja']);
  t.ok(japanese.terms('東京都に住んでいます').includes('東京'));
  const thai = await Words.of(['th']);
  t.ok(thai.terms('ร้านเปิดวันจันทร์').length > 1);
});

void t.test('passages are ranked as the formula says, and indexes on disk rank alike', async (t) => {
  const vocabulary = [
    'chair',
    'table',
    'return',
    'refund',
    'open',
    'close',
    'monday',
    'price',
    'wood',
    'paint',
  ];
  let seed = 7;
  const random = (below: number) => (seed = (seed * 16807) % 2147483647) % below;
  const texts = Array.from({ length: 200 }, () =>
    Array.from({ length: 3 + random(30) }, () => vocabulary[Math.min(random(10), random(10))]!).join(' '),
  );
  const arrays = build(english, texts);
  const folder = await mkdtemp(join(tmpdir(), 'parley-index-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'a', 'x.index');
  const ids = texts.map((_, at) => `kch_${at}`);
  const vectors = Int8Array.from({ length: 400 }, (_, at) => (at % 200) - 100);
  await writeIndex(path, { ids, languages: ['en'], keywords: arrays, vectors, dimensions: 2 });
  const read = await readIndex(path);
  t.same(read.ids, ids);
  t.same(read.vectors, vectors);
  t.equal(read.dimensions, 2);
  for (const query of ['return a chair', 'price of painted wood on Mondays', 'opening']) {
    const scores = plainBm25(english, texts, query);
    const expected = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]! || a - b).slice(0, 10);
    for (const index of [new KeywordIndex(english, arrays), new KeywordIndex(english, read.keywords)]) {
      const hits = index.search(query, 10);
      const found = hits.map(({ doc }) => scores[doc]!);
      t.same(
        found.map((one) => one.toFixed(4)),
        expected.map((doc) => scores[doc]!.toFixed(4)),
        query,
      );
      t.ok(hits.every(({ score }) => score > 0 && score <= 1));
    }
  }
});

void t.test('a score says how much of the question was found', async (t) => {
  const index = new KeywordIndex(
    english,
    build(english, ['Chairs are returned within a month.', 'We open at nine.', 'A table of wood.']),
  );
  const score = (query: string) => index.search(query, 1)[0]?.score ?? 0;
  t.ok(score('returned chairs') > 0.8);
  t.ok(score('returned chairs of giraffes, zebras and elephants') < 0.6);
  t.equal(score('giraffes'), 0);
  t.equal(score('the of and'), 0);
  t.same(index.search('giraffes', 5), []);
});

void t.test('a document that is about the question brings its passages forward', async (t) => {
  const builder = new KeywordIndexBuilder(english);
  for (const [document, heading, text] of [
    ['opening', '', 'We open at nine.'],
    ['chairs', '', 'Send it back to us within a month.'],
    ['tables', '', 'Send it back to us within a week.'],
    ['chairs', '', 'Chairs of wood, chairs of steel.'],
    ['prices', 'Chairs', 'From ten to ninety.'],
    ['colours', '', 'Chairs are green, red, white or blue.'],
  ] as const)
    builder.add({ document, heading, text });
  const index = new KeywordIndex(english, builder.finish());
  const found = (query: string) => index.search(query, 10).map(({ doc }) => doc);
  t.same(found('send chairs back').slice(0, 2), [1, 2], 'of two that say the same');
  t.ok(found('chairs').indexOf(4) < found('chairs').indexOf(5), 'a heading counts more than the text');
  t.ok(index.search('send back', 10).every(({ rank, score }) => rank > 0 && score > 0 && score <= 1));
});

void t.test('the first passage of a document counts more than one inside another', async (t) => {
  const builder = new KeywordIndexBuilder(english);
  for (const [document, text] of [
    ['tables', 'Our tables are of oak.'],
    ['tables', 'Lamps of brass.'],
    ['lamps', 'Lamps of brass.'],
    ['lamps', 'Lamps of brass.'],
  ] as const)
    builder.add({ document, heading: '', text });
  const index = new KeywordIndex(english, builder.finish());
  const ranks = new Map(index.search('brass', 10).map(({ doc, rank }) => [doc, rank]));
  t.ok(ranks.get(2)! > 1.1 * ranks.get(3)!);
});

void t.test('what somebody tells beside their question makes no passage worse', async (t) => {
  const texts = [
    'Unused chairs are taken back within 30 days.',
    'The shop is open from nine to six, and closed on Sunday.',
    'Delivery costs 20 euros within the city and takes three days.',
    'We repair tables and chairs in our workshop; ask for a date.',
  ];
  const index = {
    keywords: new KeywordIndex(english, build(english, texts)),
    vectors: new VectorIndex(new Int8Array(), 0),
  };
  const found = async (query: string) =>
    (await searchIndex(index, { query, limit: 4, mode: 'keyword', vector: undefined }))
      .filter(({ score }) => score >= 0.3)
      .map(({ doc }) => doc);
  const told =
    'Hi, I bought something from you last week and my wife does not like it at all, so do you take unused chairs back?';
  t.same((await found('Do you take unused chairs back?'))[0], 0);
  t.same((await found(told))[0], 0, 'the score is that of the part which asks');
  t.same(await found('My grandmother comes from Portugal, and she never liked the weather here.'), []);
});
