import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const SOURCES = '*/{src,test}/**/*.ts';
const IMPORT = /(?:from|import|new URL)\s*\(?\s*'([^']+)'/g;
const OF_TYPES = /^(?:import|export) type [^;]*;/gm;

/**
 * The test files that a change of `paths` concerns: those which lie there, and those which import something from
 * there, over however many files. Imports by path, by workspace name (`@parley/shared/…`) and of worker threads count;
 * a program that a test only starts as a process does not.
 * @param root of the repository
 * @param paths files or folders, relative to it
 */
export function testsOf(root: string, paths: readonly string[]): string[] {
  const importers = importersOf(root);
  const wanted = paths.map((name) => path.relative(root, path.resolve(root, name)));
  const concerned = new Set(
    [...importers.keys()].filter((file) =>
      wanted.some((name) => file === name || file.startsWith(`${name}${path.sep}`)),
    ),
  );
  // A set goes on over what is added meanwhile.
  for (const file of concerned) for (const importer of importers.get(file)!) concerned.add(importer);
  return [...concerned].filter((file) => file.endsWith('.test.ts')).sort();
}

/** Each source and test of the repository, with the files that import it. */
export type Importers = ReadonlyMap<string, readonly string[]>;

/**
 * Reads who imports whom.
 * @param root of the repository
 * @param options.types whether `import type` counts
 */
export function importersOf(root: string, { types = true } = {}): Importers {
  const files = globSync(SOURCES, { cwd: root, exclude: (name) => name === 'node_modules' });
  const importers = new Map<string, string[]>(files.map((file) => [file, []]));
  for (const file of files) {
    const text = readFileSync(path.join(root, file), 'utf8');
    for (const [, specifier] of (types ? text : text.replaceAll(OF_TYPES, '')).matchAll(IMPORT)) {
      const target = resolve(root, file, specifier!);
      if (target !== undefined) importers.get(target)?.push(file);
    }
  }
  return importers;
}

/** @returns the file, relative to the root; undefined for packages and what Node brings */
function resolve(root: string, from: string, specifier: string): string | undefined {
  const workspace = /^@parley\/([^/]+)\/(.+)$/.exec(specifier);
  const file = workspace
    ? path.join(workspace[1]!, 'src', `${workspace[2]!}.ts`)
    : /\.ts$/.test(specifier)
      ? path.join(path.dirname(from), specifier)
      : undefined;
  return file !== undefined && existsSync(path.join(root, file)) ? file : undefined;
}
