import { hash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

// Loaded first in every process of `npm test` (run.ts): what Node has made of a TypeScript file once is kept for the
// processes after it. Most of what a process costs until its first line runs is this work, and the suite starts
// hundreds. JavaScript, because it is what loads TypeScript.

const dir = process.env.TEST_MODULE_CACHE;

function stripped(source) {
  const file = `${dir}/${hash('sha1', source)}`;
  try {
    return readFileSync(file, 'utf8');
  } catch {
    const code = stripTypeScriptTypes(source);
    const partial = `${file}.${process.pid}`;
    writeFileSync(partial, code);
    renameSync(partial, file);
    return code;
  }
}

/** What an import of a workspace leads to is the same for every file that has it. */
const workspaces = new Map();

function resolved(specifier, context, nextResolve) {
  // Files of the repository name each other with their endings: nothing has to be looked for.
  if (specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.startsWith('file:'))
    return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
  if (!specifier.startsWith('@parley/')) return nextResolve(specifier, context);
  const found = workspaces.get(specifier) ?? nextResolve(specifier, context);
  workspaces.set(specifier, found);
  return { ...found, shortCircuit: true };
}

if (dir)
  registerHooks({
    resolve: resolved,
    load: (url, context, nextLoad) =>
      url.startsWith('file:') && url.endsWith('.ts')
        ? {
            format: 'module',
            source: stripped(readFileSync(fileURLToPath(url), 'utf8')),
            shortCircuit: true,
          }
        : nextLoad(url, context),
  });
