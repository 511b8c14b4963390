import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KEPT_LOGS_VARIABLE, searchKeptLogs } from '@parley/shared/logging/kept-logs';

// `npm test`: runs tap, then searches everything that was logged meanwhile, by every process and at every level, for
// tickets, tokens, keys and whatever else was secret in the run. Found ones fail it as a test would.

const MAX_SHOWN = 20;
const MAX_STDERR_SHOWN = 20_000;

const folder = mkdtempSync(path.join(tmpdir(), 'parley-tests-'));
const dir = path.join(folder, 'logs');
mkdirSync(dir);
const stderr = path.join(folder, 'stderr');
// What Node has made of a file once is kept for the processes after it: V8's part by Node, the rest by cached-modules.js.
const modules = path.join(folder, 'modules');
mkdirSync(modules);
try {
  const tap = createRequire(import.meta.url).resolve('tap/package.json');
  const child = spawn(
    process.execPath,
    [path.join(path.dirname(tap), 'dist/esm/run.mjs'), '--reporter=terse', ...process.argv.slice(2)],
    {
      stdio: 'inherit',
      env: {
        ...process.env,
        [KEPT_LOGS_VARIABLE]: dir,
        TEST_STDERR: stderr,
        TEST_MODULE_CACHE: modules,
        NODE_COMPILE_CACHE: path.join(folder, 'compiled'),
      },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0 && existsSync(stderr))
    process.stderr.write(
      `stderr of the tests, its end:\n${readFileSync(stderr, 'utf8').slice(-MAX_STDERR_SHOWN)}\n`,
    );
  const { leaks, lines, secrets } = searchKeptLogs(dir);
  for (const leak of leaks.slice(0, MAX_SHOWN))
    process.stderr.write(`${leak.what} was logged: ${leak.text.slice(0, 2000)}\n`);
  process.stdout.write(
    `logs of the run: ${lines} lines, ${secrets} secrets noted, ${leaks.length} found in them\n`,
  );
  process.exitCode = code !== 0 ? (code ?? 1) : leaks.length > 0 || lines === 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
