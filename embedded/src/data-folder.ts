import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { makeFolder } from '@parley/shared/config/make-folder';
import { carrierSchema } from '@parley/shared/contracts/session-values';

const runtimeSchema = z.object({
  pid: z.number().int(),
  /** The API, as this machine reaches it. */
  local_url: z.string(),
  /** Where the same user's processes place emulated calls. */
  desk_url: z.string(),
  org_id: z.string(),
  project_id: z.string(),
  agent_id: z.string(),
  /** The demonstration agent's number at each emulated carrier. */
  numbers: z.partialRecord(carrierSchema, z.string()),
});

/** What a running installation tells other processes of the same user. Lives as long as the process. */
export type RuntimeInfo = z.infer<typeof runtimeSchema>;

/** The folder is in use by another process. */
export class DataFolderInUseError extends Error {
  constructor(folder: string, pid: number | undefined) {
    super(
      `Another Parley${pid === undefined ? '' : ` (process ${pid})`} uses ${folder}. Stop it first, or choose another folder with PARLEY_DATA_DIR.`,
    );
    this.name = 'DataFolderInUseError';
  }
}

/** Everything an embedded installation keeps, in one folder that only its user can read. */
export class DataFolder {
  readonly root: string;
  readonly #lock: DatabaseSync;

  private constructor(root: string, lock: DatabaseSync) {
    this.root = root;
    this.#lock = lock;
  }

  /**
   * Takes the folder for this process. The lock is SQLite's own, so that the system gives it back when the process
   * dies, however it dies.
   * @throws DataFolderInUseError that names the process in the way
   * @throws ConfigError when the folder cannot be made or written to
   */
  static open(root: string): DataFolder {
    for (const name of ['.', 'spool', 'recordings']) makeFolder('PARLEY_DATA_DIR', path.join(root, name));
    const lock = new DatabaseSync(path.join(root, 'lock.db'), { timeout: 0 });
    try {
      lock.exec('PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    } catch (error) {
      lock.close();
      if (!isBusy(error)) throw error;
      throw new DataFolderInUseError(root, readRuntime(root)?.pid);
    }
    return new DataFolder(root, lock);
  }

  file(...names: string[]): string {
    return path.join(this.root, ...names);
  }

  writeRuntime(info: RuntimeInfo): void {
    writePrivateFile(this.file('runtime.json'), JSON.stringify(info, null, 2));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.file('runtime.json'), { force: true });
    if (this.#lock.isOpen) this.#lock.close();
  }
}

/** What runs with this folder; undefined when nothing does (a file left by a process that died is not believed). */
export function readRuntime(root: string): RuntimeInfo | undefined {
  let info: RuntimeInfo;
  try {
    info = runtimeSchema.parse(JSON.parse(readFileSync(path.join(root, 'runtime.json'), 'utf8')));
  } catch {
    return undefined;
  }
  try {
    process.kill(info.pid, 0);
    return info;
  } catch {
    return undefined;
  }
}

/** Writes a file that only its owner can read, at once or not at all. */
export function writePrivateFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, file);
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && /locked|busy/i.test(error.message);
}
