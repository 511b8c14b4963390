import t from 'tap';
import { isSubset } from './is-subset.ts';

const CASES: [part: unknown, value: unknown, fits: boolean][] = [
  [{}, { a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, true],
  [{ a: 1 }, { a: '1' }, false],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2, d: 3 }], e: 4 } }, true],
  [{ a: [1] }, { a: [1, 2] }, false],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: null }, { a: null }, true],
  [{ a: null }, {}, false],
  [{ a: {} }, { a: null }, false],
  [{ a: {} }, { a: [] }, false],
  [{ a: [] }, { a: {} }, false],
  [{ toString: 1 }, {}, false],
  [{}, 'text', false],
  ['text', 'text', true],
];

void t.test('a part fits when everything it asks for is there', async (t) => {
  for (const [part, value, fits] of CASES) {
    t.equal(isSubset(part, value), fits, `${JSON.stringify(part)} in ${JSON.stringify(value)}`);
  }
});
