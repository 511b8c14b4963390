import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const complaint = createRequire(import.meta.url)('../check-node.cjs') as (
  version: string,
) => string | undefined;

void t.test('a Node that cannot read the sources says what is needed, and how to have it', async (t) => {
  for (const old of ['16.20.2', '20.19.2', '22.6.0', '22.18.0'])
    t.match(
      complaint(old),
      new RegExp(`^Parley needs Node 22\\.19 or newer, and this is Node ${old}\\.\\n.*npx -y -p node@22`),
    );
  for (const fit of ['22.19.0', '22.23.3', '23.0.0', '26.1.0']) t.equal(complaint(fit), undefined, fit);
});

void t.test('the commands that people type ask first', async (t) => {
  const file = fileURLToPath(new URL('../../package.json', import.meta.url));
  const { scripts } = JSON.parse(readFileSync(file, 'utf8')) as { scripts: Record<string, string> };
  for (const name of ['start', 'dev', 'test', 'call'])
    t.match(scripts[name], / --require \.\/shared\/check-node\.cjs /, name);
});
