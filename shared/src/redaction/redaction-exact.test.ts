import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { findPersonalData } from './find-personal-data.ts';
import type { FoundKind } from './kinds.ts';
import {
  harmlessPhrases,
  namedPhrases,
  structuredPhrases,
  UNSEEN,
  unseenPhrases,
  type Phrase,
} from './redaction.phrases.ts';

// What is masked of every phrase, to the letter: what is personal and nothing else, but for the phrases of a list. Who
// changes what is found writes the list anew with UPDATE_DEVIATIONS=1, and sees by its difference who gains and who loses.

const LIST = new URL('redaction.deviations.txt', import.meta.url);
const LANGUAGES = { en: 'en-US', de: 'de-DE' } as const;
type Language = keyof typeof LANGUAGES;

/** The kinds that the phrases name more finely. */
const KINDS: Record<string, FoundKind> = {
  card: 'card_number',
  phone: 'phone_number',
  email: 'email',
  iban: 'bank_account',
  account: 'bank_account',
  routing: 'bank_account',
  sort: 'bank_account',
  blz: 'bank_account',
  ssn: 'national_id',
  nino: 'national_id',
  passport: 'national_id',
  steuer: 'national_id',
  ausweis: 'national_id',
  svnr: 'national_id',
  birth: 'date_of_birth',
  pin: 'secret',
  cvv: 'secret',
  password: 'secret',
  code: 'secret',
  name: 'person_name',
  address: 'address',
};

void t.test('what is personal is masked to the letter, and nothing else, but for what is listed', (t) => {
  const phrases = (Object.keys(LANGUAGES) as Language[]).flatMap((language) =>
    phrasesOf(language).map((phrase) => ({ language, phrase })),
  );
  const deviations = phrases.flatMap(({ language, phrase }) => deviationOf(phrase, language) ?? []);
  if (process.env['UPDATE_DEVIATIONS'] === '1') writeFileSync(LIST, `${deviations.join('\n')}\n`);
  t.same(deviations, readFileSync(LIST, 'utf8').trimEnd().split('\n'));
  t.ok(deviations.length < phrases.length / 25, `${deviations.length} of ${phrases.length} phrases`);
  t.end();
});

function phrasesOf(language: Language): Phrase[] {
  return [
    ...(['tuned', 'heldOut'] as const).flatMap((half) => [
      ...structuredPhrases(language, half),
      ...harmlessPhrases(language, half),
      ...namedPhrases(language, half, 'name'),
      ...namedPhrases(language, half, 'address'),
    ]),
    ...(Object.keys(UNSEEN) as (keyof typeof UNSEEN)[]).flatMap((set) => {
      const { personal, harmless } = unseenPhrases(language, set, 1);
      return [...personal, ...harmless];
    }),
  ];
}

/** @returns undefined when a phrase is masked as it is to be */
function deviationOf({ turns }: Phrase, language: Language): string | undefined {
  const wanted = turns.flatMap(({ text, values }) =>
    values.map(({ start, end, kind }) => `${KINDS[kind]} ${lettersOf(text.slice(start, end))}`),
  );
  const found = findPersonalData(turns, { language: LANGUAGES[language] }).findings.map(
    ({ turn, start, end, kind }) => `${kind} ${lettersOf(turns[turn]!.text.slice(start, end))}`,
  );
  if (found.toSorted().join() === wanted.toSorted().join()) return undefined;
  const all = turns.map(({ text }) => text).join(' | ');
  return `${language}: ${all} => ${found.join('; ') || 'nothing'}`;
}

/** Without the signs around it. */
function lettersOf(text: string): string {
  return text.replace(/^[^\p{L}\d]+|[^\p{L}\d]+$/gu, '');
}
