import t from 'tap';
import { CELL_CHARACTERS, cellOf, orderedNumber, sortText } from './cells.ts';
import type { ColumnType } from './database-columns.ts';

void t.test('numbers sort as text as they sort', (t) => {
  const numbers = [
    -Infinity,
    -1e300,
    -2,
    -1.5,
    -1,
    -5e-324,
    0,
    5e-324,
    1e-7,
    0.1,
    1,
    1.5,
    9,
    10,
    1e300,
    Infinity,
  ];
  t.same([...numbers].map(orderedNumber).sort(), numbers.map(orderedNumber));
  t.equal(orderedNumber(-0), orderedNumber(0));
  for (let n = 0; n < 2000; n++) {
    const [a, b] = [(Math.random() - 0.5) * 10 ** (n % 30), (Math.random() - 0.5) * 10 ** (n % 7)];
    if (a < b !== orderedNumber(a) < orderedNumber(b)) t.fail(`${a} and ${b}`);
  }
  t.end();
});

void t.test('what is empty comes after every value', (t) => {
  const values: [ColumnType, unknown][] = [
    ['text', '~~~'],
    ['text', '\u{10ffff}'],
    ['number', Infinity],
    ['boolean', true],
    ['datetime', '9999-12-31T23:59:59.999Z'],
    ['json', {}],
  ];
  for (const [type, value] of values) {
    t.ok(Buffer.compare(Buffer.from(sortText(type, value)), Buffer.from(sortText(type, null))) < 0, type);
    t.equal(sortText(type, undefined), '~');
  }
  t.end();
});

void t.test('a long text has its beginning in its cell, and no half of a character', (t) => {
  const column = { key: 'a', type: 'text' } as const;
  const whole = 'x'.repeat(CELL_CHARACTERS);
  t.equal(cellOf(column, `${whole}y`), `a\0t\0${whole}`);
  t.equal(cellOf(column, `${whole.slice(1)}\u{1f600}`), `a\0t\0${whole.slice(1)}`);
  t.equal(cellOf(column, null), 'a\0~');
  t.end();
});
