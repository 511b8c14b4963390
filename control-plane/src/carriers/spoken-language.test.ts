import t from 'tap';
import { nearestLanguage } from './spoken-language.ts';

void t.test('a message is spoken in the nearest language that a carrier has', (t) => {
  const spoken = ['en-US', 'en-GB', 'pt-BR', 'pt-PT', 'de-DE'];
  for (const [wanted, expected] of [
    ['en-GB', 'en-GB'],
    ['EN-gb', 'en-GB'],
    ['en', 'en-US'],
    ['en-IN', 'en-US'],
    ['pt-AO', 'pt-BR'],
    ['de-AT', 'de-DE'],
    ['hi-IN', 'en-US'],
  ] as const)
    t.equal(nearestLanguage(wanted, spoken), expected, wanted);
  t.end();
});
