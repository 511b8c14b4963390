import t from 'tap';
import { emptyPlan, problemOf, requestOf, sentencesOf } from './campaign-plan.ts';
import { columnNames, previewCsv, problemOfColumns, readCsv, renamed } from './csv-preview.ts';

const plan = { ...emptyPlan('Europe/Berlin'), name: ' Renewals ', agentId: 'agt_1' };
const known = { agent: 'Lakeside', numbers: ['+1', '+2'], people: 'Nobody yet.', currency: 'USD' };

void t.test('a plan becomes what the API is asked for', async (t) => {
  t.match(requestOf({ ...plan, startAt: '2026-07-01T09:30', maxCost: '25' }), {
    name: 'Renewals',
    start_at: '2026-07-01T07:30:00.000Z',
    end_at: null,
    calling_hours: { timezone: 'Europe/Berlin', use_contact_timezone: true },
    retry: { max_attempts: 3, delays_minutes: [30, 120] },
    max_cost_amount: '25',
  });
  t.equal(requestOf({ ...plan, hasHours: false }).calling_hours, null);
});

void t.test('a step tells what is missing', async (t) => {
  t.equal(problemOf({ ...plan, agentId: null }, 0), 'Choose the agent that calls.');
  t.equal(problemOf(plan, 2), null);
  t.match(problemOf({ ...plan, windows: [{ days: ['mon'], start: '18:00', end: '09:00' }] }, 2), /later/);
  t.match(problemOf({ ...plan, startAt: '2026-02-01T09:00', endAt: '2026-01-01T09:00' }, 2), /later/);
  for (const delays of ['', 'soon', '30, soon', '0', '1.5', '10081'])
    t.match(problemOf({ ...plan, delays }, 3), /minutes/, delays);
  t.equal(problemOf({ ...plan, delays: '30; 10080' }, 3), null);
  t.match(problemOf({ ...plan, maxCost: 'much' }, 3), /amount/);
});

void t.test('the review says what will happen', async (t) => {
  const text = sentencesOf({ ...plan, maxCost: '25', delays: '45, 1440' }, known).join('\n');
  for (const sentence of [
    'Lakeside calls, from +1 or +2.',
    'Calls are made Mon–Fri from 09:00 to 18:00, by the clock of the person called; where that is not known, of Europe/Berlin.',
    'Whoever does not answer, is busy or cannot be reached is called again, 45 minutes then a day later: 3 attempts at most.',
    'It pauses by itself once its calls cost 25 USD.',
  ])
    t.ok(text.includes(sentence), sentence);
  t.match(
    sentencesOf({ ...plan, maxCost: '25' }, { ...known, currency: '' }).join(),
    'once its calls cost 25.,',
    'whoever may not see the wallet',
  );
  t.match(sentencesOf({ ...plan, maxAttempts: 1 }, known).join(), 'Everybody is called once.');
});

void t.test('a file is shown before it is sent, as the server reads it', async (t) => {
  const text =
    '\uFEFFName;Phone;Policy No.;;\n"Ada; ""L""";+14155550100;A-1;x;\n\nBob;+14155550101;"two\nlines";;\n';
  const preview = previewCsv(text);
  t.same(preview.uses, ['name', 'number', 'variable', 'none', 'none']);
  t.same(columnNames(preview.header, preview.uses), ['name', 'phone_number', 'policy_no_', '', '']);
  t.same(preview.rows, [
    ['Ada; "L"', '+14155550100', 'A-1', 'x', ''],
    ['Bob', '+14155550101', 'two\nlines', '', ''],
  ]);
  const problemOfFile = (content: string) => {
    const { header, uses } = previewCsv(content);
    return problemOfColumns(header, uses);
  };
  t.equal(problemOfFile(text), null);
  t.match(problemOfFile('name\nAda'), /which column has the telephone numbers/);
  t.match(problemOfFile('phone,a,A\n'), /the name a\. Leave/);
  t.match(problemOfFile(''), /empty/);
  t.same(readCsv('"a,b,c";d\n1;2', 9)[1], ['1', '2'], 'commas within quotes separate nothing');
  t.same(readCsv('a,b\r\n1,2', 9), [
    ['a', 'b'],
    ['1', '2'],
  ]);
});

void t.test('columns become what somebody chose, and the rows stay as they were', async (t) => {
  const header = ['Client', 'Name', 'Tel.', 'Phone', ''];
  const uses = ['name', 'variable', 'number', 'variable', 'variable'] as const;
  t.same(columnNames(header, uses), ['name', 'own_name', 'phone_number', 'own_phone', 'column_5']);
  t.equal(problemOfColumns(header, uses), null);
  t.match(problemOfColumns(header, uses.with(3, 'number')), /Two columns are the number/);
  t.match(problemOfColumns(header, uses.with(1, 'name')), /Two columns are the name/);

  const rows = '"Ada; ""L""";x;+14155550100;1;\r\nBj\u00f6rn;"two\nlines";+1;2;3\r\n';
  const texts: [what: string, before: string, head: string][] = [
    ['plain', '', 'Client;Name;Tel.;Phone;'],
    ['with a mark and lines that are empty', '\uFEFF\r\n', 'Client;Name;Tel.;Phone;'],
    ['with quotes', '', '"Cl\u00efent\n(full)";Name;"Tel.;";Phone;'],
  ];
  for (const [what, before, head] of texts) {
    const text = `${before}${head}\r\n${rows}`;
    const be = Buffer.from(`\uFEFF${text.replace(/^\uFEFF/, '')}`, 'utf16le').swap16();
    for (const bytes of [Buffer.from(text), Buffer.from(be), Buffer.from(be).swap16()]) {
      const sent = renamed(new Blob([bytes]), new Uint8Array(bytes), header, uses);
      const label = bytes[0] === 0xff ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8';
      t.equal(
        new TextDecoder(label).decode(await sent.arrayBuffer()),
        `name;own_name;phone_number;own_phone;column_5\r\n${rows}`,
        `${what}, ${label}`,
      );
    }
  }
});
