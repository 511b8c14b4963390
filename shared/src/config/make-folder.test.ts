import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { ConfigError } from '../errors/config-error.ts';
import { makeFolder } from './make-folder.ts';

void t.test(
  'a folder is made for its user alone; one that cannot be is named with its setting',
  async (t) => {
    const root = mkdtempSync(path.join(tmpdir(), 'parley-'));
    t.teardown(() => rmSync(root, { recursive: true }));
    const folder = path.join(root, 'a/b');
    makeFolder('DATA_DIR', folder);
    makeFolder('DATA_DIR', folder);
    t.equal(statSync(folder).mode & 0o777, 0o700);
    const file = path.join(root, 'file');
    writeFileSync(file, '');
    for (const bad of [file, path.join(file, 'below')])
      t.throws(
        () => makeFolder('DATA_DIR', bad),
        new ConfigError([
          `DATA_DIR: ${bad} cannot be used as a folder: it, or what it lies in, is a file (${bad === file ? 'EEXIST' : 'ENOTDIR'})`,
        ]),
      );
    const tooLong = path.join(root, 'x'.repeat(300));
    t.throws(() => makeFolder('DATA_DIR', tooLong), { message: /DATA_DIR: .*cannot be written to/ });
  },
);
