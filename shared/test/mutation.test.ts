import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { CoveringTests, longTests, opensBrowser } from './mutation/covering-tests.ts';
import { draw, wilsonInterval } from './mutation/draw.ts';
import { FIRST_EFFORT, judge, WHOLE_EFFORT, type Usual } from './mutation/judge.ts';
import { drawMutants, judgedOf, measure } from './mutation/measure.ts';
import { mutantsOf, type Mutant } from './mutation/mutants.ts';
import { productSources } from './mutation/product-sources.ts';
import { Records } from './mutation/records.ts';
import { reportText } from './mutation/report.ts';
import type { Run } from './mutation/test-runner.ts';

const MUTANT: Mutant = {
  file: 'shared/src/a.ts',
  start: { line: 6, column: 2 },
  end: { line: 6, column: 7 },
  mutator: 'EqualityOperator',
  original: 'a < b',
  replacement: 'a <= b',
};

void t.test('a seed draws the same, and the first of a larger sample', (t) => {
  const all = Array.from({ length: 100 }, (_, index) => index);
  const sample = draw(all, 20, 7);
  t.same(draw(all, 20, 7), sample);
  t.same(draw(all, 5, 7), sample.slice(0, 5));
  t.notSame(draw(all, 20, 8), sample);
  t.equal(new Set(sample).size, 20, 'without replacement');
  t.same(
    draw(all, 200, 7).sort((a, b) => a - b),
    all,
    'all there are',
  );
  t.end();
});

void t.test("Wilson's interval is that of the literature", (t) => {
  // R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998), table I.
  for (const [hits, of, low, high] of [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const) {
    const interval = wilsonInterval(hits, of);
    t.equal(interval.low.toFixed(4), low.toFixed(4), `${hits} of ${of}`);
    t.equal(interval.high.toFixed(4), high.toFixed(4), `${hits} of ${of}`);
  }
  t.same(wilsonInterval(0, 0), { low: 0, high: 1 });
  t.end();
});

void t.test('the nearest tests that reach a source come first, long ones not at all', (t) => {
  const root = t.testdir({
    gateway: {
      src: {
        calls: {
          'call-end.ts': '',
          'call-end.test.ts': `import './call-end.ts';`,
          'call-type.test.ts': `import type { A } from './call-end.ts';`,
          'call.ts': `import {\n  end,\n} from './call-end.ts';`,
          'call.test.ts': `import './call.ts';`,
          'another.test.ts': `import './call-end.ts';`,
          'far.test.ts': `import './call.ts';`,
        },
        rooms: { 'room.test.ts': `import '../calls/call-end.ts';` },
      },
      test: {
        'browsers.test.ts': `import '../src/calls/call.ts';\nt.test('Chromium', test);`,
        'call-ends.test.ts': `import '../src/calls/call.ts';`,
        'other.test.ts': `import '../src/calls/call.ts';`,
      },
    },
    store: { test: { 'call-end.test.ts': `import '../../gateway/src/calls/call.ts';` } },
    embedded: { test: { 'dev.test.ts': `import '../../gateway/src/calls/call.ts';` } },
    console: { test: { 'calls.test.ts': `import '../../gateway/src/calls/call.ts';` } },
  });
  t.same(new CoveringTests(root, longTests(root)).of('gateway/src/calls/call-end.ts'), [
    'gateway/src/calls/call-end.test.ts',
    'gateway/src/calls/call.test.ts',
    'gateway/src/calls/another.test.ts',
    'gateway/src/calls/far.test.ts',
    'gateway/test/call-ends.test.ts',
    'gateway/src/rooms/room.test.ts',
    'gateway/test/other.test.ts',
    'store/test/call-end.test.ts',
  ]);
  const all = new CoveringTests(root, opensBrowser(root)).of('gateway/src/calls/call-end.ts');
  t.ok(all.includes('embedded/test/dev.test.ts'), 'unless all are asked for');
  t.notOk(all.some((file) => file.startsWith('console/') || file.includes('browsers')));
  t.end();
});

void t.test('sources of the product are those without tests, fakes and tables', (t) => {
  const root = t.testdir({
    shared: {
      src: { 'b.ts': '', 'a.ts': '', 'a.test.ts': '', 'a.conformance.ts': '', 'word-tables.ts': '' },
      test: { 'c.ts': '' },
    },
    'control-plane': {
      src: { http: { 'field-texts.ts': '', 'd.ts': '' }, calls: { 'waiting-texts.ts': '' } },
    },
    'media-gateway': { src: { call: { 'fakes.ts': '', 'call.ts': '' } } },
    emulators: { src: { 'e.ts': '' } },
  });
  const http = 'control-plane/src/http/d.ts';
  t.same(productSources(root), [
    'control-plane/src/calls/waiting-texts.ts',
    http,
    'media-gateway/src/call/call.ts',
    'shared/src/a.ts',
    'shared/src/b.ts',
  ]);
  t.same(productSources(root, [path.join(root, 'control-plane/src/http')]), [http]);
  const two = ['media-gateway/src/call/call.ts', 'control-plane/src/http'];
  t.same(productSources(root, two), [http, 'media-gateway/src/call/call.ts'], 'of several places');
  t.end();
});

void t.test('texts that only people read are not judged, and counted', async (t) => {
  const root = t.testdir({
    'a.ts': [
      `class A { #logger; b() { this.#logger.warn({ kind: 'a b' }, ms > 9 ? 'too late' : \`after \${ms} ms\`); } }`,
      `log.error('one of them: ' + name);`,
      `throw new ConflictError('in_use', 'It is in use.', { refs: ['c d'] });`,
      `schema.describe('How long.').meta({ description: 'In seconds.', example: 'e f' });`,
      `define({ summary: 'Lists all', path: '/g h', responses: { 200: { description: 'A page' } } });`,
    ].join('\n'),
    'b.ts': `const tool = { description: 'For the model.' };\nsay('i j', log('k l'));\nlog.info(x === 'm n');`,
  });
  const texts = async (file: string) => {
    const { mutants, readByPeople } = await mutantsOf(root, file);
    const judged = mutants.filter(({ mutator }) => mutator === 'StringLiteral');
    return [readByPeople, ...judged.map(({ original }) => original)];
  };
  t.same(await texts('a.ts'), [8, "'a b'", "'in_use'", "'c d'", "'e f'", "'/g h'"]);
  t.same(await texts('b.ts'), [0, "'For the model.'", "'i j'", "'k l'", "'m n'"]);
  const { mutants } = await mutantsOf(root, 'a.ts');
  t.ok(
    mutants.some(({ mutator }) => mutator === 'ConditionalExpression'),
    'a condition within is judged',
  );
});

/** Tries mutant 1 with tests that reach it unless told, and pass without it. */
function judged(
  results: Record<string, Run['result']>,
  usual: Record<string, Usual> = {},
  effort = FIRST_EFFORT,
  before: string[] = [],
) {
  const ran: string[] = [];
  const verdict = judge(
    '1',
    Object.keys(results),
    {
      isKnown: (test) => test in usual,
      usual: (test) => Promise.resolve(usual[test] ?? { ms: 100, reached: new Set(['1']) }),
      runWith: (_id, test) => {
        ran.push(test);
        return Promise.resolve({ result: results[test]! });
      },
      digest: (test) => `text of ${test}`,
      now: () => 0,
    },
    effort,
    before,
  );
  return verdict.then(({ status, by }) => ({ status, by, ran: ran.join('') }));
}

void t.test('tests that reach a mutant are run until one fails', async (t) => {
  t.same(await judged({ a: 'passed', b: 'failed', c: 'failed' }), { status: 'killed', by: 'b', ran: 'ab' });
  t.same(await judged({ a: 'timeout', b: 'failed' }), { status: 'timeout', by: 'a', ran: 'a' });
  t.match(await judged({ a: 'passed', b: 'passed' }), { status: 'survived', ran: 'ab' });
  const elsewhere = { ms: 100, reached: new Set(['2']) };
  t.match(await judged({ a: 'failed', b: 'failed' }, { a: elsewhere }), { status: 'killed', by: 'b' });
  t.match(await judged({ a: 'failed' }, { a: elsewhere }), { status: 'uncovered', ran: '' });
  t.match(await judged({}), { status: 'uncovered' });
  const broken = { reached: new Set(['1']) };
  t.match(await judged({ a: 'failed', b: 'passed' }, { a: broken }), { status: 'survived', ran: 'b' });
  t.match(await judged({ a: 'failed' }, { a: broken }), { status: 'error', ran: '' });
  const many = Object.fromEntries([...'abcdefgh'].map((test) => [test, 'passed' as const]));
  t.match(await judged(many), { status: 'survived', ran: 'abcdef' }, 'at most six');
  t.match(await judged(many, {}, WHOLE_EFFORT), { ran: 'abcdefgh' }, 'unless all are asked for');
  t.match(
    await judged(many, {}, WHOLE_EFFORT, ['text of a', 'text of c']),
    { status: 'survived', ran: 'bdefgh' },
    'and not again those that passed with it',
  );
  t.match(await judged({ a: 'failed' }, {}, WHOLE_EFFORT, ['text of a']), { status: 'survived', ran: '' });
  const elsewhereAll = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}`, elsewhere]));
  t.match(
    await judged(
      { ...Object.fromEntries(Object.keys(elsewhereAll).map((test) => [test, 'passed'])), a: 'failed' },
      elsewhereAll,
    ),
    { status: 'killed', by: 'a' },
    'a far one too, when it is known that the nearer ones do not reach it',
  );
  const unplaced = await judge(undefined, ['a'], { usual: t.fail, runWith: t.fail, now: () => 0 } as never);
  t.equal(unplaced.status, 'error');
});

void t.test('a report counts what was noticed, and errors not at all', (t) => {
  const statuses = ['killed', 'killed', 'timeout', 'survived', 'uncovered', 'error'] as const;
  const text = reportText(
    statuses.map((status) => ({ mutant: MUTANT, verdict: { status, tests: 1, ms: 1 } })),
  );
  t.match(text, /^survived {2}shared\/src\/a\.ts:7 EqualityOperator: a < b -> a <= b$/m);
  t.match(text, /^uncovered shared\/src\/a\.ts:7 /m);
  t.match(text, /^shared +6 +2 +1 +1 +1 +1 +60\.0 %$/m);
  t.match(text, /^EqualityOperator +6 +2 +1 +1 +1 +1 +60\.0 %$/m);
  t.match(text, /^score 60\.0 % \(3 of 5\), 95 % interval 23\.1 % to 88\.2 %$/m);
  t.end();
});

void t.test('mutants of a small repository are tried, and a run that was stopped goes on', async (t) => {
  const root = t.testdir({
    'package.json': '{}',
    shared: {
      src: {
        'sum.ts': 'export const sum = (a: number, b: number): number => a + b;\n',
        'sum.test.ts': `import { sum } from './sum.ts';\nif (sum(2, 0) !== 2) throw new Error('no sum');\n`,
        'lost.ts': `export const lost = (): number => 1;\n`,
      },
    },
  });
  const file = path.join(root, 'results/run.jsonl');
  const records = new Records(file);
  records.add(await drawMutants(root, { seed: 3, count: 10, under: [] }));
  t.equal(records.draw?.population, 3);
  const none = new AbortController();
  const tried = async (from: Records, again = false) => {
    const indexes: number[] = [];
    await measure(root, from, {
      processes: 2,
      again,
      signal: none.signal,
      onVerdict: (index) => indexes.push(index),
    });
    return indexes.length;
  };
  t.equal(await tried(records), 3);
  const status = (replacement: string, of = 'sum') =>
    judgedOf(new Records(file)).find(
      ({ mutant }) => mutant.replacement === replacement && mutant.file.includes(of),
    )?.verdict.status;
  t.equal(status('() => undefined'), 'killed');
  t.equal(status('a - b'), 'survived', 'which two and nothing do not tell apart');
  t.equal(status('() => undefined', 'lost'), 'uncovered');

  appendFileSync(file, '{"kind":"verd');
  t.equal(await tried(new Records(file)), 0, 'each has its verdict, and a line was cut off');
  appendFileSync(
    path.join(root, 'shared/src/sum.test.ts'),
    `if (sum(2, 1) !== 3) throw new Error('no sum');\n`,
  );
  t.equal(await tried(new Records(file), true), 2, 'those that nothing noticed');
  t.equal(status('a - b'), 'killed', 'as a test does now');
  t.match(readFileSync(file, 'utf8'), /^\{"kind":"draw","seed":3,/);

  appendFileSync(path.join(root, 'shared/src/sum.ts'), '\n');
  await t.rejects(tried(new Records(file)), /changed since the sample was drawn/);
});
