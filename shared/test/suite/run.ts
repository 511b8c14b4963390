import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { KEPT_LOGS_VARIABLE, searchKeptLogs } from '@parley/shared/logging/kept-logs';
import { ALTERNATING, SET_VARIABLE } from './alternating.ts';
import { failureText, Results, type Failure } from './results.ts';

// `npm test`: runs every file, tells what failed, then searches everything that was logged meanwhile, by every process
// and at every level, for tickets, tokens, keys and whatever else was secret in the run. Found ones fail it as a test would.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** What every test said, for whoever looks for more than is shown. */
const KEPT = '.tap/results.tap';
const NODE_ARGS = [
  '--disable-warning=ExperimentalWarning',
  '--import=./shared/test/suite/note-secrets.ts',
  '--import=./shared/test/suite/without-domains.ts',
];
/** Seconds, of a test file. */
const TAP_TIMEOUT = '300';
const MAX_SHOWN = 20;
const MAX_STDERR_SHOWN = 20_000;

const folder = mkdtempSync(path.join(tmpdir(), 'parley-tests-'));
const dir = path.join(folder, 'logs');
mkdirSync(dir);
const stderr = path.join(folder, 'stderr');
// What Node has made of a file once is kept for the processes after it: V8's part by Node, the rest by cached-modules.js.
const modules = path.join(folder, 'modules');
mkdirSync(modules);
mkdirSync(path.join(ROOT, '.tap'), { recursive: true });
const set = process.env[SET_VARIABLE] ?? String(randomInt(ALTERNATING.length));
process.stdout.write(
  `one of ${ALTERNATING.length} sets of long files: ${SET_VARIABLE}=${set} (all: npm run test:long)\n`,
);
const kept = createWriteStream(path.join(ROOT, KEPT));
try {
  const child = spawn(process.execPath, [...NODE_ARGS, path.join(import.meta.dirname, 'every-file.ts')], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      TAP_TIMEOUT,
      [SET_VARIABLE]: set,
      [KEPT_LOGS_VARIABLE]: dir,
      TEST_STDERR: stderr,
      TEST_MODULE_CACHE: modules,
      NODE_COMPILE_CACHE: path.join(folder, 'compiled'),
    },
  });
  const began = Date.now();
  const failures: Failure[] = [];
  const results = new Results({
    onFailure: (failure) => failures.push(failure),
    onGroup(name) {
      const { pass, fail } = results.counts;
      const seconds = String(Math.round((Date.now() - began) / 1000)).padStart(4);
      process.stdout.write(`${seconds} s  ${pass} passed, ${fail} failed  (${name})\n`);
      // At once, for who watches; all of them again at the end.
      for (const failure of failures.slice(shown)) process.stdout.write(`${failureText(failure)}\n`);
      shown = failures.length;
    },
  });
  let shown = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    results.write(chunk);
    kept.write(chunk);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const ok = results.end() && code === 0;
  if (!ok && existsSync(stderr))
    process.stderr.write(
      `stderr of the tests, its end:\n${readFileSync(stderr, 'utf8').slice(-MAX_STDERR_SHOWN)}\n`,
    );
  for (const [reason, count] of results.skipped) process.stdout.write(`${count} skipped: ${reason}\n`);
  for (const failure of failures) process.stdout.write(`${failureText(failure)}\n`);
  const { leaks, lines, secrets } = searchKeptLogs(dir);
  for (const leak of leaks.slice(0, MAX_SHOWN))
    process.stderr.write(`${leak.what} was logged: ${leak.text.slice(0, 2000)}\n`);
  process.stdout.write(
    `logs of the run: ${lines} lines, ${secrets} secrets noted, ${leaks.length} found in them\n`,
  );
  const { total, pass, fail, skip } = results.counts;
  process.stdout.write(`# { total: ${total}, pass: ${pass}, fail: ${fail}, skip: ${skip} }\n`);
  process.exitCode = ok && leaks.length === 0 && lines > 0 ? 0 : 1;
} finally {
  kept.end();
  rmSync(folder, { recursive: true, force: true });
}
