import t from 'tap';
import { spokenForm, WrittenWords, type SpokenText } from './spoken-form.ts';

const plain = { normalize_text: true, pronunciations: [] };
/** What is left as it is written has one text. */
type Case = readonly [written: string, spoken?: string];

// prettier-ignore
const CASES: Readonly<Record<string, readonly Case[]>> = {
  'en-US': [
    // Addresses.
    ['Mail a_b-c+d@x-y.org now', 'Mail a underscore b dash c plus d at x dash y dot org now'],
    ['See http://example.com/, or example.org/.', 'See example dot com, or example dot org.'],
    ['See www.example.com/a/b?x=1#y.', 'See w w w dot example dot com slash a slash b.'],
    ['go to example.co.uk, then', 'go to example dot co dot uk, then'],
    ['@5'], ['#5'],
    // Dates.
    ['2028-02-29', 'February twenty-ninth twenty twenty-eight'],
    ['13/4/2027'],
    ['4.3.2027', 'March fourth twenty twenty-seven'],
    ['March 3rd, 1905', 'March third nineteen oh five'],
    ['March 3 1900', 'March third nineteen hundred'],
    ['June 1, 1066', 'June first one thousand sixty-six'],
    ['May 5', 'May fifth'], ['May'], ['3/4'],
    ['in 1100, 1099, 1200, 1999', 'in eleven hundred, one thousand ninety-nine, twelve hundred, nineteen ninety-nine'],
    ['2000, 2009, 2010, 2099, 2100', 'two thousand, two thousand nine, twenty ten, twenty ninety-nine, two thousand one hundred'],
    // Times.
    ['12:00 am', 'twelve AM'], ['0:30 pm'], ['13:30 pm'], ['24:00'], ['12:60'], ['12:30:45'], ['9:5'],
    ['23:59', 'eleven fifty-nine PM'], ['00:05', 'twelve oh five AM'], ['1:05', 'one oh five'], ['12:00', "twelve o'clock"],
    ['12 PM, 1 pm', 'twelve PM, one PM'], ['9 A.M. sharp', 'nine AM sharp'],
    // Telephone numbers and codes.
    ['020 7946 0958', 'zero two zero, seven nine four six, zero nine five eight'],
    ['(020) 7946-0958', 'zero two zero, seven nine four six, zero nine five eight'],
    ['+44 20 7946 0958', 'plus four four, two zero, seven nine four six, zero nine five eight'],
    ['0301 234567', 'zero three zero one, two three four five six seven'],
    ['AB1', 'A B one'], ['A1'], ['v2 3a'],
    ['BOEING-747', 'BOEING seven hundred forty-seven'], ['ABCD-12', 'ABCD twelve'], ['COVID-2019'], ['CODE-12345'],
    ['12345678', 'one two three four five six seven eight'], ['007', 'zero zero seven'], ['0', 'zero'],
    // Amounts.
    ['$1', 'one dollar'], ['$1,000.5', 'one thousand dollars and fifty cents'], ['$0.99', 'ninety-nine cents'],
    ['€1', 'one euro'], ['5 €', 'five euros'], ['£3.20', 'three British pounds twenty'], ['USD 5', 'five dollars'],
    ['CHF 10.50', 'ten Swiss francs fifty'], ['10 CHF', 'ten Swiss francs'],
    ['5 kg, 1 km', 'five kilograms, one kilometer'], ['100 km/h', 'one hundred kilometers per hour'],
    ['2.5 GB', 'two point five gigabytes'], ['7%', 'seven percent'], ['%7', 'seven percent'], ['-5 °C', 'minus five degrees Celsius'],
    // Numbers.
    ['1-2', 'one to two'], ['3–5', 'three to five'], ['10 - 20', 'ten to twenty'], ['5-3'], ['2-2'], ['1-2-3'],
    ['1st 2nd 3rd 11th 112th', 'first second third eleventh one hundred twelfth'],
    ['1,234,567', 'one million two hundred thirty-four thousand five hundred sixty-seven'],
    ['12345', 'twelve thousand three hundred forty-five'], ['1,5'], ['-5 degrees', 'minus five degrees'],
    ['3.14159', 'three point one four one five nine'], ['0.005', 'zero point zero zero five'], ['12.25', 'twelve point twenty-five'],
    ['It is 5.', 'It is five.'], ['5:4'], ['24/7'],
    // Abbreviations.
    ['a & b', 'a and b'], ['A&B'], ['Mr. X vs. Z', 'Mister X versus Z'],
  ],
  'en-GB': [
    ['3/4/2027', 'April third twenty twenty-seven'],
    ['£5.50 and $5', 'five pounds and fifty pence and five US dollars'],
    ['1,234', 'one thousand two hundred and thirty-four'],
  ],
  'de-DE': [
    ['1. Januar', 'erster Januar'], ['31. Juni'], ['3. Mai 2027', 'dritter Mai zweitausendsiebenundzwanzig'],
    ['3.5.2027', 'dritter Mai zweitausendsiebenundzwanzig'], ['12.13.2027'],
    ['um 7.30 Uhr', 'um sieben Uhr dreißig'], ['um 8:05 Uhr', 'um acht Uhr fünf'],
    ['1.000', 'eintausend'], ['1,50 €', 'ein Euro und fünfzig Cent'], ['1 Euro'], ['1 kg', '1 Kilogramm'], ['21 km', '21 Kilometer'],
    ['11', 'elf'], ['0,5 %', 'null komma fünf Prozent'], ['5,555 €', 'fünf komma fünf fünf fünf Euro'],
    ['030/1234567', 'null drei null, eins zwei drei vier fünf sechs sieben'], ['z.B. so', 'zum Beispiel so'],
  ],
  'fr-FR': [
    ['14h', 'quatorze heures'], ['14 h 05', 'quatorze heures cinq'], ['24h'],
    ['1 234 567', 'un million deux cent trente-quatre mille cinq cent soixante-sept'],
    ['1er mai', 'premier mai'], ['2 mai 2027', 'deux mai deux mille vingt-sept'], ['5 $', 'cinq dollars des États-Unis'],
  ],
  'es-ES': [
    ['1 de enero de 2027', 'uno de enero de dos mil veintisiete'],
    ['1.234,56 €', 'mil doscientos treinta y cuatro euros con cincuenta y seis céntimos'],
    ['$5,25', 'cinco dólares estadounidenses con veinticinco'], ['20 km/h', 'veinte kilómetros por hora'],
  ],
  'it-IT': [['1º maggio', 'primo maggio'], ['5,50 $', 'cinque dollari statunitensi e cinquanta']],
  'pt-BR': [['R$ 5,50', 'cinco Reais brasileiros e cinquenta'], ['US$ 3,10', 'três Dólares americanos e dez']],
  'nl-NL': [['€ 5,50', 'vijf euro en vijftig cent'], ['$ 5,50', 'vijf Amerikaanse dollar vijftig']],
  'pl-PL': [['5,50 zł', 'pięć złotych pięćdziesiąt groszy'], ['3 maja 2027', 'trzeciego maja dwa tysiące dwadzieścia siedem'], ['1 km', '1 kilometr']],
  'tr-TR': [['₺5,50', 'beş lira elli kuruş'], ['3 Mayıs 2027', 'üç Mayıs iki bin yirmi yedi']],
  'hi-IN': [['₹5.50', 'पाँच रुपये पचास पैसे'], ['3 मई 2027', 'तीन मई दो हज़ार सत्ताईस']],
};

for (const [language, cases] of Object.entries(CASES))
  void t.test(`${language}: what looks like a date, a price or a number is one, or is left alone`, (t) => {
    for (const [written, spoken = written] of cases)
      t.equal(spokenForm(language, plain)(written).text, spoken, written);
    t.end();
  });

void t.test('what was changed is one unit with what stands close to it', (t) => {
  const units = (text: string) =>
    spokenForm('en-US', plain)(text).units?.map(({ written, spoken }) => [written, spoken]);
  t.same(units('Pay ($5) now, at 7 pm.'), [
    ['Pay', 'Pay'],
    ['($5)', '(five dollars)'],
    ['now,', 'now,'],
    ['at', 'at'],
    ['7 pm.', 'seven PM.'],
  ]);
  t.equal(units('nothing to change'), undefined);
  const silent = spokenForm('en-US', { normalize_text: false, pronunciations: [{ word: 'hm', say: ' ' }] });
  t.same(silent('Well, hm.'), {
    text: 'Well,',
    units: [
      { written: 'Well,', spoken: 'Well,' },
      { written: 'hm.', spoken: '' },
    ],
  });
  t.end();
});

void t.test('a pronunciation is for whole words, with any sign in them', (t) => {
  const say = (text: string, ...words: [string, string][]) =>
    spokenForm('ja-JP', {
      normalize_text: true,
      pronunciations: words.map(([word, say]) => ({ word, say })),
    })(text).text;
  t.equal(say('API, API2, xAPI and api', ['API', 'A P I']), 'A P I, API2, xAPI and api');
  t.equal(say('a.b, axb and A.B', ['a.b', 'ab']), 'ab, axb and ab');
  t.equal(say('one two', [' one ', ' 1 '], ['two', 'one']), '1 one', 'what was changed is not changed again');
  t.end();
});

const words = (...list: [text: string, startMs: number, endMs: number][]) =>
  list.map(([text, startMs, endMs]) => ({ text, startMs, endMs }));
const changed: SpokenText = {
  text: 'five dollars now',
  units: [
    { written: '$5', spoken: 'five dollars' },
    { written: '(!)', spoken: '' },
    { written: 'now', spoken: 'now' },
  ],
};

void t.test('a written word has the time of all its spoken ones', (t) => {
  const written = new WrittenWords();
  written.add(changed);
  t.same(written.take(words(['five', 0, 10])), [], 'it is not whole yet');
  t.same(written.take(words(['dollars', 10, 20])), [
    { text: '$5', startMs: 0, endMs: 20 },
    { text: '(!)', startMs: 20, endMs: 20, estimated: true },
  ]);
  t.same(written.take([{ text: 'now', startMs: 20, endMs: 30, estimated: true }]), [
    { text: 'now', startMs: 20, endMs: 30, estimated: true },
  ]);
  t.same(written.take(words(['more', 30, 40])), [], 'what nobody has written is none');
  t.same(written.finish(), []);
  const several = new WrittenWords();
  several.add(changed);
  t.same(
    several.take(words(['five dollars now', 0, 30])).map(({ text }) => text),
    ['$5', '(!)', 'now'],
  );
  t.end();
});

void t.test('what a voice has not told of was spoken, too', (t) => {
  const written = new WrittenWords();
  written.add(changed);
  written.take(words(['five', 0, 10]));
  t.same(written.finish(), [
    { text: '$5', startMs: 10, endMs: 10, estimated: true },
    { text: '(!)', startMs: 10, endMs: 10, estimated: true },
    { text: 'now', startMs: 10, endMs: 10, estimated: true },
  ]);
  t.same(written.finish(), [], 'once');
  const silent = new WrittenWords();
  silent.add(changed);
  t.same(silent.finish(), [], 'a voice that tells no times tells none here');
  t.end();
});

void t.test('words that are spoken as they are written are those of the voice', (t) => {
  const written = new WrittenWords();
  written.add({ text: 'one two', units: undefined });
  const told = words(['One', 0, 10]);
  t.equal(written.take(told), told);
  written.add(changed);
  t.same(
    written.take(words(['two', 10, 20], ['five', 20, 30], ['dollars', 30, 40])).map(({ text }) => text),
    ['two', '$5', '(!)'],
    'from the first change on, the written ones',
  );
  const plainly = new WrittenWords();
  plainly.add({ text: 'one', units: undefined });
  plainly.take(words(['one', 0, 10]));
  t.same(plainly.finish(), []);
  t.end();
});

void t.test('another voice goes on with the words that were not spoken', (t) => {
  const after = (left: number, ...next: [string, number, number][]) => {
    const written = new WrittenWords();
    written.add(changed);
    written.resume(left);
    return written.take(words(...next)).map(({ text }) => text);
  };
  t.same(after(3, ['five', 0, 1], ['dollars', 1, 2]), ['$5', '(!)']);
  t.same(after(2, ['dollars', 0, 1]), ['$5', '(!)'], 'in the middle of one');
  t.same(after(1, ['now', 0, 1]), ['(!)', 'now']);
  t.same(after(0, ['now', 0, 1]), []);
  t.same(after(9, ['five', 0, 1], ['dollars', 1, 2]), ['$5', '(!)']);
  t.end();
});
