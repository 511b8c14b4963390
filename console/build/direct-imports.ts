import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';

const LIBRARY = '@mantine/core';
const NAMED_IMPORT = /import\s*\{([^}]*)\}\s*from\s*(['"])@mantine\/core\2;?/g;

/**
 * Imports from the component library's index become imports of the component's own file. Where code is split, an index
 * puts each component that any page uses into what the first view loads.
 */
export function directImports(): Plugin {
  return {
    name: 'direct-imports',
    async setup(build) {
      const files = await filesByName();
      build.onLoad(
        { filter: /[\\/]console[\\/]src[\\/].*\.tsx?$|@mantine[\\/].*\.mjs$/ },
        async ({ path: file }) => {
          const source = await readFile(file, 'utf8');
          if (!source.includes(LIBRARY)) return undefined;
          const loader = file.endsWith('.tsx') ? 'tsx' : file.endsWith('.ts') ? 'ts' : 'js';
          return {
            contents: source.replaceAll(NAMED_IMPORT, (_, names: string) => split(names, files)),
            loader,
          };
        },
      );
    },
  };
}

/** @param names what stands between the braces of an import */
function split(names: string, files: ReadonlyMap<string, string>): string {
  const rest: string[] = [];
  const direct: string[] = [];
  for (const specifier of names.split(',').map((one) => one.trim())) {
    // Types are gone once it is bundled.
    if (specifier === '' || specifier.startsWith('type ')) continue;
    const file = files.get(specifier.split(/\s+as\s+/)[0]!);
    if (file === undefined) rest.push(specifier);
    else direct.push(`import { ${specifier} } from ${JSON.stringify(file)};`);
  }
  if (rest.length > 0) direct.push(`import { ${rest.join(', ')} } from '${LIBRARY}';`);
  return direct.join(' ');
}

/** Where the index takes each name from that it exports as it is. */
async function filesByName(): Promise<Map<string, string>> {
  const index = fileURLToPath(import.meta.resolve(LIBRARY));
  const text = await readFile(index, 'utf8');
  const files = new Map<string, string>();
  for (const [, names, file] of text.matchAll(/^import \{ ([^}]*) \} from "([^"]+)";$/gm))
    for (const name of names!.split(', '))
      if (/^\w+$/.test(name))
        files.set(name, file!.startsWith('.') ? path.join(path.dirname(index), file!) : file!);
  return files;
}
