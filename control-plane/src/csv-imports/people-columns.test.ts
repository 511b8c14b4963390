import t from 'tap';
import { BadCsvError } from './csv-records.ts';
import { countryCode, peopleColumns, toE164 } from './people-columns.ts';

void t.test('columns are known by their names, and every other one is a variable', async (t) => {
  const columns = peopleColumns(['Mobile', 'Name', 'Phone', 'First Order?', 'Größe', 'Timezone', '']);
  t.same(columns.variables, ['mobile', 'first_order_', 'größe'], '`phone` comes before `mobile`');
  t.same(columns.read([' 1 ', ' Asha ', '+1 (415) 555-0100', 'tea', '', 'Asia/Kolkata', 'x']), {
    person: {
      phone_number: '+14155550100',
      valid: true,
      name: 'Asha',
      external_id: null,
      timezone: 'Asia/Kolkata',
      variables: { mobile: ' 1 ', first_order_: 'tea' },
    },
  });
});

void t.test('all that is wrong with a record is told', async (t) => {
  const { read } = peopleColumns(['phone', 'name', 'timezone', 'note']);
  t.same(read(['', 'n'.repeat(201), 'Mars/Olympus', 'v'.repeat(4097)]), {
    problems: [
      { column: 'note', msg: 'is longer than 4096 characters' },
      { column: 'timezone', msg: 'is no IANA timezone such as Europe/Berlin' },
      { column: 'phone', msg: 'has no number' },
      { column: 'name', msg: 'is longer than 200 characters' },
    ],
  });
  t.same(read(['1', '2']), { problems: [{ column: '', msg: 'has 2 cells, and the header has 4' }] });
  t.match(read(['12', '', '', '']), { person: { phone_number: '12', valid: false } }, 'kept as it stands');
});

void t.test('a header without numbers, or with a name twice, is none', async (t) => {
  for (const header of [['name'], ['phone', 'a b', 'a-b'], ['phone', 'Name', 'name'], ['number', 'Number']])
    t.throws(() => peopleColumns(header), BadCsvError, header.join());
  t.throws(() => peopleColumns(['phone', ...Array.from({ length: 101 }, (_, n) => `v${n}`)]), BadCsvError);
  t.throws(() => peopleColumns(['phone', 'v'.repeat(65)]), BadCsvError);
});

void t.test('numbers are dialled as they are written, or of the country that is named', async (t) => {
  const cases: [text: string, country: string | undefined, number: string | undefined][] = [
    ['+91 98765 43210', undefined, '+919876543210'],
    ['098765 43210', 'IN', '+919876543210'],
    ['0049 30 123456', 'DE', '+4930123456'],
    ['(415) 555-0100', 'US', '+14155550100'],
    ['4155550100', undefined, undefined],
    ['+1415', undefined, undefined],
    ['+1 415 555 0100 ext. 7', undefined, undefined],
    ['call +14155550100', undefined, undefined],
    ['', 'IN', undefined],
  ];
  for (const [text, country, number] of cases) t.equal(toE164(text, country), number, `${text} ${country}`);
  t.equal(countryCode.parse('in'), 'IN');
  t.equal(countryCode.safeParse('XX').success, false);
});
