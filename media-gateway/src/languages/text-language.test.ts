import t from 'tap';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { TextLanguages } from './text-language.ts';

void t.test('the language of a text is told among those that are possible', async (t) => {
  // The clock stands: however long the worker takes here, it is in time.
  const languages = new TextLanguages({ clock: new ManualClock(), logger: silentLogger() });
  const among = ['en-US', 'de-DE', 'fr', 'es-MX'];
  const cases: [string, string][] = [
    ['Was kostet das denn?', 'de'],
    ['How much is that please?', 'en'],
    ['Je voudrais réserver une table', 'fr'],
    ['Quiero hablar con alguien', 'es'],
  ];
  const told = await Promise.all(cases.map(([text]) => languages.detect(text, among)));
  t.same(
    told,
    cases.map(([, language]) => language),
  );
  await languages[Symbol.asyncDispose]();
  t.equal(await languages.detect('Was kostet das denn?', among), undefined, 'nothing after the end');
});

void t.test('an answer that takes too long is none', async (t) => {
  const clock = new ManualClock();
  const languages = new TextLanguages({ clock, logger: silentLogger() });
  const answer = languages.detect('Was kostet das denn?', ['en', 'de']);
  clock.advance(150);
  t.equal(await answer, undefined);
  await languages[Symbol.asyncDispose]();
});
