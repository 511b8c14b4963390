import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Keeps a spool folder for one process: a second one would take running calls for calls that were cut off. The lock is
 * SQLite's on a file in the folder, so it ends with the process, however that ends.
 * @throws Error when another process holds the folder
 */
export function lockSpool(dir: string): { release(): void } {
  const database = new DatabaseSync(path.join(dir, 'gateway.lock'));
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE;');
  } catch (error) {
    database.close();
    throw new Error(`Another gateway is using ${dir}. Give each gateway its own DATA_DIR.`, { cause: error });
  }
  let held = true;
  return {
    release() {
      if (held) database.close();
      held = false;
    },
  };
}
