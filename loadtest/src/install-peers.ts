import { spawnSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Installs what Parley is measured beside, each at the version it pins. Never part of `npm ci`. */
const peers = new URL('../peers/', import.meta.url);
for (const name of await readdir(peers)) {
  process.stdout.write(`${name}\n`);
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--workspaces=false'], {
    cwd: fileURLToPath(new URL(name, peers)),
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}
