import t from 'tap';
import { parseByteRange } from './byte-range.ts';

void t.test('single ranges are cut to the file', async (t) => {
  const cases: [string | undefined, unknown][] = [
    ['bytes=0-9', { start: 0, end: 9 }],
    ['bytes=90-', { start: 90, end: 99 }],
    ['bytes=90-1000', { start: 90, end: 99 }],
    ['bytes=-10', { start: 90, end: 99 }],
    ['bytes=-1000', { start: 0, end: 99 }],
    ['bytes=99-99', { start: 99, end: 99 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
  ];
  for (const [header, expected] of cases) t.same(parseByteRange(header, 100), expected, header ?? 'none');
});

void t.test('what is no single byte range means the whole file', async (t) => {
  for (const header of [
    undefined,
    '',
    'bytes=',
    'bytes=-',
    'bytes=9-1',
    'bytes=0-1,5-6',
    'items=0-1',
    'bytes=a-b',
  ]) {
    t.equal(parseByteRange(header, 100), null, header ?? 'none');
  }
});

void t.test('nothing of an empty file can be had', async (t) => {
  t.equal(parseByteRange('bytes=0-', 0), 'unsatisfiable');
});
