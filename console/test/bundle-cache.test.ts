import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { cachedBundle, hashOfInputs } from '../build/bundle-cache.ts';
import type { ConsoleFiles } from '../build/console-files.ts';
import { preparation, prepareConsole } from '../build/prepare-console.ts';

/** A bundler that counts how often it is asked. */
function bundler(text = 'let a = 1;') {
  let made = 0;
  const make = (): Promise<ConsoleFiles> => {
    made += 1;
    const bytes = Buffer.from(text);
    const file = { type: 'text/javascript; charset=utf-8', bytes, gzip: bytes };
    return Promise.resolve({
      files: new Map([['main-A.js', file]]),
      ...{ script: 'main-A.js', preloads: [], styles: [] },
    });
  };
  return { make, made: () => made };
}

void t.test('a bundle is made once for the same inputs', async (t) => {
  const folder = path.join(t.testdir(), 'cache');
  const { make, made } = bundler();
  await cachedBundle(make, { folder, key: 'one' });
  const again = await cachedBundle(make, { folder, key: 'one' });
  t.equal(made(), 1);
  t.match(again, { script: 'main-A.js', preloads: [], styles: [] });
  t.equal(again.files.get('main-A.js')!.bytes.toString(), 'let a = 1;');
  for (const key of ['two', 'three', 'four']) await cachedBundle(make, { folder, key });
  t.equal(made(), 4, 'other inputs, another bundle');
  t.equal((await readdir(folder)).length, 3, 'few are kept');
});

void t.test('what was written in part, or cannot be written, is made again', async (t) => {
  const folder = t.testdir({ one: { 'files.json': '{"names":["gone.js"]}' }, file: '' });
  const { make, made } = bundler();
  t.equal((await cachedBundle(make, { folder, key: 'one' })).script, 'main-A.js');
  await cachedBundle(make, { folder, key: 'one' });
  t.equal(made(), 1, 'and is whole from then on');
  t.equal((await cachedBundle(make, { folder: path.join(folder, 'file'), key: 'one' })).script, 'main-A.js');
  t.equal(made(), 2);
});

void t.test('the hash is that of the sources and of the installed versions, and of no test', async (t) => {
  const root = t.testdir({
    console: { src: { 'main.tsx': 'a', 'main.test.ts': 'a' }, build: {} },
    shared: { src: { audio: { 'wav.ts': 'a' } } },
    'package-lock.json': '{}',
  });
  const first = await hashOfInputs(root);
  await writeFile(path.join(root, 'console/src/main.test.ts'), 'b');
  t.equal(await hashOfInputs(root), first);
  const seen = new Set([first]);
  for (const name of [
    'console/src/main.tsx',
    'shared/src/audio/wav.ts',
    'package-lock.json',
    'console/src/new.css',
  ]) {
    await writeFile(path.join(root, name), 'b');
    seen.add(await hashOfInputs(root));
  }
  t.equal(seen.size, 5);
});

void t.test('what is being made already is waited for, and not for ever', async (t) => {
  const folder = t.testdir({
    'child.mjs': `import { existsSync } from 'node:fs';
      const { pathname } = new URL('go', import.meta.url);
      setInterval(() => existsSync(pathname) && process.exit(), 10);`,
  });
  await preparation(60_000);
  const over = prepareConsole(new AbortController().signal, path.join(folder, 'child.mjs'));
  await preparation(1);
  let waited = false;
  const asked = preparation(60_000).then(() => (waited = true));
  await new Promise(setImmediate);
  t.notOk(waited, 'whoever asks waits');
  await writeFile(path.join(folder, 'go'), '');
  await Promise.all([over, asked]);
  await preparation(60_000);
});
