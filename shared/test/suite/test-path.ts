import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { testsOf } from './tests-of.ts';

// `npm run test:path -- <path> …`: the tests that a change of these files or folders concerns, one after the other.

const FILE_TIMEOUT_SECONDS = '300';
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

// A reader that has enough (`… --list shared | head`) is no failure; nobody reads what would be run after it.
process.stdout.on('error', () => process.exit(list ? 0 : 1));
const [option, ...rest] = process.argv.slice(2);
const list = option === '--list';
const paths = list ? rest : process.argv.slice(2);
if (paths.length === 0) {
  process.stderr.write('Name a file or a folder: npm run test:path -- [--list] media-gateway/src/call\n');
  process.exit(2);
}
const files = testsOf(ROOT, paths);
if (files.length === 0) {
  process.stderr.write(`No test lies in or imports ${paths.join(', ')}.\n`);
  process.exit(2);
}
const failed: string[] = [];
for (const file of files) {
  process.stdout.write(`${file}\n`);
  if (list) continue;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, TAP_TIMEOUT: process.env['TAP_TIMEOUT'] ?? FILE_TIMEOUT_SECONDS },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) failed.push(file);
}
if (!list) process.stdout.write(`\n${files.length - failed.length} of ${files.length} test files passed\n`);
for (const file of failed) process.stdout.write(`failed: ${file}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;
