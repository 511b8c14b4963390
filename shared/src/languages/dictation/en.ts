import { dictationTable, numbersFrom } from './table.ts';

export const en = dictationTable({
  numbers: new Map([
    ...numbersFrom(0, 'zero|oh one two three four five six seven eight nine'),
    ...numbersFrom(10, 'ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'),
    ...numbersFrom(20, 'twenty thirty forty|fourty fifty sixty seventy eighty ninety', 10),
  ]),
  scales: new Map([
    ['hundred', 100],
    ['thousand', 1000],
  ]),
  joins: 'and',
  double: 'double',
  triple: 'triple',
  plus: 'plus',
  ends: "o'clock percent cents pence noon midnight old",
  units: 'dollar dollars pound pounds euro euros bucks rupees year years degrees hours minutes',
  fractions: 'half quarter',
  clock: 'past to till',
  before: 'at around about by until till before after from',
  at: 'at',
  dot: 'dot',
  signs: 'dot underscore dash hyphen',
  letterWords: 'a i',
  as: 'as in like',
  rooms:
    'room suite flat apartment unit floor gate table seat row platform track terminal flight bus line channel section option grade bay door',
  phones:
    'my number, number is, phone, telephone, mobile, cell, call me at, call me on, reach me at, reach me on',
  cards: 'card',
  mails: 'mail, email, e mail, gmail, address is',
  unfinished:
    'and but or so because if when then that the a an to of for in on at with from my your his her our their is are was were am be i we they he she it um uh er like about into than as not just maybe which who what where',
});
