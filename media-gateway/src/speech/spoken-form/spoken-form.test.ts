import t from 'tap';
import { spokenForm, WrittenWords } from './spoken-form.ts';

const plain = { normalize_text: true, pronunciations: [] };
const spoken = (language: string, text: string) => spokenForm(language, plain)(text).text;

const CASES: Readonly<Record<string, readonly (readonly [written: string, spoken: string])[]>> = {
  'en-US': [
    ['We have 1,234.5 left.', 'We have one thousand two hundred thirty-four point five left.'],
    ['That is $12.50, or €3.', 'That is twelve dollars and fifty cents, or three euros.'],
    ['It costs 20 USD.', 'It costs twenty dollars.'],
    ['On 2026-11-23 at 7:30 pm.', 'On November twenty-third twenty twenty-six at seven thirty PM.'],
    ['By 3/4/2027.', 'By March fourth twenty twenty-seven.'],
    ['May 3, 2009 is fine.', 'May third two thousand nine is fine.'],
    ['At 19:05 or 7:00?', "At seven oh five PM or seven o'clock?"],
    ['We open at 9 a.m. daily', 'We open at nine AM daily'],
    ['Call +1 (415) 555-0100.', 'Call plus one, four one five, five five five, zero one zero zero.'],
    ['Call 415-555-0100 now', 'Call four one five, five five five, zero one zero zero now'],
    ['Write to anna.smith@example.com!', 'Write to anna dot smith at example dot com!'],
    ['See https://www.example.com/help.', 'See w w w dot example dot com slash help.'],
    ['Your code is AB-12C.', 'Your code is A B, one two C.'],
    [
      'PIN 0042, order 123456789.',
      'PIN zero zero four two, order one two three four five six seven eight nine.',
    ],
    [
      'It is 20 °C, 5 km away, 50% off.',
      'It is twenty degrees Celsius, five kilometers away, fifty percent off.',
    ],
    ['The 21st, 3-5 people, in 1984.', 'The twenty-first, three to five people, in nineteen eighty-four.'],
    ['Dr. Lee & Co, e.g. today', 'Doctor Lee and Co, for example today'],
    ['COVID-19 and 24/7 stay.', 'COVID nineteen and 24/7 stay.'],
  ],
  'de-DE': [
    ['Das macht 12,50 €.', 'Das macht zwölf Euro und fünfzig Cent.'],
    [
      'Am 23.11.2026 um 19:30 Uhr.',
      'Am dreiundzwanzigsten November zweitausendsechsundzwanzig um neunzehn Uhr dreißig.',
    ],
    ['Es sind 1.234,5 km.', 'Es sind eintausendzweihundertvierunddreißig komma fünf Kilometer.'],
    ['Um 8 Uhr, z. B. am 3. Mai', 'Um acht Uhr, zum Beispiel am dritten Mai'],
    ['Rufen Sie 030 1234567 an', 'Rufen Sie null drei null, eins zwei drei vier fünf sechs sieben an'],
    ['1 Tisch', '1 Tisch'],
    ['20 USD', 'zwanzig US-Dollar'],
  ],
  'fr-FR': [
    [
      'Rendez-vous le 01/05/2026 à 7h30.',
      'Rendez-vous le premier mai deux mille vingt-six à sept heures trente.',
    ],
    ['Il reste 2 000 places à 12,50 €', 'Il reste deux mille places à douze euros et cinquante centimes'],
    ['Appelez le 06 12 34 56 78.', 'Appelez le zéro six, un deux, trois quatre, cinq six, sept huit.'],
  ],
  'es-ES': [
    ['El 5 de mayo a las 19:30.', 'El cinco de mayo a las diecinueve treinta.'],
    ['Son 12,50 € y 1.500 puntos', 'Son doce euros con cincuenta céntimos y mil quinientos puntos'],
    ['Escriba a ana@correo.es', 'Escriba a ana arroba correo punto es'],
  ],
  'it-IT': [['Alle 15:30 del 1 maggio: 12 €', 'Alle quindici e trenta del primo maggio: dodici euro']],
  'pt-BR': [['São 12% em 3 de maio, R$ 5', 'São doze por cento em três de maio, cinco Reais brasileiros']],
  'nl-NL': [['Om 19:30 uur, € 5, 20 km', 'Om negentien uur dertig, vijf euro, twintig kilometer']],
  'pl-PL': [
    [
      'O 19:30, 23 listopada, 5 zł',
      'O dziewiętnasta trzydzieści, dwudziestego trzeciego listopada, pięć złotych',
    ],
  ],
  'tr-TR': [['Saat 19:30, %50, 5 km', 'Saat on dokuz otuz, yüzde elli, beş kilometre']],
  'hi-IN': [['7:30 बजे, ₹12', 'सात बजकर तीस मिनट, बारह रुपये']],
};

for (const [language, cases] of Object.entries(CASES))
  void t.test(`${language}: what voices read badly is written out`, async (t) => {
    for (const [written, wanted] of cases) t.equal(spoken(language, written), wanted);
  });

void t.test(
  'a language without tables, and a text without anything to write out, stay as they are',
  async (t) => {
    t.same(spokenForm('ja-JP', plain)('3時に5人です。'), { text: '3時に5人です。', units: undefined });
    t.same(spokenForm('en-US', plain)('All right then.'), { text: 'All right then.', units: undefined });
    t.same(spokenForm('en-US', { ...plain, normalize_text: false })('$5'), { text: '$5', units: undefined });
  },
);

void t.test(
  'words with a pronunciation are whole words, and capitals count where there are some',
  async (t) => {
    const say = spokenForm('en-US', {
      normalize_text: true,
      pronunciations: [
        { word: 'SQL', say: 'sequel' },
        { word: 'nginx', say: 'engine x' },
        { word: 'C++', say: 'see plus plus' },
        { word: '7-Eleven', say: 'seven eleven' },
      ],
    });
    t.equal(
      say('SQL, sql, NGINX, nginxes, C++ and 7-Eleven at 7.').text,
      'sequel, sql, engine x, nginxes, see plus plus and seven eleven at seven.',
    );
  },
);

void t.test('what was heard is told in the words that are written', async (t) => {
  const words = new WrittenWords();
  const said = spokenForm('en-US', plain)('Pay $12.50 by 7:30 pm, please.');
  words.add(said);
  const timed = said.text.split(' ').map((text, i) => ({ text, startMs: i * 100, endMs: (i + 1) * 100 }));
  const written = [...words.take(timed.slice(0, 4)), ...words.take(timed.slice(4))];
  t.same(
    written.map(({ text, startMs, endMs }) => [text, startMs, endMs]),
    [
      ['Pay', 0, 100],
      ['$12.50', 100, 600],
      ['by', 600, 700],
      ['7:30 pm,', 700, 1000],
      ['please.', 1000, 1100],
    ],
  );
});

void t.test(
  'words that are not spoken go with those before them, and another voice goes on in the middle',
  async (t) => {
    const words = new WrittenWords();
    words.add(
      spokenForm('en-US', { ...plain, pronunciations: [{ word: 'hm', say: '' }] })(
        'Well hm I have 20 km to go',
      ),
    );
    const first = words.take([{ text: 'Well', startMs: 0, endMs: 10 }]);
    t.same(
      first.map(({ text }) => text),
      ['Well', 'hm'],
    );
    // The voice fails; the next one says "twenty kilometers to go".
    words.resume(4);
    const rest = words.take(
      ['twenty', 'kilometers', 'to', 'go'].map((text, i) => ({ text, startMs: i, endMs: i + 1 })),
    );
    t.same(
      rest.map(({ text }) => text),
      ['20 km', 'to', 'go'],
    );
  },
);
