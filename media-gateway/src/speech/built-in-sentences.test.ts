import t from 'tap';
import { YES_NO_LANGUAGES } from '../turns/yes-no.ts';
import { builtInSentences, endsInSentence } from './built-in-sentences.ts';

void t.test(
  'every language of the turns has all sentences, each its own, with the places for values',
  (t) => {
    const english = builtInSentences('en');
    for (const language of YES_NO_LANGUAGES) {
      const sentences = Object.entries(builtInSentences(language));
      t.same(
        sentences.map(([name]) => name),
        Object.keys(english),
        language,
      );
      for (const [name, text] of sentences) {
        t.match(text, /\p{L}{2}/u, `${language} ${name}`);
        t.equal(text.includes('{}'), name === 'isThatRight', `${language} ${name}`);
        t.equal(text.includes('{in}'), name === 'endsIn', `${language} ${name}`);
        if (language !== 'en') t.not(text, english[name as keyof typeof english], `${language} ${name}`);
      }
    }
    t.end();
  },
);

void t.test('a language is found by the first part of its tag, and English stands in', (t) => {
  t.equal(builtInSentences('de-AT'), builtInSentences('de'));
  t.equal(builtInSentences('DE'), builtInSentences('de'));
  t.equal(builtInSentences('sv-SE'), builtInSentences('en'));
  t.end();
});

void t.test('the end of a call is told in round figures', (t) => {
  const told = (seconds: number) => endsInSentence('en-GB', seconds);
  t.equal(told(30), 'This call will end in 30 seconds.');
  t.equal(told(32), 'This call will end in 30 seconds.');
  t.equal(told(33), 'This call will end in 35 seconds.');
  t.equal(told(1), 'This call will end in 5 seconds.', 'never in none');
  t.equal(told(59), 'This call will end in 60 seconds.');
  t.equal(told(60), 'This call will end in 1 minute.');
  t.equal(told(100), 'This call will end in 2 minutes.');
  t.equal(endsInSentence('de-DE', 60), 'Dieses Gespräch endet in 1 Minute.');
  t.equal(endsInSentence('sv-SE', 10), 'This call will end in 10 seconds.', 'one language at a time');
  t.end();
});
