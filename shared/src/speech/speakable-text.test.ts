import t from 'tap';
import { MAX_TEXT_LENGTH, speakablePieces } from './speakable-text.ts';

void t.test('text becomes printable ASCII that says the same', async (t) => {
  for (const [text, spoken] of [
    ['Hello there.', 'Hello there.'],
    ['  \u201cIt\u2019s\u201d \n fine \u2014 really  ', '"It\'s" fine, really'],
    ['caf\u00e9 na\u00efve \ufb01ve \u00df', 'cafe naive five ss'],
    ['half: \u00bd', 'half: 1/2'],
    ['null\u0000byte', 'null byte'],
    ['\u20ac5', 'euro 5'],
    ['wait.......... what', 'wait... what'],
  ] as const) {
    t.same(speakablePieces(text), [spoken], JSON.stringify(text));
  }
});

void t.test('text with nothing to say gives nothing', async (t) => {
  for (const text of ['', '   ', '...', '?!', '\u65e5\u672c\u8a9e', '\ud83d\ude00', '\n\t\u0000']) {
    t.same(speakablePieces(text), [], JSON.stringify(text));
  }
});

void t.test('long text is cut where a speaker would pause, and nothing is lost', async (t) => {
  const sentence = 'The quick brown fox, as ever, jumps over the lazy dog. ';
  const text = sentence.repeat(40);
  const pieces = speakablePieces(text);
  t.equal(pieces.join(' '), text.trim());
  for (const piece of pieces) t.ok(piece.length <= 250 && piece.endsWith('.'));
  const clauses = speakablePieces('one two three, '.repeat(40));
  t.ok(clauses.every((piece) => piece.endsWith(',')));
  const words = speakablePieces('word '.repeat(200));
  t.equal(words.join(' '), 'word '.repeat(200).trim());
});

void t.test('a word too long for the synthesizer is broken', async (t) => {
  const pieces = speakablePieces('a'.repeat(3000));
  t.equal(pieces.join('').replaceAll(' ', ''), 'a'.repeat(3000));
  for (const piece of pieces) {
    for (const word of piece.split(' ')) t.ok(word.length <= 40);
  }
});

void t.test('a text past the limit is refused', async (t) => {
  t.throws(() => speakablePieces('x'.repeat(MAX_TEXT_LENGTH + 1)), RangeError);
  t.doesNotThrow(() => speakablePieces('x '.repeat(MAX_TEXT_LENGTH / 2)));
});
