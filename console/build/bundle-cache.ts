import { createHash } from 'node:crypto';
import { glob, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readBuiltFiles, writeBuiltFiles } from './built-files.ts';
import type { ConsoleFiles } from './console-files.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where tools of npm keep what they can make again. */
const FOLDER = path.join(ROOT, 'node_modules/.cache/parley-console');
/** All that a bundle is made of: the installed packages by their versions. */
const INPUTS = [
  'console/src/**/*.{ts,tsx,css,svg}',
  'console/build/*.ts',
  'shared/src/**/*.{ts,js}',
  'package-lock.json',
];
/** Bundles that are kept. */
const KEPT = 3;

/** The hash of all that a bundle is made of. */
export async function hashOfInputs(root = ROOT): Promise<string> {
  const names: string[] = [];
  for await (const name of glob(INPUTS, { cwd: root }))
    if (!/\.(test|conformance|d)\.ts$/.test(name)) names.push(name);
  const hash = createHash('sha256');
  for (const name of names.sort()) hash.update(`${name}\0`).update(await readFile(path.join(root, name)));
  return hash.digest('hex').slice(0, 32);
}

/**
 * A bundle that was made from the same inputs before, by any process; else a new one, which is kept. Where nothing can be
 * kept it is made each time.
 */
export async function cachedBundle(
  make: () => Promise<ConsoleFiles>,
  { folder = FOLDER, key }: { folder?: string; key?: string } = {},
): Promise<ConsoleFiles> {
  const home = path.join(folder, key ?? (await hashOfInputs()));
  const known = await readBuiltFiles(home).catch(() => undefined);
  if (known) return known;
  const bundle = await make();
  await keep(bundle, home).catch(() => undefined);
  return bundle;
}

/** Written beside its place first: others find it whole or not at all. */
async function keep(bundle: ConsoleFiles, home: string): Promise<void> {
  const draft = `${home}.${process.pid}`;
  try {
    await mkdir(path.dirname(home), { recursive: true });
    await writeBuiltFiles(bundle, draft);
    await rm(home, { recursive: true, force: true });
    await rename(draft, home);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  await removeOld(path.dirname(home));
}

async function removeOld(folder: string): Promise<void> {
  const homes = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const home = path.join(folder, name);
      return { home, at: (await stat(home)).mtimeMs };
    }),
  );
  homes.sort((a, b) => b.at - a.at);
  for (const { home } of homes.slice(KEPT)) await rm(home, { recursive: true, force: true });
}
