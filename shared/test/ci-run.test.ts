import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const SCRIPT = fileURLToPath(new URL('../../.ci/run', import.meta.url));
const SUMMARY = '# { total: 12, pass: 11, fail: 0, skip: 1 }';

const cases: [what: string, printed: string, status: number, line: string, code: number][] = [
  ['all is well', SUMMARY, 0, '11 passed, 0 failed, 1 skipped', 0],
  [
    'a check before the tests fails',
    `check failed: lint\n${SUMMARY}`,
    0,
    '11 passed, 1 failed, 1 skipped',
    1,
  ],
  [
    'two checks and a test fail',
    `check failed: lint\ncheck failed: typecheck\n${SUMMARY.replace('fail: 0', 'fail: 3')}`,
    1,
    '11 passed, 5 failed, 1 skipped',
    1,
  ],
  ['something after the tests fails', SUMMARY, 1, '11 passed, 1 failed, 1 skipped', 1],
  ['nothing could be run', 'npm error', 1, '0 passed, 1 failed, 0 skipped', 1],
];

void t.test('the last line of a CI run counts failed checks as failed tests', (t) => {
  for (const [what, printed, status, line, code] of cases) {
    // The commands themselves are in the workflow of every change; here is what becomes of what they print.
    const bin = t.testdir({
      npx: `#!/bin/sh\ncat <<'END'\n${printed}\nEND\nexit ${status}\n`,
      // Somebody who may install nothing.
      id: '#!/bin/sh\necho 1000\n',
    });
    for (const name of ['npx', 'id']) chmodSync(path.join(bin, name), 0o755);
    const run = spawnSync('bash', [SCRIPT], {
      env: { PATH: `${bin}:/usr/bin:/bin` },
      encoding: 'utf8',
    });
    t.equal(run.stdout.trim().split('\n').at(-1), line, what);
    t.equal(run.status, code, what);
  }
  t.end();
});
