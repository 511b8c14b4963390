import { dictationTable, numbersFrom } from './table.ts';

export const fr = dictationTable({
  numbers: new Map([
    ...numbersFrom(0, 'zéro|zero un|une deux trois quatre cinq six sept huit neuf'),
    ...numbersFrom(10, 'dix onze douze treize quatorze quinze seize'),
    ...numbersFrom(
      20,
      'vingt|vingts trente quarante cinquante soixante septante octante|huitante nonante',
      10,
    ),
  ]),
  scales: new Map([
    ['cent', 100],
    ['cents', 100],
    ['mille', 1000],
  ]),
  vigesimal: true,
  joins: 'et',
  double: 'double',
  triple: 'triple',
  plus: 'plus',
  ends: 'ans an pourcent centimes midi minuit',
  units: 'heure heures h euro euros franc francs dollar dollars degrés minutes',
  fractions: 'demie demi quart midi minuit',
  clock: 'moins',
  before: 'à vers jusqu',
  at: 'arobase arobas',
  dot: 'point',
  signs: 'arobase tiret underscore souligné',
  letterWords: 'a à y ô',
  as: 'comme',
  rooms:
    'chambre salle appartement suite étage porte table place siège rang quai voie terminal vol bus ligne section option bureau bâtiment',
  phones:
    'numéro est, numéro c est, mon numéro, téléphone, portable, mobile, joindre au, rappeler au, rappelez moi au',
  cards: 'carte',
  mails: 'mail, e mail, email, courriel, adresse est',
  unfinished:
    'et mais ou donc car parce que si quand alors le la les un une des du de à au aux en dans pour avec sur chez par mon ma mes ton ta votre vos notre nos leur est sont était suis je nous vous il elle ils elles on euh heu qui quoi où très aussi comme ne pas ce cette ces d l j qu',
});
