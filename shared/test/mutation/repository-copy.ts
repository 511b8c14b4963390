import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';

const LEFT_OUT = new Set(['node_modules', '.git', '.tap', '.parley', 'results']);
const SCOPE = '@parley';

/**
 * Copies the repository's files, some with another text. Packages are the repository's own, its workspaces the copy's:
 * whatever runs in the copy runs the copy.
 * @param texts by file
 */
export function copyRepository(root: string, copy: string, texts: ReadonlyMap<string, string>): void {
  cpSync(root, copy, { recursive: true, filter: (name) => !LEFT_OUT.has(path.basename(name)) });
  for (const [file, text] of texts) writeFileSync(path.join(copy, file), text);
  const { workspaces = [] } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    workspaces?: string[];
  };
  for (const workspace of workspaces) {
    const own = path.join(root, workspace, 'node_modules');
    if (existsSync(own)) symlinkSync(own, path.join(copy, workspace, 'node_modules'));
  }
  const packages = path.join(root, 'node_modules');
  if (!existsSync(packages)) return;
  mkdirSync(path.join(copy, 'node_modules', SCOPE), { recursive: true });
  for (const name of readdirSync(packages))
    if (name !== SCOPE) symlinkSync(path.join(packages, name), path.join(copy, 'node_modules', name));
  for (const workspace of workspaces)
    symlinkSync(path.join('../..', workspace), path.join(copy, 'node_modules', SCOPE, workspace));
}
