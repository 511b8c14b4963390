import t from 'tap';
import { csvFile } from './csv.ts';

void t.test('rows become a file that spreadsheets read, and run nothing of', async (t) => {
  const file = csvFile([
    ['agent', 'calls'],
    ['=cmd|"/c calc"!A1', 12],
    [' \uff0bevil, "quoted"\n', -0.5],
    ['Asha', null],
  ]);
  const lines = [
    'agent,calls',
    `"'=cmd|""/c calc""!A1",12`,
    `"' \uff0bevil, ""quoted""\n",-0.5`,
    'Asha,',
    '',
  ];
  const bytes = Buffer.from(await file.arrayBuffer());
  t.equal(bytes.toString(), `\u{feff}${lines.join('\r\n')}`);
});
