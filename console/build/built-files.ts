import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { contentType } from './console-files.ts';
import type { ConsoleFile, ConsoleFiles } from './console-files.ts';

/** Where an image has the bundle, which it was made with. */
const FOLDER = fileURLToPath(new URL('../dist/', import.meta.url));
const LIST = 'files.json';

interface List extends Pick<ConsoleFiles, 'script' | 'preloads' | 'styles'> {
  names: string[];
}

/** Writes a bundle for `readBuiltFiles`. */
export async function writeBuiltFiles(
  { files, script, preloads, styles }: ConsoleFiles,
  folder = FOLDER,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [name, { bytes }] of files) await writeFile(path.join(folder, name), bytes);
  const list: List = { names: [...files.keys()], script, preloads: [...preloads], styles: [...styles] };
  await writeFile(path.join(folder, LIST), JSON.stringify(list));
}

/** Whether the bundle of an image is there. */
export function hasBuiltFiles(): boolean {
  return existsSync(path.join(FOLDER, LIST));
}

/** @returns undefined where no bundle was written: the sources are there instead */
export async function readBuiltFiles(folder = FOLDER): Promise<ConsoleFiles | undefined> {
  const text = await readFile(path.join(folder, LIST), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const { names, ...rest } = JSON.parse(text) as List;
  const files = new Map<string, ConsoleFile>();
  for (const name of names) {
    const bytes = await readFile(path.join(folder, name));
    files.set(name, { type: contentType(name), bytes, gzip: await promisify(gzip)(bytes) });
  }
  return { files, ...rest };
}
