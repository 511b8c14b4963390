import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { CARRIERS } from '@parley/shared/contracts/session-values';
import { loadSecrets } from './secrets.ts';

void t.test('a carrier that came later gets an account, and keeps it', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'parley-secrets-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'secrets.json');
  const first = loadSecrets(file);
  t.same(Object.keys(first.carriers), [...CARRIERS]);
  const [, ...others] = Object.entries(first.carriers);
  await writeFile(file, JSON.stringify({ ...first, carriers: Object.fromEntries(others) }));
  const second = loadSecrets(file);
  const newcomer = CARRIERS[0];
  t.not(JSON.stringify(second.carriers[newcomer]), JSON.stringify(first.carriers[newcomer]));
  t.same({ ...second.carriers, [newcomer]: first.carriers[newcomer] }, first.carriers, 'the others stay');
  t.same(loadSecrets(file), second);
  t.same(JSON.parse(await readFile(file, 'utf8')), second);
});
