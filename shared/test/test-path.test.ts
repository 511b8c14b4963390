import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { testsOf } from './suite/tests-of.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TEST_PATH = fileURLToPath(new URL('suite/test-path.ts', import.meta.url));

void t.test('tests beside a path and those that import it, over other files and workspaces', (t) => {
  const root = t.testdir({
    shared: {
      src: {
        deep: { 'a.ts': '', 'a.test.ts': `import './a.ts';` },
        'b.ts': `export { a } from './deep/a.ts';`,
        'b.test.ts': `import { b } from './b.ts';`,
        'c.ts': '',
        'c.test.ts': `import './c.ts';\nimport fs from 'node:fs';`,
        'worker.ts': `import './c.ts';`,
        'host.ts': `new Worker(new URL('./worker.ts', import.meta.url));`,
      },
    },
    gateway: {
      src: { 'd.ts': `import { b } from '@parley/shared/b';` },
      test: {
        'd.test.ts': `const { d } = await import('../src/d.ts');`,
        'e.test.ts': `import { host } from '@parley/shared/host';`,
      },
    },
  });
  const a = ['gateway/test/d.test.ts', 'shared/src/b.test.ts', 'shared/src/deep/a.test.ts'];
  t.same(testsOf(root, ['shared/src/deep']), a);
  t.same(testsOf(root, ['shared/src/deep/a.ts']), a);
  t.same(testsOf(root, ['shared/src/c.ts']), ['gateway/test/e.test.ts', 'shared/src/c.test.ts']);
  t.same(testsOf(root, ['shared/src/deep/', 'gateway/test/e.test.ts']), [
    ...a.slice(0, 1),
    'gateway/test/e.test.ts',
    ...a.slice(1),
  ]);
  t.same(testsOf(root, ['shared/src/d']), [], 'a name that only begins like another is none of it');
  t.end();
});

void t.test('npm run test:path runs them', async (t) => {
  const npm = (...args: string[]) =>
    run('npm', ['run', '--silent', 'test:path', '--', ...args], { cwd: ROOT });
  const { stdout } = await npm('shared/src/json/is-subset.test.ts');
  t.match(stdout, /^shared\/src\/json\/is-subset\.test\.ts\n[^]*1 of 1 test files passed\n$/);
  const { stdout: listed } = await npm('--list', 'media-gateway/src/speech');
  t.match(listed, /^media-gateway\/src\/speech\/playout\.test\.ts$/m);
  const { stderr } = await run('sh', ['-c', `"${process.execPath}" "${TEST_PATH}" --list shared | true`], {
    cwd: ROOT,
  });
  t.notMatch(stderr, /EPIPE/, 'a reader that has seen enough');
  t.match(await npm('nowhere').catch((error: unknown) => error), { code: 2, stderr: /No test lies in/ });
});
