import t from 'tap';
import type { Turn } from '@parley/shared/contracts/turn';
import { takeEvidence, withEvidence } from './evidence.ts';

const turns = ['Good morning.', 'Two tables for Saturday, please — the 5th.', 'नमस्ते'].map((text, index) => {
  const turn_index = index + 4;
  return {
    turn_index,
    role: 'caller',
    text,
    start_ms: 0,
    end_ms: 0,
    interrupted: false,
    redacted: false,
  } as Turn;
});
const answer = { tables: 2, day: { name: 'Saturday' }, extras: ['window', 'quiet'], '': 1 };
const claim = (path: string, turn: number, quote: string) => ({ path, turn, quote });

void t.test('what is claimed counts where it is true', async (t) => {
  const cases: [string, unknown, boolean][] = [
    ['words of the turn', claim('$.tables', 5, 'Two tables'), true],
    ['however they are written', claim('$.day.name', 5, 'for saturday please, the 5TH'), true],
    ['a place in a list', claim('$.extras[1]', 4, 'good morning'), true],
    ['another script', claim('$.tables', 6, 'नमस्ते'), true],
    ['a turn that there is not', claim('$.tables', 3, 'Two tables'), false],
    ['another turn', claim('$.tables', 4, 'Two tables'), false],
    ['words that were not said', claim('$.tables', 5, 'Three tables'), false],
    ['half a word', claim('$.tables', 5, 'wo tab'), false],
    ['no words', claim('$.tables', 5, ' … '), false],
    ['a field that there is not', claim('$.people', 5, 'Two tables'), false],
    ['a place that there is not', claim('$.extras[2]', 5, 'Two tables'), false],
    ['what every object has', claim('$.constructor', 5, 'Two tables'), false],
    ['the whole answer', claim('$', 5, 'Two tables'), false],
    ['no path', claim('tables', 5, 'Two tables'), false],
    ['half a path', claim('$.day.', 5, 'Two tables'), false],
    ['a turn that is no number', { path: '$.tables', turn: '5', quote: 'Two tables' }, false],
    ['no claim at all', 'Two tables', false],
  ];
  for (const [title, one, counts] of cases) {
    const taken = takeEvidence({ answer, evidence: [one] }, turns);
    t.same(taken.answer, answer);
    t.equal(taken.evidence.length, counts ? 1 : 0, title);
  }
});

void t.test('the turns of a field, each once, rising', async (t) => {
  const evidence = [
    claim('$.tables', 6, 'नमस्ते'),
    claim('$.tables', 5, 'two'),
    claim('$.tables', 5, 'tables'),
    claim('$.day', 5, 'saturday'),
  ];
  t.same(takeEvidence({ answer, evidence }, turns).evidence, [
    { path: '$.tables', turns: [5, 6] },
    { path: '$.day', turns: [5] },
  ]);
  const many = Array.from({ length: 300 }, (_, n) => claim(`$.extras[${n}]`, 5, 'two'));
  const long = { extras: Array.from({ length: 300 }, () => 'x') };
  t.equal(takeEvidence({ answer: long, evidence: many }, turns).evidence.length, 200, 'at most');
});

void t.test('a model that answers without evidence is taken at its word', async (t) => {
  for (const value of [{ tables: 2 }, { answer: 'yes', evidence: [] }, { answer: { yes: true } }, {}])
    t.same(takeEvidence(value, turns), { answer: value, evidence: [] });
});

void t.test('a schema keeps its meaning inside the one with evidence', async (t) => {
  const $defs = { day: { type: 'string' } };
  const schema = { type: 'object', properties: { day: { $ref: '#/$defs/day' } }, $defs };
  t.match(withEvidence(schema), {
    properties: { answer: { type: 'object', properties: { day: { $ref: '#/$defs/day' } } } },
    required: ['answer', 'evidence'],
    $defs,
  });
  t.equal(
    withEvidence({ type: 'object', properties: { next: { $ref: '#' } } }),
    null,
    'refers to its own root',
  );
});
