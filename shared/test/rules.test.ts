import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { titlesOf } from './fixtures/test-titles.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const TESTS =
  '{control-plane,media-gateway,shared,loadtest,embedded,emulators}/**/*.{test,long,conformance}.ts';

/** `file rule 1: title` of all tests that docs/rules.md names. */
function listed(): { rules: string[]; tests: string[] } {
  const rules: string[] = [];
  const tests: string[] = [];
  for (const line of readFileSync(path.join(root, 'docs/rules.md'), 'utf8').split('\n')) {
    const [, number, , cell = ''] = /^\| (\d+)\s*\| (.*?)\s*\| (\[.*?)\s*\|$/.exec(line) ?? [];
    if (number === undefined) continue;
    rules.push(number);
    for (const one of cell.split('<br>')) {
      const [, file, title] = /^\[[^\]]+\]\(\.\.\/([^)]+)\): (.+)$/.exec(one) ?? [];
      tests.push(`${file} rule ${number}: ${title?.replaceAll('\\_', '_').replaceAll('\\|', '|')}`);
    }
  }
  return { rules, tests };
}

void t.test('every rule of a call has tests with its number, and every such test is listed', (t) => {
  const { rules, tests } = listed();
  t.same(
    rules,
    rules.map((_, at) => String(at + 1)),
    'they are numbered in their order',
  );
  t.ok(rules.length >= 37, `${rules.length} rules`);
  const found = globSync(TESTS, { cwd: root, exclude: (name) => name.endsWith('node_modules') })
    .flatMap((file) => [...(titlesOf(root, file) ?? [])].map((title) => `${file} ${title}`))
    .filter((test) => /^\S+ rule \d+: /.test(test));
  t.same(tests.toSorted(), found.sort());
  t.end();
});
