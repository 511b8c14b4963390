import path from 'node:path';
import type { Plugin } from 'esbuild';

const NAMESPACE = 'loaded-later';

export interface SharedFiles {
  sources: string;
  /** The frame of all pages, which names those outside of the sign-in. */
  frame: string;
  /** What most pages behind the sign-in are made of. */
  common: string;
}

/**
 * Few chunks. The bundler makes one for each set of entries that shares something, which with many pages are more than a
 * hundred small ones. Here each file that is loaded later also imports the frame, and most import what is common: all that
 * these import is one chunk each.
 */
export function sharedChunks({ sources, frame, common }: SharedFiles): Plugin {
  const isOutside = new Set<string>();
  return {
    name: 'shared-chunks',
    setup(build) {
      build.onResolve({ filter: /^\.\.?\// }, ({ kind, path: name, resolveDir, namespace, importer }) => {
        if (kind !== 'dynamic-import' || namespace !== 'file') return undefined;
        const file = path.join(resolveDir, name);
        if (importer === path.join(sources, frame)) isOutside.add(file);
        return { path: file, namespace: NAMESPACE };
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path: file }) => {
        const imports = isOutside.has(file) ? [frame] : [frame, common];
        const lines = imports.map((one) => `import ${JSON.stringify(path.join(sources, one))};\n`);
        return {
          contents: `${lines.join('')}export { default } from ${JSON.stringify(file)};`,
          resolveDir: sources,
        };
      });
    },
  };
}
