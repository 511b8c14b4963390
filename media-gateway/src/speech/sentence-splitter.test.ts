import t from 'tap';
import { SentenceSplitter } from './sentence-splitter.ts';

/** The pieces of a text that comes in parts of `size` characters. */
function pieces(text: string, size = 1): string[] {
  const splitter = new SentenceSplitter();
  const found: string[] = [];
  for (let i = 0; i < text.length; i += size) found.push(...splitter.push(text.slice(i, i + size)));
  const rest = splitter.flush();
  return rest === undefined ? found : [...found, rest];
}

void t.test('sentences end where a reader ends them, however the text is cut', (t) => {
  const cases: [string, string[]][] = [
    ['Hello. How are you? Good!', ['Hello.', 'How are you?', 'Good!']],
    ['It costs $12.50 a day. Fine.', ['It costs $12.50 a day.', 'Fine.']],
    [
      'Mail a.b@example.com or see www.example.com today.',
      ['Mail a.b@example.com or see www.example.com today.'],
    ],
    ['Dr. Ito and Mr. J. Doe, e.g. today. Yes.', ['Dr. Ito and Mr. J. Doe, e.g. today.', 'Yes.']],
    [
      'She said "Go." Then she left…  (Really!) Yes.',
      ['She said "Go."', 'Then she left…', '(Really!)', 'Yes.'],
    ],
    ['First line\nsecond line', ['First line', 'second line']],
    ['はい。元気です！', ['はい。', '元気です！']],
    ['नमस्ते। कैसे हैं', ['नमस्ते।', 'कैसे हैं']],
    ['Wait?! What?', ['Wait?!', 'What?']],
    ['   ', []],
  ];
  for (const [text, expected] of cases)
    for (const size of [1, 3, 1000]) t.same(pieces(text, size), expected, `${text} by ${size}`);
  t.end();
});

void t.test('only the first piece may end at a comma, once it is long enough', (t) => {
  const phrase = 'x'.repeat(24);
  t.same(pieces(`${phrase}, and ${phrase}, and more.`), [`${phrase},`, `and ${phrase}, and more.`]);
  t.same(pieces(`${phrase.slice(1)}, and more.`), [`${phrase.slice(1)}, and more.`], 'a character too short');
  t.same(pieces(`${phrase},000 times.`), [`${phrase},000 times.`], 'a number goes on');
  t.same(pieces(`Yes. ${phrase}, and more.`), ['Yes.', `${phrase}, and more.`]);
  t.end();
});

void t.test('text without an end is cut at a word, or where it must be', (t) => {
  const words = 'word '.repeat(80).trim();
  const cut = pieces(words);
  t.equal(cut.join(' '), words);
  t.same(
    cut.map((piece) => piece.length),
    [279, 119],
  );
  t.same(
    pieces('x'.repeat(600)).map((piece) => piece.length),
    [280, 280, 40],
  );
  t.same(
    pieces('x'.repeat(280)).map((piece) => piece.length),
    [280],
  );
  t.end();
});

void t.test('after its end a splitter begins anew', (t) => {
  const splitter = new SentenceSplitter();
  splitter.push('One. Two');
  t.equal(splitter.flush(), 'Two');
  t.equal(splitter.flush(), undefined);
  const phrase = 'y'.repeat(24);
  t.same(splitter.push(`${phrase}, and`), [`${phrase},`], 'with a first piece');
  t.end();
});
