import { readFile } from 'node:fs/promises';
import t from 'tap';

const ROOT = new URL('../../', import.meta.url);
/** `path/to/file.test.ts`: its title, up to the next one or the end of the cell. */
const NAMED_TEST = /`([\w/.-]+\.(?:test|conformance)\.ts)`: ([^;|]+?)\s*(?=[;|])/g;

void t.test('every test that docs/closings.md names is there, by its title', async (t) => {
  const page = await readFile(new URL('docs/closings.md', ROOT), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('|') && !/^\| (what|---)/.test(line));
  t.ok(rows.length > 50);
  const named = new Set<string>();
  for (const row of rows) {
    const tests = [...row.matchAll(NAMED_TEST)];
    t.ok(tests.length > 0 || row.endsWith('| as above |'), row);
    for (const [, file, title] of tests) named.add(`${file}\n${title}`);
  }
  for (const reference of named) {
    const [file, title] = reference.split('\n') as [string, string];
    const source = await readFile(new URL(file, ROOT), 'utf8');
    t.ok(source.includes(title), `${file}: ${title}`);
  }
});
