import { stat, glob } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';
import { cachedBundle } from './bundle-cache.ts';
import { contentType } from './console-files.ts';
import type { ConsoleFile, ConsoleFiles } from './console-files.ts';
import { directImports } from './direct-imports.ts';
import { preparation } from './prepare-console.ts';
import { sharedChunks } from './shared-chunks.ts';

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url));
const ENTRY = path.join(SOURCES, 'main.tsx');
const SHARED = { sources: SOURCES, frame: 'app/router.tsx', common: 'components/common.ts' };
/** Whoever asks waits this long for a bundle that is being made already. */
const PREPARED_WITHIN_MS = 10_000;
const compress = promisify(gzip);

/** Packages of which there may be one only: what else is installed may bring another version to where npm looks first. */
const SINGLE = ['react', 'react-dom'];

export interface Bundle extends ConsoleFiles {
  metafile: Metafile;
}

/** Bundles the console's sources in memory. */
export async function bundleConsole(): Promise<Bundle> {
  const esbuild = await import('esbuild');
  const packages = createRequire(import.meta.url);
  const common: BuildOptions & { write: false } = {
    bundle: true,
    format: 'esm',
    write: false,
    minify: true,
    jsx: 'automatic',
    target: 'es2022',
    outdir: path.join(SOURCES, '../dist'),
    alias: Object.fromEntries(
      SINGLE.map((name) => [name, path.dirname(packages.resolve(`${name}/package.json`))]),
    ),
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'silent',
  };
  const scriptAddresses: Plugin = {
    name: 'scripts-by-address',
    setup(build) {
      build.onResolve({ filter: /\.ts\?url$/ }, ({ path: name, resolveDir }) => ({
        path: path.join(resolveDir, name.replace(/\.ts\?url$/, '.js')),
        namespace: 'script-address',
      }));
      build.onLoad({ filter: /.*/, namespace: 'script-address' }, async ({ path: name }) => {
        const source = name.replace(/\.js$/, '.ts');
        const { outputFiles } = await esbuild.build({ ...common, entryPoints: [source] });
        return { contents: outputFiles[0]!.contents, loader: 'file', watchFiles: [source] };
      });
    },
  };
  const { outputFiles, metafile } = await esbuild.build({
    ...common,
    entryPoints: [ENTRY],
    splitting: true,
    metafile: true,
    publicPath: '/assets/',
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'file', '.png': 'file', '.woff2': 'file' },
    plugins: [scriptAddresses, sharedChunks(SHARED), directImports()],
  });
  const files = new Map<string, ConsoleFile>();
  await Promise.all(
    outputFiles.map(async ({ path: file, contents }) => {
      const bytes = Buffer.from(contents.buffer, contents.byteOffset, contents.byteLength);
      const name = path.basename(file);
      files.set(name, { type: contentType(name), bytes, gzip: await compress(bytes) });
    }),
  );
  return { files, metafile, ...firstView(metafile) };
}

/** What the page loads before it shows anything. */
function firstView({ outputs }: Metafile): Pick<ConsoleFiles, 'script' | 'preloads' | 'styles'> {
  const [entry] =
    Object.entries(outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx')) ?? [];
  if (entry === undefined) throw new Error('The bundle has no entry.');
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { path: next, kind, external } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement' && external !== true) visit(next);
  };
  visit(entry);
  const { cssBundle } = outputs[entry]!;
  return {
    script: path.basename(entry),
    preloads: [...seen].slice(1).map((file) => path.basename(file)),
    styles: cssBundle === undefined ? [] : [path.basename(cssBundle)],
  };
}

/** Bytes of the first view as they are sent. */
export function firstViewBytes({ files, script, preloads, styles }: ConsoleFiles): number {
  return [script, ...preloads, ...styles].reduce((sum, name) => sum + files.get(name)!.gzip.length, 0);
}

/** The bundle, made when it is first asked for unless it is known, and again when a source has changed since. */
export function openBundler(): { files(): Promise<ConsoleFiles> } {
  let made: { state: string; bundle: Promise<ConsoleFiles> } | undefined;
  return {
    async files() {
      const state = await stateOfSources();
      if (made?.state === state) return made.bundle;
      const bundle = preparation(PREPARED_WITHIN_MS).then(() => cachedBundle(bundleConsole));
      made = { state, bundle };
      // A mistake in the sources is told to whoever asked, and tried again.
      bundle.catch(() => {
        if (made?.bundle === bundle) made = undefined;
      });
      return bundle;
    },
  };
}

async function stateOfSources(): Promise<string> {
  let newest = 0;
  let count = 0;
  for await (const file of glob('**/*.{ts,tsx,css,svg}', { cwd: SOURCES })) {
    if (file.endsWith('.test.ts') || file.endsWith('.d.ts')) continue;
    const { mtimeMs } = await stat(path.join(SOURCES, file));
    newest = Math.max(newest, mtimeMs);
    count += 1;
  }
  return `${count} ${newest}`;
}
