import t from 'tap';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { renderToneWord } from '@parley/emulators/speech/tone-words';
import { compareTranscript, heardWords, type SpokenWord } from './truth.ts';

const VOCABULARY = ['The', 'gardens', 'desk', 'opens', 'early.'];

function audio(...parts: (Int16Array | number)[]): Uint8Array {
  return Buffer.concat(
    parts.map((part) => encodeMulaw(typeof part === 'number' ? new Int16Array(part * 8) : part)),
  );
}

void t.test('a word that was cut is partial, and one that went on later is one', (t) => {
  const word = (text: string) => renderToneWord(text, 8000);
  const gardens = word('gardens');
  t.same(heardWords(audio(word('The'), 60, gardens.subarray(0, 800), 500), VOCABULARY), [
    { word: 'the', partial: false },
    { word: 'gardens', partial: true },
  ]);
  const resumed = audio(
    word('The'),
    60,
    gardens.subarray(0, 1600),
    700,
    gardens.subarray(1600),
    60,
    word('desk'),
  );
  t.same(
    heardWords(resumed, VOCABULARY).map((one) => `${one.word}${one.partial ? '?' : ''}`),
    ['the', 'gardens', 'desk'],
  );
  t.end();
});

void t.test('a transcript is true when it holds the words that were heard', (t) => {
  const heard: SpokenWord[] = [
    { word: 'the', partial: false },
    { word: 'gardens', partial: false },
    { word: 'desk', partial: true },
  ];
  const none = { invented: [], forgotten: [] };
  t.same(compareTranscript(heard, ['The gardens']), none, 'a cut word may be left out');
  t.same(compareTranscript(heard, ['The gardens desk']), none, 'or told');
  t.same(compareTranscript(heard, ['The gardens desk opens']), { invented: ['opens'], forgotten: [] });
  t.same(compareTranscript(heard, ['The']), { invented: [], forgotten: ['gardens'] });
  t.same(compareTranscript(heard, ['The early', 'desk']), { invented: ['early'], forgotten: ['gardens'] });
  t.same(compareTranscript([], []), none);
  t.end();
});
