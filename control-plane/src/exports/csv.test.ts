import t from 'tap';
import { csvLine } from './csv.ts';

void t.test('cells are written by RFC 4180', (t) => {
  t.equal(csvLine(['a', 1, true, null, undefined]), 'a,1,true,,\r\n');
  t.equal(csvLine(['a,b', 'say "x"', 'two\r\nlines', 'a\nb']), '"a,b","say ""x""","two\r\nlines","a\nb"\r\n');
  t.equal(csvLine([{ a: ['x'] }, new Date(0)]), '"{""a"":[""x""]}",1970-01-01T00:00:00.000Z\r\n');
  t.equal(csvLine([]), '\r\n');
  t.end();
});

void t.test('formulas are defused, plain numbers are not', (t) => {
  for (const formula of [
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    ' =1+1',
    '\u{a0}=1',
    '\n=1',
    '＝1+1',
    '＋1',
    '－1',
    '＠A1',
    "=cmd|' /C calc'!A0",
    '+1415555a',
    '-',
    '+',
    '-1.2.3',
    '+ 1',
    '\t1',
  ])
    t.match(csvLine([formula]), /^"?'/, JSON.stringify(formula));
  for (const plain of ['-1', '+14155550123', '-0.5', '1e5', '-1E-3', '.5', 'a=1', '1-1', 'x@y.z', '1415'])
    t.equal(csvLine([plain]), `${plain}\r\n`);
  t.equal(csvLine([-5, 1e-7]), '-5,1e-7\r\n');
  t.end();
});
