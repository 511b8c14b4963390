import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { ALTERNATING, isRun } from './suite/alternating.ts';
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

void t.test('a file run alone has the time that the suite gives it', async (t) => {
  const file = t.testdir({
    'x.test.ts': `import t from 'tap';\nt.comment(t.options.timeout);\nt.pass('ran');\n`,
  });
  const limit = async (env: Record<string, string>) => {
    const { TAP_TIMEOUT: _own, ...others } = process.env;
    const args = ['run', '--silent', 'test:file', path.join(file, 'x.test.ts')];
    const { stdout } = await run('npm', args, { cwd: ROOT, env: { ...others, ...env } });
    return Number(/^# (\d+)$/m.exec(stdout)?.[1]);
  };
  const suite = await readFile(path.join(ROOT, 'shared/test/suite/several-files.ts'), 'utf8');
  const given = /^const FILE_TIMEOUT_MS = ([\d_]+);$/m.exec(suite)![1]!;
  t.equal(await limit({}), Number(given.replaceAll('_', '')));
  t.equal(await limit({ TAP_TIMEOUT: '7' }), 7000, 'or what one asks for');
});

void t.test('each long file is in one of the sets, and the long run has all of them', async (t) => {
  const { scripts } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const all = scripts['test:long']!.split(' ');
  const runs = (file: string) => ALTERNATING.map((_, set) => isRun(file, set)).filter(Boolean).length;
  for (const file of ALTERNATING.flat()) {
    t.ok(existsSync(path.join(ROOT, file)), file);
    t.ok(all.includes(file), `npm run test:long has ${file}`);
    t.equal(runs(file), 1, `${file} is in one of them`);
  }
  t.equal(runs('shared/test/test-path.test.ts'), ALTERNATING.length, 'others are in all');
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
