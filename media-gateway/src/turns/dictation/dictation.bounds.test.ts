import t from 'tap';
import { cardNumber, countryOfLanguage, countryOfNumber, telephoneNumber } from './dialled-number.ts';
import { dictationReader, dictationState, type DictationState } from './dictation.ts';

const US = { language: 'en-US', country: 'US' };

// prettier-ignore
const STATES: Readonly<Record<string, Readonly<Partial<Record<DictationState, readonly string[]>>>>> = {
  'an address in writing is whole with its domain': {
    incomplete: ['a@', 'a@b', 'a@b.', 'a@b.c'],
    may_grow: ['a@b.co', 'a@b.engineering'],
    complete: ['a@b.com', 'a@b.com.', 'a@b.com!', 'a@b . com', 'a@ b.com', 'it is A@B.COM'],
    none: ['write a@b.com to me', 'a@b.com, please'],
  },
  'an address in words is whole with its domain': {
    incomplete: ['bob at', 'bob at example dot', 'bob at example dot c', 'my mail is bob at example', 'b at example', 'bob underscore', 'www dot'],
    may_grow: ['bob at example dot c o'],
    complete: ['bob at example dot com', 'bob at example dot c o m', 'www dot example dot com'],
    none: ['bob at example', 'bob at example dot com?', 'my email is bob', 'meet me at noon', 'see you at the house'],
  },
  'a letter that is explained is one of several': {
    incomplete: ['b as in bravo', 'b as in', 'b as', 'a b c', '12 b 3', '5 b c d'],
    none: ['a as in alpha', 'i as in india', 'vitamin b', 'a b', 'b', 'a'],
    may_grow: ['b 1', '1 b', 'b 12'],
  },
  'halves, quarters and clocks': {
    none: ['half', 'a quarter', 'three quarters', 'percent', 'o clock'],
    incomplete: ['half past', 'a quarter past'],
    complete: ['half past seven', "four o'clock", 'ten percent', 'ten p.m.', '10 a.m.'],
    may_grow: ['one quarter', 'seven'],
  },
  'prices': {
    may_grow: ['ten dollars', '$12'],
    complete: ['ten dollars fifty', '$12.50'],
    incomplete: ['ten dollars and', '$12.50 and'],
  },
  'what a number follows is waited for': {
    incomplete: ['seven and', 'plus one', 'double five', 'triple seven', 'five five', 'one hundred and', 'five double', '1 2', 'four one five'],
    none: ['plus', 'double', 'hundred', 'hello', ''],
    may_grow: ['two and three', 'one hundred', 'one hundred five', 'four hundred and twenty', 'twenty five', 'two hundred'],
  },
  'rooms are short': {
    may_grow: ['room 12', 'gate b 12', 'room number 4'],
    complete: ['room 12 b'],
    none: ['room b'],
  },
  'times of day': {
    complete: ['12 30', '24 59', '00 30', 'seven thirty', 'at seven oh five'],
    may_grow: ['25 10', '24 60', '0 30'],
    incomplete: ['7 0 5', 'seven oh five'],
  },
  'years and dates': {
    may_grow: ['1984', '1900', '2100'],
    complete: ['19 84', '18 50', 'may 5 1984', '31 1984', '12 5 1984', '5 12 1984', '31 12 1984', '5 12 19 84'],
    incomplete: ['32 1984', '0 1984', '13 13 1984', '32 12 1984', '0 12 1984', '12 0 1984'],
  },
  'cards and telephone numbers are whole with their last digit': {
    complete: ['my card is 4242 4242 4242 4242', 'my card is 3782 822463 10005', 'my card is 3056 930902 5904', 'my phone number is 415 555 2671', '+1 415 555 2671', '+44 20 7946 0958', '4155552671', '4242424242424242'],
    incomplete: ['my card is 4242', 'my number is 415', 'my number is 415 555 267', '+49 30 123', '1234567', '123456789012'],
    may_grow: ['415', '415555', '123456', '4242424242424241'],
  },
  'a voice that stayed up may go on': {
    may_grow: ['seven thirty,', 'seven thirty...', 'seven thirty…', 'seven thirty - ', 'seven,'],
    complete: ['seven thirty.', 'seven, thirty'],
  },
};

for (const [title, states] of Object.entries(STATES))
  void t.test(title, (t) => {
    for (const [state, texts] of Object.entries(states))
      for (const text of texts) t.equal(dictationState(text, US), state, text);
    t.end();
  });

void t.test('a telephone number is whole where no more digits fit, and otherwise from nine on', (t) => {
  // prettier-ignore
  const cases: [digits: string, country: string | undefined, state: string][] = [
    ['415555267', 'US', 'incomplete'], ['4155552671', 'US', 'complete'], ['41555526711', 'US', 'incomplete'],
    ['5555555555', 'US', 'may_grow'], ['0301234', 'DE', 'incomplete'], ['03012345678', 'DE', 'may_grow'],
    ['612345678', 'ES', 'complete'], ['61234567', 'ES', 'incomplete'], ['9876543210', 'IN', 'complete'],
    ['06123456', 'IT', 'incomplete'], ['061234567', 'IT', 'may_grow'],
    ['123456789', 'XX', 'incomplete'], ['1234567890', 'XX', 'may_grow'], ['123', undefined, 'incomplete'],
    ['+14155552671', undefined, 'complete'], ['+1415', undefined, 'incomplete'],
  ];
  for (const [digits, country, state] of cases) t.equal(telephoneNumber(digits, country), state, digits);
  t.equal(dictationState('030 123456', { language: 'de-DE' }), 'incomplete');
  t.equal(dictationState('0151 23456789', { language: 'de-DE' }), 'complete');
  t.equal(
    dictationState('020 7946 0958', { language: 'en-GB' }),
    'complete',
    'of the country of the language',
  );
  t.end();
});

void t.test('a card is whole with as many digits as its kind has, if they fit together', (t) => {
  const cases: [digits: string, state: string][] = [
    ['4242424242424242', 'complete'],
    ['424242424242424', 'incomplete'],
    ['4242424242424241', 'may_grow'],
    ['42424242424242424', 'may_grow'],
    ['378282246310005', 'complete'],
    ['37828224631000', 'incomplete'],
    ['341111111111111', 'complete'],
    ['30569309025904', 'complete'],
    ['38520000023237', 'complete'],
    ['3056930902590', 'incomplete'],
    ['3530111333300000', 'complete'],
  ];
  for (const [digits, state] of cases) t.equal(cardNumber(digits), state, digits);
  t.end();
});

void t.test('countries have their post codes', (t) => {
  t.equal(dictationState('k1a 0b1', { language: 'en-CA' }), 'complete');
  t.equal(dictationState('k1a 0b', { language: 'en-CA' }), 'incomplete');
  t.equal(dictationState('k1a 0b1', { language: 'en-US' }), 'incomplete');
  t.equal(dictationState('1 0 1 2 a b', { language: 'nl-NL' }), 'complete');
  t.equal(dictationState('m 1 1 a e', { language: 'en-GB' }), 'complete');
  for (const written of ['sw1a 1aa', 'It is SW1A 1AA.', 'm11ae', 'M1 1AE', 'ec1a1bb'])
    t.equal(dictationState(written, { language: 'en-GB' }), 'complete', written);
  t.equal(dictationState('sw1a 1aa', { language: 'en-US' }), 'none', 'of another country');
  for (const written of ['1012AB', '1012 AB', 'het is 1012ab', '1012 AB.'])
    t.equal(dictationState(written, { language: 'nl-NL' }), 'complete', written);
  t.not(
    dictationState('ik woon hier sinds 2019 en', { language: 'nl-NL' }),
    'complete',
    'a year, and a word',
  );
  t.end();
});

void t.test('the country is that of the number, or the one that the language suggests', (t) => {
  t.same(['en', 'pt', 'pt-PT'].map(countryOfLanguage), ['US', 'BR', 'PT']);
  t.same(['+4930123456', null, '123'].map(countryOfNumber), ['DE', undefined, undefined]);
  t.end();
});

void t.test('a reader tells the state of each text', (t) => {
  const read = dictationReader({ language: 'en-US' });
  t.equal(read(''), 'none');
  t.equal(read('4 1 5'), 'incomplete');
  t.equal(read('4 1 5'), 'incomplete');
  t.equal(read('hello'), 'none');
  t.equal(dictationReader({ language: 'en-US', country: 'ES' })('612345678'), 'complete');
  t.equal(dictationReader({ language: 'en-US' })('612345678'), 'incomplete');
  t.end();
});
