import { BSONRegExp } from 'bson';
import t from 'tap';
import { compileRegex } from './regex.ts';

void t.test('patterns match as PCRE has them match', (t) => {
  const cases: [pattern: string, options: string, text: string, matches: boolean][] = [
    ['a$', '', 'a\n', true],
    ['a$', '', 'a\nb', false],
    ['a$', 'm', 'a\nb', true],
    ['\\Aa\\z', '', 'a', true],
    ['\\Aa\\z', '', 'a\n', false],
    ['\\Aa\\Z', '', 'a\n', true],
    ['a.b', '', 'a\u2028b', true],
    ['a.b', '', 'a\nb', false],
    ['a.b', 's', 'a\nb', true],
    ['\\s', '', '\u00a0', false],
    ['[\\s]', '', '\t', true],
    ['a b # c', 'x', 'ab', true],
    ['(?i)ABC', '', 'abc', true],
    ['É', 'i', 'é', true],
    ['^.$', '', '\u{1f600}', true],
    ['\\-\\@\\"', '', '-@"', true],
    ['[\\w.-]+@x', '', 'a.b-c@x', true],
    ['[]a]', '', ']', true],
    ['[^]a]', '', ']', false],
    ['a{,2}', '', 'a{,2}', true],
    ['a{2}', '', 'aa', true],
    ['{x}', '', '{x}', true],
    ['(a)\\1', '', 'aa', true],
    ['(?<year>\\d{4})', '', '2024', true],
    ['\\p{Lu}', '', 'É', true],
    ['a|b', '', 'b', true],
    ['[[]', '', '[', true],
  ];
  for (const [pattern, options, text, matches] of cases) {
    t.equal(
      compileRegex(new BSONRegExp(pattern, options)).test(text),
      matches,
      `/${pattern}/${options} on ${encodeURIComponent(text)}`,
    );
  }
  t.end();
});

void t.test('what JavaScript cannot express is refused', (t) => {
  for (const pattern of [
    '(?>a)',
    'a++',
    '[[:alpha:]]',
    '\\Qa\\E',
    '\\Ga',
    '\\K',
    '(?R)',
    '(',
    'a\\',
    '(?P<n>a)',
    '(?#c)',
    '*',
  ]) {
    t.throws(() => compileRegex(new BSONRegExp(pattern, '')), { code: 51091 }, pattern);
  }
  t.end();
});
