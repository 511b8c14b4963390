import t from 'tap';
import type { CollectField } from '@parley/shared/contracts/flow-definition';
import { readGiven, readKeys, readSaid, spokenValue, type Circumstances } from './read-value.ts';
import { VALUE_LANGUAGES } from './word-tables.ts';

const at = (language = 'en-US', country = 'US'): Circumstances => ({
  language,
  country,
  // A Monday.
  today: '2026-11-23',
});
const field = (type: CollectField['type'], more: Partial<CollectField> = {}): CollectField => ({
  ...{ name: 'it', type, description: '', options: [], required: true, confirm: false },
  ...more,
});
const said = (type: CollectField['type'], text: string, where = at(), more: Partial<CollectField> = {}) =>
  readSaid(field(type, more), text, where)?.value;

void t.test('digits', async (t) => {
  const cases: [string, string | undefined, string?][] = [
    ['four one five', '415'],
    ['It is 415 555, then 26 71.', '4155552671'],
    ['double five oh triple two', '550222'],
    ['four fifteen twenty', '41520'],
    ['The one that I have is 7 7 3.', '773'],
    ['four one five, no, four one six', '416'],
    ['five five five two three, sorry, eight', '55528'],
    ['five five, wait, no, three three three', '333'],
    ['vier eins fünf', '415', 'de-DE'],
    ['siebenundzwanzig null drei, nein, null vier', '2704', 'de-DE'],
    ['quatro um cinco', '415', 'pt-BR'],
    ['四一五', '415', 'zh-CN'],
    ['I do not know.', undefined],
  ];
  for (const [text, wanted, language] of cases) t.equal(said('digits', text, at(language)), wanted, text);
});

void t.test('digits that go on, are said again, or are corrected', async (t) => {
  const on = (text: string, value: string, isWrong = false) =>
    readSaid(field('digits'), text, at(), { value, isWrong })?.value;
  t.equal(on('five five five', '415'), '415555');
  t.equal(on('four one five five five five', '415'), '415555', 'from the beginning');
  t.equal(on('four one six', '415'), '416', 'as many again');
  t.equal(on('No, six.', '415', true), '416', 'the end');
  t.equal(on('No, nine nine nine nine.', '415', true), '9999', 'all of it');
});

void t.test('numbers', async (t) => {
  const cases: [string, string | undefined, string?][] = [
    ['for four people', '4'],
    ['twenty five', '25'],
    ['two hundred and five', '205'],
    ['three point one four', '3.14'],
    ['minus seven', '-7'],
    ['It is -3 now', '-3'],
    ['- 3', '-3'],
    ['3-5', undefined],
    ['1,234', '1234'],
    ['12.50', '12.5'],
    ['12,5', '12.5', 'de-DE'],
    ['1.234', '1234', 'de-DE'],
    ['drei komma fünf', '3.5', 'de-DE'],
    ['zweitausendfünf', '2005', 'de-DE'],
    ['three, no, four', '4'],
    ['two or three', undefined],
    ['two and a half', undefined],
    ['7:30', undefined],
    ['none', undefined],
  ];
  for (const [text, wanted, language] of cases) t.equal(said('number', text, at(language)), wanted, text);
});

void t.test('dates', async (t) => {
  const cases: [string, string | undefined, string?][] = [
    ['2026-12-24', '2026-12-24'],
    ['12/24/2026', '2026-12-24'],
    ['24/12/2026', '2026-12-24'],
    ['03/05/85', '1985-03-05'],
    ['3.5.85', '1985-05-03', 'de-DE'],
    ['March 5th, 1985', '1985-03-05'],
    ['the third of May nineteen sixty', '1960-05-03'],
    ['May twenty first', '2027-05-21'],
    ['December the second', '2026-12-02'],
    ['December 24', '2026-12-24'],
    ['the second of March twenty twenty seven', '2027-03-02'],
    ['12. März 1985', '1985-03-12', 'de-DE'],
    ['am dritten Mai neunzehnhundertsechzig', '1960-05-03', 'de-DE'],
    ['am einundzwanzigsten Dezember', '2026-12-21', 'de-DE'],
    ['le premier mai 2027', '2027-05-01', 'fr-FR'],
    ['el cinco de marzo de 1985', '1985-03-05', 'es-ES'],
    ['5 marca 1985', '1985-03-05', 'pl-PL'],
    ['piątego marca', '2027-03-05', 'pl-PL'],
    ['2026年12月24日', '2026-12-24', 'ja-JP'],
    ['today', '2026-11-23'],
    ['tomorrow please', '2026-11-24'],
    ['übermorgen', '2026-11-25', 'de-DE'],
    ['on Friday', '2026-11-27'],
    ['Monday', '2026-11-30'],
    ['On the fifth, no, on the sixth of December', '2026-12-06'],
    ['February 30th, 2027', undefined],
    ['soon', undefined],
  ];
  for (const [text, wanted, language] of cases) t.equal(said('date', text, at(language)), wanted, text);
});

void t.test('telephone numbers and e-mail addresses', async (t) => {
  t.equal(said('phone', 'My number is (415) 555-2671.'), '+14155552671');
  t.equal(said('phone', 'four fifteen five five five oh one hundred'), '+14155550100');
  t.equal(said('phone', 'plus four four two oh seven nine four six oh nine five eight'), '+442079460958');
  t.equal(said('phone', 'null drei null neun null eins acht zwei null', at('de-DE', 'DE')), '+4930901820');
  t.same(readSaid(field('phone'), 'four one five', at()), { value: '415', whole: false });
  t.same(
    readSaid(field('phone'), 'five five five two six seven one', at(), { value: '415', isWrong: false }),
    {
      value: '+14155552671',
      whole: true,
    },
  );
  t.same(
    readSaid(field('phone'), 'No, two six seven two.', at(), { value: '+14155552671', isWrong: true }),
    { value: '+14155552672', whole: true },
    'the last digits are others',
  );
  t.equal(said('email', 'It is Anna.Smith@Example.com.'), 'anna.smith@example.com');
  t.equal(said('email', 'anna dot smith at example dot com'), 'anna.smith@example.com');
  t.equal(said('email', 'anna underscore forty two at my dash shop dot co dot uk'), 'anna_42@my-shop.co.uk');
  t.equal(said('email', 'a double n a at example dot com'), 'anna@example.com');
  t.equal(
    said('email', 'anna punkt schmidt at beispiel punkt de', at('de-DE', 'DE')),
    'anna.schmidt@beispiel.de',
  );
  t.equal(said('email', 'I have none.'), undefined);
});

void t.test('a yes or a no, and options', async (t) => {
  t.equal(said('boolean', 'Yes, please.'), 'true');
  t.equal(said('boolean', 'Nein, danke.', at('de-DE')), 'false');
  t.equal(said('boolean', 'Well, maybe.'), undefined);
  const sizes = { options: ['small', 'large', 'extra large', 'Café'] };
  t.equal(said('enum', 'A large one.', at(), sizes), 'large');
  t.equal(said('enum', 'Extra large!', at(), sizes), 'extra large');
  t.equal(said('enum', 'In the cafe.', at(), sizes), 'Café');
  t.equal(said('enum', 'Small, no, large.', at(), sizes), 'large');
  t.equal(said('enum', 'Not large.', at(), sizes), undefined);
  t.equal(said('enum', 'Small or large?', at(), sizes), undefined);
  t.equal(said('string', 'I am Ada.'), undefined, 'a text is read by a model');
});

void t.test('keys', async (t) => {
  const keys = (type: CollectField['type'], digits: string, where = at(), more = {}) =>
    readKeys(field(type, more), digits, where)?.value;
  t.equal(keys('digits', '0815'), '0815');
  t.equal(keys('number', '12*5'), '12.5');
  t.equal(keys('phone', '4155552671'), '+14155552671');
  t.equal(keys('boolean', '1'), 'true');
  t.equal(keys('boolean', '2'), 'false');
  t.equal(keys('boolean', '3'), undefined);
  t.equal(keys('enum', '2', at(), { options: ['a', 'b'] }), 'b');
  t.equal(keys('enum', '9', at(), { options: ['a', 'b'] }), undefined);
  t.equal(keys('date', '12242026'), '2026-12-24');
  t.equal(keys('date', '24122026', at('de-DE')), '2026-12-24');
  t.equal(keys('date', '2412'), undefined);
});

void t.test('what a model gives is checked as if it had been said', async (t) => {
  t.equal(readGiven(field('string'), ' Ada Lovelace ', at()), 'Ada Lovelace');
  t.equal(readGiven(field('string'), '[person_name]', at()), undefined, 'a mask is no value');
  t.equal(readGiven(field('number'), 4, at()), '4');
  t.equal(readGiven(field('number'), 'four', at()), undefined);
  t.equal(readGiven(field('boolean'), true, at()), 'true');
  t.equal(readGiven(field('date'), '2026-02-30', at()), undefined);
  t.equal(readGiven(field('phone'), '415', at()), undefined);
  t.equal(readGiven(field('email'), 'Ada@Example.com', at()), 'ada@example.com');
  t.equal(readGiven(field('enum', { options: ['Large'] }), 'large', at()), 'Large');
  t.equal(readGiven(field('string'), { a: 1 }, at()), undefined);
});

void t.test('what is said back, and that all languages have words', async (t) => {
  t.equal(spokenValue(field('digits'), '4155552', 'en-US'), '4 1 5, 5 5 5 2');
  t.equal(spokenValue(field('phone'), '+14155552671', 'en-US'), '4 1 5, 5 5 5, 2 6 7 1');
  t.equal(spokenValue(field('date'), '2026-12-24', 'de-DE'), '24. Dezember 2026');
  t.equal(spokenValue(field('boolean'), 'false', 'de-DE'), 'nein');
  t.same(VALUE_LANGUAGES.length, 12);
});
