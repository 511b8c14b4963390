import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SEVERAL = fileURLToPath(new URL('suite/several-files.ts', import.meta.url));

void t.test('files that share a process: each failure is of the file that has it', async (t) => {
  const dir = t.testdir({
    'fine.test.ts': `import t from 'tap';\nt.teardown(() => t.comment('torn down'));\nvoid t.test('one', (t) => { t.pass('runs'); t.end(); });\n`,
    'wrong.test.ts': `import t from 'tap';\nt.equal(1, 2, 'one is two');\n`,
    'odd.test.ts': `import t from 'tap';\nprocess.env.ODD_NAME = 'x';\ndelete process.env.TEST_ODD;\nt.pass('runs');\n`,
    'even.test.ts': `import t from 'tap';\nt.same([process.env.ODD_NAME, process.env.TEST_ODD], [undefined, 'y'], 'as it was');\n`,
    'broken.test.ts': `import t from 'tap';\nimport './nowhere.ts';\nt.pass('never');\n`,
    'last.test.ts': `import t from 'tap';\nt.pass('it gets here');\nprocess.exit(0);\n`,
    'none.test.ts': `import t from 'tap';\nt.pass('never');\n`,
  });
  const name = (file: string) => path.relative(ROOT, path.join(dir, `${file}.test.ts`));
  const files = ['fine', 'wrong', 'odd', 'even', 'broken', 'last', 'none'].map(name);
  const running = path.join(dir, 'running');
  const env = { ...process.env, TEST_FILES: JSON.stringify(files), TEST_RUNNING: running, TEST_ODD: 'y' };
  const ended = await run(process.execPath, ['--disable-warning=ExperimentalWarning', SEVERAL], {
    env,
  }).catch((error: unknown) => error);
  const { code, stdout } = ended as { code: number; stdout: string };
  t.equal(code, 1, 'a file that ends the process fails it');
  t.equal(readFileSync(running, 'utf8'), name('last'), 'and is the one that is named');
  const results = stdout.match(/^(not )?ok .*$/gm)!.map((line) => line.replace(/ # time=.*/, ''));
  t.match(results, [
    `ok 1 - ${name('fine')}`,
    `not ok 2 - ${name('wrong')}`,
    `ok 3 - ${name('odd')}`,
    `ok 4 - ${name('even')}`,
    `not ok 5 - ${name('broken')}`,
  ]);
  t.match(stdout, /torn down[^]*# Subtest: .*wrong/, 'a file is over before the next one begins');
  t.notMatch(stdout, /- never/);

  const whole = { ...env, TEST_FILES: JSON.stringify([name('fine')]) };
  const { stdout: passed } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', SEVERAL], {
    env: whole,
  });
  t.match(passed, /^ok 1 /m);
  t.notOk(existsSync(running), 'none is left when all are over');
});
