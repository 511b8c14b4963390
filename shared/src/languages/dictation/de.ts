import { compoundNumbers, dictationTable, numbersFrom } from './table.ts';

const units = numbersFrom(0, 'null eins|ein|eine|einem zwei|zwo drei vier fünf|fuenf sechs sieben acht neun');
const tens = numbersFrom(
  20,
  'zwanzig dreißig|dreissig vierzig fünfzig|fuenfzig sechzig siebzig achtzig neunzig',
  10,
);

export const de = dictationTable({
  numbers: new Map([
    ...units,
    ...numbersFrom(
      10,
      'zehn elf zwölf|zwoelf dreizehn vierzehn fünfzehn|fuenfzehn sechzehn siebzehn achtzehn neunzehn',
    ),
    ...tens,
    ...compoundNumbers(units, tens, (unit, ten) => `${unit}und${ten}`),
  ]),
  scales: new Map([
    ['hundert', 100],
    ['tausend', 1000],
  ]),
  compounds: true,
  joins: 'und',
  double: 'doppel',
  plus: 'plus',
  ends: 'prozent cent jahre jahren alt mittags mitternacht morgens abends nachmittags vormittags',
  units: 'uhr euro franken dollar grad stunden minuten',
  fractions: 'viertel dreiviertel',
  halves: 'halb',
  clock: 'nach vor',
  before: 'um gegen bis ab',
  at: 'at ät klammeraffe',
  dot: 'punkt dot',
  signs: 'unterstrich bindestrich minus dot',
  as: 'wie für',
  rooms:
    'zimmer raum wohnung suite etage stock gate tisch sitz sitzplatz reihe gleis bahnsteig terminal flug bus linie abschnitt option tor halle',
  phones:
    'nummer ist, nummer lautet, meine nummer, telefon, telefonnummer, handy, handynummer, mobil, mobilnummer, rückruf',
  cards: 'karte, kartennummer, kreditkarte, kreditkartennummer',
  mails: 'mail, e mail, email, mailadresse, emailadresse',
  unfinished:
    'und aber oder weil wenn dann dass ob der die das den dem des ein eine einen einem einer zu von für mit im in auf an am aus bei mein meine meinen dein ihr unser ist sind war waren bin ich wir er sie es äh ähm also als nicht nur vielleicht welche welcher wer was wo sehr noch so zum zur ins',
});
