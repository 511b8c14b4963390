import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { csvLine } from '../exports/csv.ts';
import { MAX_RECORD_CHARACTERS, readCsv } from './csv-records.ts';

async function read(t: Test, file: string | Uint8Array): Promise<string[][]> {
  const path = join(t.testdir(), 'file.csv');
  await writeFile(path, file);
  const all: string[][] = [];
  for await (const cells of readCsv(path)) all.push(cells);
  return all;
}

void t.test('the header shows what separates cells', async (t) => {
  for (const [n, d] of [',', ';', '\t'].entries())
    await t.test(`delimiter ${n}`, async (t) =>
      t.same(await read(t, `a${d}b${d}c\r\n1${d}"2,5;3"${d}x\r\n`), [
        ['a', 'b', 'c'],
        ['1', '2,5;3', 'x'],
      ]),
    );
  t.same(await read(t, '"a;b",c\n1,2'), [
    ['a;b', 'c'],
    ['1', '2'],
  ]);
  t.same(await read(t, 'one\n1;2\n\n3'), [['one'], ['1;2'], ['3']]);
});

void t.test('text is UTF-8 or UTF-16, and nothing else', async (t) => {
  const text = 'näme,日本\r\nÄ,😀\r\n';
  const utf16le = Buffer.from(`\u{feff}${text}`, 'utf16le');
  for (const [n, file] of [text, `\u{feff}${text}`, utf16le, Buffer.from(utf16le).swap16()].entries())
    await t.test(`encoding ${n}`, async (t) =>
      t.same(await read(t, file), [
        ['näme', '日本'],
        ['Ä', '😀'],
      ]),
    );
  await t.rejects(read(t, Buffer.from([0x61, 0xff, 0x62])), { name: 'BadCsvError', message: /UTF-8/ });
});

void t.test('a stray quote is text, and its neighbours stay records', async (t) => {
  t.same(await read(t, 'a,b\n1,"two\nlines"\n3,"x"y\n4,o"k\n5,ok\n'), [
    ['a', 'b'],
    ['1', 'two\nlines'],
    ['3', '"x"y'],
    ['4', 'o"k'],
    ['5', 'ok'],
  ]);
});

void t.test('a quote that is not closed ends the reading, and takes no more than a record', async (t) => {
  await t.rejects(read(t, 'a,b\n1,2\n3,"x\n'), { message: 'Row 2 has a quote that is not closed.' });
  await t.rejects(read(t, `a,b\n1,2\n3,"${'x\n'.repeat(MAX_RECORD_CHARACTERS)}`), {
    message: /^Row 2 is longer than/,
  });
  await t.rejects(read(t, '"a\n'), { message: /^The header/ });
});

void t.test('what an export writes is read back', async (t) => {
  const cells = ['plain', 'a,b;c\td', 'say "x"', 'two\r\nlines', '', '-5'];
  const names = cells.map((_, n) => `c${n}`);
  t.same(await read(t, `\u{feff}${csvLine(names)}${csvLine(cells)}`), [names, cells]);
  t.same(await read(t, ''), []);
});
