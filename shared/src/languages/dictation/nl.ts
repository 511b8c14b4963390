import { compoundNumbers, dictationTable, numbersFrom } from './table.ts';

const units = numbersFrom(0, 'nul één|een twee drie vier vijf zes zeven acht negen');
const tens = numbersFrom(20, 'twintig dertig veertig vijftig zestig zeventig tachtig negentig', 10);

export const nl = dictationTable({
  numbers: new Map([
    ...units,
    ...numbersFrom(10, 'tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien'),
    ...tens,
    ...compoundNumbers(units, tens, (unit, ten) => `${unit}${unit.endsWith('e') ? 'ën' : 'en'}${ten}`),
  ]),
  scales: new Map([
    ['honderd', 100],
    ['duizend', 1000],
  ]),
  compounds: true,
  joins: 'en',
  double: 'dubbel',
  triple: 'driedubbel',
  plus: 'plus',
  ends: 'procent cent jaar oud middernacht',
  units: 'uur euro dollar graden uren minuten',
  fractions: 'kwart',
  halves: 'half',
  clock: 'over voor',
  before: 'om rond tot vanaf',
  at: 'apenstaartje at',
  dot: 'punt',
  signs: 'apenstaartje streepje underscore koppelteken',
  letterWords: 'u',
  as: 'van als',
  rooms:
    'kamer zaal appartement suite verdieping gate deur tafel stoel rij perron spoor terminal vlucht bus lijn sectie optie lokaal',
  phones: 'nummer is, mijn nummer, telefoon, telefoonnummer, mobiel, mobiele nummer, bel me op',
  cards: 'kaart, kaartnummer, creditcard, creditcardnummer, pasnummer',
  mails: 'mail, e mail, email, mailadres, emailadres',
  unfinished:
    'en maar of want omdat als dan dat de het een van voor met in op aan uit bij naar te mijn jouw uw zijn haar ons onze is was waren ben ik wij we hij zij ze eh uh uhm dus niet ook misschien welke wie wat waar heel zo',
});
