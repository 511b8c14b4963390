import { compoundNumbers, dictationTable, numbersFrom } from './table.ts';

const units = numbersFrom(0, 'zero uno|un|una due tre|tré quattro cinque sei sette otto nove');
const tens = numbersFrom(20, 'venti trenta quaranta cinquanta sessanta settanta ottanta novanta', 10);

export const it = dictationTable({
  numbers: new Map([
    ...units,
    ...numbersFrom(
      10,
      'dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove',
    ),
    ...tens,
    ...compoundNumbers(units, tens, (unit, ten) => (/^[uo]/.test(unit) ? ten.slice(0, -1) : ten) + unit),
  ]),
  scales: new Map([
    ['cento', 100],
    ['mille', 1000],
    ['mila', 1000],
  ]),
  compounds: true,
  joins: 'e o',
  double: 'doppio doppia',
  triple: 'triplo tripla',
  plus: 'più',
  ends: 'anni centesimi mezzogiorno mezzanotte percento',
  units: 'ora ore euro franchi dollaro dollari gradi minuti',
  fractions: 'mezza mezzo quarto',
  clock: 'meno',
  before: 'alle le verso',
  at: 'chiocciola',
  dot: 'punto',
  signs: 'chiocciola trattino underscore',
  letterWords: 'a e i o è',
  as: 'come di',
  rooms:
    'camera stanza sala appartamento suite piano porta tavolo posto fila binario terminal volo autobus linea sezione opzione ufficio uscita',
  phones: 'numero è, mio numero, telefono, cellulare, chiamami al, mi chiami al',
  cards: 'carta',
  mails: 'mail, e mail, email, posta elettronica, indirizzo è',
  unfinished:
    'e ed ma o oppure perché se quando allora che il lo la i gli le un uno una di del della dei a al alla ai in nel nella con per su sul da dal mio mia tuo suo nostro è sono era io noi lui lei loro ehm uhm come molto non chi dove quale mi ti si vorrei',
});
