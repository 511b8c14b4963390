import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';

// Writes the types of the API (src/api/schema.d.ts) from the control plane's own description of it.

const root = fileURLToPath(new URL('../../', import.meta.url));
const target = path.join(root, 'console/src/api/schema.d.ts');

const { stdout } = await promisify(execFile)(
  process.execPath,
  ['--disable-warning=ExperimentalWarning', path.join(root, 'control-plane/src/openapi.ts')],
  { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
);
const description = JSON.parse(stdout) as Parameters<typeof openapiTS>[0];
// A field of a request that has a default may be left out.
const nodes = await openapiTS(description, { defaultNonNullable: false });
const text = `// Made by build/api-types.ts from /openapi.json.\n${astToString(nodes)}`;
// An unchanged file keeps its time: the type checker does not begin anew.
if ((await readFile(target, 'utf8').catch(() => '')) !== text) {
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, text);
}
