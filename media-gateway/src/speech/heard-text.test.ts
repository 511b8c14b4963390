import t from 'tap';
import { heardText, heardWords, type SpeechPiece, type SpeechText, type SpokenWord } from './heard-text.ts';

/** A byte is a millisecond. */
const heard = (speech: Partial<SpeechText>, heardMs: number) =>
  heardText({ pieces: [], words: [], availableBytes: 0, complete: false, ...speech }, heardMs, 1);
const piece = (text: string, startByte: number, units?: SpeechPiece['units']): SpeechPiece => ({
  text,
  units,
  startByte,
});
const word = (text: string, startMs: number, endMs: number): SpokenWord => ({ text, startMs, endMs });

void t.test('a word counts as heard when no more than its last sound is missing', (t) => {
  const words = [word('one', 0, 300), word('two', 300, 600)];
  const texts = (ms: number) => heardWords({ words }, ms).map(({ text }) => text);
  t.same(texts(0), []);
  t.same(texts(-5), []);
  t.same(texts(239), []);
  t.same(texts(240), ['one']);
  t.same(texts(540), ['one', 'two']);
  t.same(heardWords({ words: [word('a', 0, 0)] }, 0), [], 'nothing was heard of what has not begun');
  t.equal(heard({ words, pieces: [piece('one two', 0)] }, 400), 'one');
  t.end();
});

void t.test('without times of words a text is cut in proportion to its audio', (t) => {
  const speech = { pieces: [piece('aaaa bbbb cccc', 0)], availableBytes: 1400, complete: true };
  t.equal(heard(speech, 0), '');
  t.equal(heard(speech, 300), '', 'the end of the first word is 400');
  t.equal(heard(speech, 339), '');
  t.equal(heard(speech, 340), 'aaaa');
  t.equal(heard(speech, 839), 'aaaa');
  t.equal(heard(speech, 841), 'aaaa bbbb');
  t.equal(heard(speech, 1339), 'aaaa bbbb');
  t.equal(heard(speech, 1340), 'aaaa bbbb cccc');
  t.equal(heard(speech, 1400), 'aaaa bbbb cccc');
  t.end();
});

void t.test('each piece lies between its beginning and that of the next', (t) => {
  const speech = {
    pieces: [piece('aaaa bbbb', 0), piece('cccc', 2000)],
    availableBytes: 2400,
    complete: true,
  };
  t.equal(heard(speech, 800), '');
  t.equal(heard(speech, 1000), 'aaaa');
  t.equal(heard(speech, 2000), 'aaaa bbbb', 'nothing of the second has begun');
  t.equal(heard(speech, 2300), 'aaaa bbbb');
  t.equal(heard(speech, 2340), 'aaaa bbbb cccc');
  t.end();
});

void t.test('where the audio of a text is not whole, an ordinary voice is reckoned with', (t) => {
  // 15 characters are a second.
  const text = 'aaaaaaa bbbbbbb';
  t.equal(heard({ pieces: [piece(text, 0)], availableBytes: 100 }, 400), '');
  t.equal(heard({ pieces: [piece(text, 0)], availableBytes: 100 }, 410), 'aaaaaaa');
  t.equal(heard({ pieces: [piece(text, 0)], availableBytes: 2000 }, 800), '', 'its audio is longer already');
  t.equal(heard({ pieces: [piece(text, 0)], availableBytes: 2000 }, 900), 'aaaaaaa');
  t.equal(
    heard({ pieces: [piece(text, 0), piece('more', 0)], availableBytes: 100 }, 410),
    'aaaaaaa',
    'two pieces whose audio has not come begin at one place',
  );
  t.equal(
    heard({ pieces: [piece(text, 0), piece('more', 0)], availableBytes: 100, complete: true }, 410),
    'aaaaaaa',
    'and only the last one ends with the audio',
  );
  t.end();
});

void t.test('a text that is spoken otherwise is cut by how long that takes', (t) => {
  const units = [
    { written: '$12', spoken: 'twelve dollars' },
    { written: 'now', spoken: 'now' },
  ];
  const speech = { pieces: [piece('$12 now', 0, units)], availableBytes: 1800, complete: true };
  t.equal(heard(speech, 1339), '');
  t.equal(heard(speech, 1340), '$12');
  t.equal(heard(speech, 1739), '$12');
  t.equal(heard(speech, 1740), '$12 now');
  t.end();
});
