import t from 'tap';
import { differencesOf, pairLines, textOf, withWeight } from './version-diff.ts';

void t.test('two versions differ in their leaves', async (t) => {
  const before = {
    id: 'agt_1',
    version: 3,
    name: 'Desk',
    config: { silence: { max_reminders: 2, texts: ['a'] }, webhooks: { x: 1 } },
    flow_definition: null,
  };
  const after = {
    id: 'agt_1',
    version: 4,
    name: 'Desk',
    config: { silence: { max_reminders: 1, texts: ['a'] }, webhooks: { x: 2 }, memory: { read: true } },
    flow_definition: { nodes: [] },
  };
  t.same(differencesOf(before, after), [
    { path: 'config.silence.max_reminders', before: 2, after: 1 },
    { path: 'config.memory', before: undefined, after: { read: true } },
    { path: 'flow_definition', before: null, after: { nodes: [] } },
  ]);
  t.same(differencesOf(before, before), []);
  t.equal(textOf('a\nb'), 'a\nb');
  t.equal(textOf([1]), '[\n  1\n]');
});

void t.test('lines stand beside each other', async (t) => {
  t.same(pairLines('a\nb\nc\nd', 'a\nx\ny\nc\ne\nd'), [
    { before: 'a', after: 'a' },
    { before: 'b', after: 'x' },
    { before: null, after: 'y' },
    { before: 'c', after: 'c' },
    { before: null, after: 'e' },
    { before: 'd', after: 'd' },
  ]);
  t.same(pairLines('', 'a'), [{ before: null, after: 'a' }]);
  t.same(pairLines('a', ''), [{ before: 'a', after: null }]);
  t.same(pairLines('', ''), []);
  const long = 'line\n'.repeat(3000);
  t.equal(pairLines(long, 'b').length, 1, 'a text too long to compare is shown whole');
});

void t.test('weights always sum to 100', async (t) => {
  t.same(withWeight([50, 50], 0, 90), [90, 10]);
  t.same(withWeight([60, 30, 10], 0, 20), [20, 60, 20]);
  t.same(withWeight([100], 0, 40), [100]);
  t.same(withWeight([50, 50], 0, 100), [99, 1], 'nobody is left with nothing');
  t.same(withWeight([98, 1, 1], 0, 0), [1, 50, 49]);
  for (const weight of [0, 1, 7, 33, 50, 66, 98, 100]) {
    for (let index = 0; index < 4; index++) {
      const next = withWeight([40, 30, 20, 10], index, weight);
      t.equal(
        next.reduce((sum, one) => sum + one, 0),
        100,
      );
      t.ok(next.every((one) => one >= 1 && Number.isInteger(one)));
    }
  }
});
