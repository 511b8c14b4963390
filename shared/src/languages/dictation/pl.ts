import { dictationTable, numbersFrom } from './table.ts';

export const pl = dictationTable({
  numbers: new Map([
    ...numbersFrom(0, 'zero jeden|jedna|jedno dwa|dwie trzy cztery pięć sześć siedem osiem dziewięć'),
    ...numbersFrom(
      10,
      'dziesięć jedenaście dwanaście trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście',
    ),
    ...numbersFrom(
      20,
      'dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt',
      10,
    ),
    ...numbersFrom(
      100,
      'sto dwieście trzysta czterysta pięćset sześćset siedemset osiemset dziewięćset',
      100,
    ),
  ]),
  scales: new Map([
    ['tysiąc', 1000],
    ['tysiące', 1000],
    ['tysięcy', 1000],
  ]),
  joins: 'i',
  double: 'podwójne podwójna',
  plus: 'plus',
  ends: 'lat lata procent groszy rano wieczorem',
  units: 'złoty złote złotych euro dolarów stopni godzin minut godzina',
  fractions: 'kwadrans',
  halves: 'wpół',
  clock: 'do po za',
  before: 'o około na',
  at: 'małpa at',
  dot: 'kropka',
  signs: 'małpa kropka myślnik podkreślenie podkreślnik',
  letterWords: 'a i o u w z',
  as: 'jak',
  rooms:
    'pokój pokoju sala sali mieszkanie apartament piętro bramka drzwi stolik miejsce rząd peron tor terminal lot autobus linia sekcja opcja',
  phones: 'numer to, mój numer, telefon, telefonu, komórka, komórki, zadzwoń na, pod numer',
  cards: 'karta, karty',
  mails: 'mail, mejl, e mail, email, maila',
  unfinished:
    'i a ale albo lub bo ponieważ jeśli jeżeli kiedy gdy więc że żeby o w we z ze na do od dla po przy u za pod nad mój moja moje twój jego jej nasz jest są był była jestem ja my on ona oni eee yyy jak bardzo nie się kto co gdzie który',
});
