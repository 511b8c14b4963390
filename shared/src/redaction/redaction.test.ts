import t from 'tap';
import { findPersonalData, type SpokenTurn } from './find-personal-data.ts';
import {
  harmlessPhrases,
  namedPhrases,
  structuredPhrases,
  UNSEEN,
  unseenPhrases,
  type Phrase,
} from './redaction.phrases.ts';

const LANGUAGES = { en: 'en-US', de: 'de-DE' } as const;
const long = process.env['TEST_LONG'] === '1';

interface Count {
  values: number;
  found: number;
  /** Phrases in which something else is masked. */
  wrong: number;
}

function look(phrases: readonly Phrase[], language: string): Count {
  const count: Count = { values: 0, found: 0, wrong: 0 };
  for (const { turns } of phrases) {
    const { findings } = findPersonalData(turns, { language });
    for (const [at, { text, values }] of turns.entries()) {
      const here = findings.filter(({ turn }) => turn === at);
      for (const { start, end } of values) {
        count.values++;
        const missed = [...text.slice(start, end).matchAll(/[\p{L}\d]/gu)].some(
          ({ index }) => !here.some((found) => found.start <= start + index && start + index < found.end),
        );
        if (!missed) count.found++;
      }
    }
    const wrong = findings.some(
      (found) => !turns[found.turn]!.values.some(({ start, end }) => start < found.end && found.start < end),
    );
    if (wrong) count.wrong++;
  }
  return count;
}

function kinds(turns: readonly SpokenTurn[] | string, language = 'en-US'): string[] {
  const list = typeof turns === 'string' ? [{ role: 'caller' as const, text: turns }] : turns;
  return findPersonalData(list, { language }).findings.map(
    ({ turn, start, end, kind }) => `${kind}: ${list[turn]!.text.slice(start, end)}`,
  );
}

void t.test(
  '98 of 100 numbers, e-mail addresses and codes are found, and 1 of 100 other phrases is masked at most',
  (t) => {
    for (const [name, language] of Object.entries(LANGUAGES)) {
      for (const half of ['tuned', 'heldOut'] as const) {
        const phrases = structuredPhrases(name as keyof typeof LANGUAGES, half, long ? 5 : 1);
        const harmless = harmlessPhrases(name as keyof typeof LANGUAGES, half);
        const personal = look(phrases, language);
        const other = look(harmless, language);
        t.comment(name, half, personal, other);
        t.ok(phrases.length >= 150);
        t.ok(
          personal.found / personal.values >= 0.98,
          `${name} ${half}: ${personal.found} of ${personal.values}`,
        );
        t.ok((personal.wrong + other.wrong) / (phrases.length + harmless.length) <= 0.01);
      }
    }
    t.end();
  },
);

void t.test('as many are found of sentences that were written after the finders', (t) => {
  for (const set of Object.keys(UNSEEN) as (keyof typeof UNSEEN)[]) {
    const all = { phrases: 0, values: 0, found: 0, wrong: 0 };
    for (const [name, language] of Object.entries(LANGUAGES)) {
      const { personal, harmless } = unseenPhrases(name as keyof typeof LANGUAGES, set, long ? undefined : 1);
      const [count, other] = [look(personal, language), look(harmless, language)];
      t.comment(set, name, personal.length, count, harmless.length, other);
      t.ok(personal.length >= (long ? 150 : 30));
      all.phrases += personal.length + harmless.length;
      all.values += count.values;
      all.found += count.found;
      all.wrong += count.wrong + other.wrong;
    }
    t.ok(all.found / all.values >= 0.98, `${set}: ${all.found} of ${all.values}`);
    t.ok(all.wrong / all.phrases <= 0.01, `${set}: ${all.wrong} wrong`);
  }
  t.end();
});

void t.test('names and addresses are found in the sentences that announce them', (t) => {
  for (const [name, language] of Object.entries(LANGUAGES))
    for (const kind of ['name', 'address'] as const)
      for (const half of ['tuned', 'heldOut'] as const) {
        const { values, found } = look(namedPhrases(name as keyof typeof LANGUAGES, half, kind), language);
        t.ok(found / values >= 0.8, `${name} ${kind} ${half}: ${found} of ${values}`);
      }
  t.end();
});

void t.test('a number is known by what announces it, by its check digits, or by what was asked', (t) => {
  t.same(kinds('it is 4111 1111 1111 1111'), ['card_number: 4111 1111 1111 1111']);
  t.same(
    kinds('it is 4111 1111 1111 1112'),
    ['number: 4111 1111 1111 1112'],
    'no card has this number: nobody knows what it is',
  );
  t.same(
    kinds('my card is 4111 1111 1111 1112'),
    ['card_number: 4111 1111 1111 1112'],
    'one digit was misheard',
  );
  t.same(kinds('order 4111 1111 1111 1111'), ['card_number: 4111 1111 1111 1111'], 'whatever announces it');
  t.same(kinds('order 4111 1111 1111 1112'), []);
  t.same(kinds('4111 1111 1111 1111 twelve twenty six'), ['card_number: 4111 1111 1111 1111']);
  t.same(kinds('one two three, 415 555 2671'), ['number: one two three, 415 555 2671']);
  t.same(
    kinds([
      { role: 'agent', text: 'Your order number, please?' },
      { role: 'caller', text: '4155552671' },
    ]),
    [],
  );
  t.same(
    kinds([
      { role: 'agent', text: 'Your phone number, please?' },
      { role: 'caller', text: 'Sure, 5552671' },
    ]),
    ['phone_number: 5552671'],
  );
  t.end();
});

void t.test('a long number is masked unless it is told what it is, and that is nobody’s', (t) => {
  for (const text of ['put 55779911 down', '55779911', 'it goes with L22X55779'])
    t.same(
      kinds(text).map((found) => found.split(':')[0]),
      ['number'],
      text,
    );
  for (const text of [
    'order 55779911',
    '55779911 is my order number',
    'the store sold 55,779,911',
    '5577991 people came',
    'it runs version 10.0.19045.3570',
    'one two three four five six seven',
    'from 2019 2020 2021 on',
    'I paid $5577991',
  ])
    t.same(kinds(text), [], text);
  t.same(kinds('zamówienie 55779911', 'pl-PL'), [], 'where it is not known what announces orders');
  t.same(
    kinds([
      { role: 'caller', text: 'It would be 55779911.' },
      { role: 'agent', text: 'So 55779911, and the order is 20455518.' },
    ]),
    ['number: 55779911'],
    'without the values of a call what the agent says is as it was',
  );
  t.end();
});

void t.test('what a number belongs to is not what it is', (t) => {
  t.same(kinds('the cell for my booking is 617 555 0142'), ['phone_number: 617 555 0142']);
  t.same(kinds('my account for the invoice would be 55779911'), ['bank_account: 55779911']);
  t.same(kinds('I called about order 55779911'), []);
  t.same(kinds('the zip code is 94107'), [], 'a code that is none of anybody');
  t.same(kinds('hunter2 is my password'), ['secret: hunter2'], 'announced behind it');
  t.same(kinds('the PIN was sent at 10 15'), []);
  t.same(
    kinds('born on the third of the fifth, eighty-five'),
    ['date_of_birth: the third of the fifth, eighty-five'],
    'a month by its number',
  );
  t.same(kinds('it is 14 March 1956'), ['date_of_birth: 14 March 1956'], 'long ago');
  t.same(kinds('they opened on 14 March 1956'), []);
  t.same(kinds('anna huber 77 at gmail'), ['email: anna huber 77 at gmail']);
  t.same(kinds('de 89 3704 0044 0532 0130 00', 'de-DE'), ['bank_account: de 89 3704 0044 0532 0130 00']);
  t.end();
});

void t.test('an address that nothing announces is masked with its town', (t) => {
  for (const [text, address] of [
    [
      'it is 12 High Street, Springfield, Illinois 62704, thanks',
      '12 High Street, Springfield, Illinois 62704',
    ],
    ['send it to 12 High Street and call me', '12 High Street'],
    ['12 High Street, London', '12 High Street, London'],
  ] as const)
    t.same(kinds(text), [`address: ${address}`], text);
  t.same(kinds('Hauptstraße 5, 80331 München, bitte', 'de-DE'), ['address: Hauptstraße 5, 80331 München']);
  t.end();
});

void t.test('a number that is told over the telephone is none of it', (t) => {
  t.same(kinds('my account, I say it over the phone, 55779911'), ['bank_account: 55779911']);
  t.same(kinds('call me over the phone 55779911'), ['phone_number: 55779911']);
  t.same(kinds('my account for the order, over the phone, 55779911'), ['bank_account: 55779911']);
  t.end();
});

void t.test('a value that is given in several turns is found in each of them', (t) => {
  const turns: SpokenTurn[] = [
    { role: 'agent', text: 'Go ahead.' },
    { role: 'caller', text: 'four one one one' },
    { role: 'agent', text: 'Yes?' },
    { role: 'caller', text: 'one one one one, then one one one one' },
    { role: 'agent', text: 'And?' },
    { role: 'caller', text: 'one one one one' },
    { role: 'agent', text: 'And your mail address?' },
    { role: 'caller', text: 'anna dot smith' },
    { role: 'caller', text: 'at example dot com' },
  ];
  t.same(
    kinds([
      { role: 'caller', text: 'The card starts with 4556 7375.' },
      { role: 'agent', text: 'And then?' },
      { role: 'caller', text: 'the rest would be 8689 9855' },
    ]),
    ['card_number: 4556 7375', 'card_number: 8689 9855'],
    'with words before each part',
  );
  t.same(
    kinds([
      { role: 'agent', text: 'Your account number?' },
      { role: 'caller', text: 'One moment.' },
      { role: 'agent', text: 'Take your time.' },
      { role: 'caller', text: 'So, 55779911' },
    ]),
    ['bank_account: 55779911'],
    'the answer comes a turn later',
  );
  t.same(kinds(turns), [
    'card_number: four one one one',
    'card_number: one one one one, then one one one one',
    'card_number: one one one one',
    'email: anna dot smith',
    'email: at example dot com',
  ]);
  t.end();
});

void t.test('digits are read in other languages, too', (t) => {
  const card = {
    es: 'cuatro uno uno uno',
    fr: 'quatre un un un',
    it: 'quattro uno uno uno',
    nl: 'vier een een een',
    pt: 'quatro um um um',
  };
  const rest = { es: 'uno', fr: 'un', it: 'uno', nl: 'een', pt: 'um' };
  for (const [language, first] of Object.entries(card)) {
    const text = `${first} ${Array(12)
      .fill(rest[language as keyof typeof rest])
      .join(' ')}`;
    t.same(kinds(text, language), [`card_number: ${text}`]);
  }
  t.end();
});

void t.test('a text of any kind takes time in proportion to its length', (t) => {
  for (const piece of ['4111 ', '@a.', 'my name is ', 'hundert', '12 Baker Street '])
    t.ok(findPersonalData([{ role: 'caller', text: piece.repeat(long ? 8000 : 2000) }], { language: 'de' }));
  t.end();
});
