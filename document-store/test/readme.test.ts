import { readFile } from 'node:fs/promises';
import t from 'tap';
import { withSupported } from '../src/supported.ts';

void t.test('the README says what the code has', async (t) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  t.equal(withSupported(readme), readme, 'else: npm run readme --workspace @parley/document-store');
  t.match(readme, /`findAndModify`.*\n[^]*`\$elemMatch`[^]*stage `\$group`[^]*accumulator `\$sum`/);
  t.throws(() => withSupported('# no place'), /no lines/);
});
