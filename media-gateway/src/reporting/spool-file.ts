import type * as fileSystem from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { plainDisk } from '../disk/disk.ts';
import type { DiskWriter } from '../disk/disk.ts';

/** The part of `node:fs/promises` that spool files need: a parameter, so that full disks can be tried. */
export type SpoolFs = Pick<typeof fileSystem, 'open' | 'rename' | 'unlink'>;

/** Lines that could not be written wait for the next try, up to so many characters; the oldest go first. */
const MAX_WAITING = 256 * 1024;

/**
 * A file that lines are appended to, one JSON text each. Whenever the process dies, every line that was accepted is
 * there; at most the last is torn, and a reader leaves that out. The file appears with its first line in it. Lines that
 * come while others are being written go out together.
 */
export class SpoolFile {
  readonly path: string;
  readonly #fs: SpoolFs;
  readonly #writer: DiskWriter;
  #inPlace: boolean;
  #handle: FileHandle | undefined;
  #waiting: string[] = [];
  #sync = false;
  #ends = false;
  #removed = false;
  #closed = false;
  #running: Promise<void> | undefined;

  /** @param exists lines were written to it before, by an earlier process */
  constructor(
    path: string,
    fs: SpoolFs,
    { exists = false, writer = plainDisk }: { exists?: boolean; writer?: DiskWriter } = {},
  ) {
    this.path = path;
    this.#fs = fs;
    this.#writer = writer;
    this.#inPlace = exists;
  }

  /**
   * @param last nothing follows: waits for the disk itself, and closes the file
   * @returns resolves when the line is in the file. @throws what the disk says; the line is tried again with the next
   */
  append(line: object, { last = false } = {}): Promise<void> {
    if (this.#removed || this.#closed) return Promise.resolve();
    this.#waiting.push(JSON.stringify(line));
    if (last) this.#sync = this.#ends = true;
    return this.#run();
  }

  /** Deletes the file after what is being written. Later lines go nowhere. */
  remove(): Promise<void> {
    this.#removed = true;
    this.#waiting = [];
    return this.#run();
  }

  /** After what is being written; the file stays. Later lines go nowhere. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#running?.catch(() => undefined);
    await this.#close();
  }

  #run(): Promise<void> {
    const before = this.#running;
    const mine = (async () => {
      // A failure is told to whoever asked for that write.
      await before?.catch(() => undefined);
      await this.#step();
    })();
    this.#running = mine;
    return mine;
  }

  async #step(): Promise<void> {
    if (this.#removed) {
      await this.#close();
      // One operation of the disk; `rm` asks first what there is, on this thread.
      return this.#fs.unlink(this.#inPlace ? this.path : `${this.path}.tmp`).catch(unlessGone);
    }
    if (this.#waiting.length === 0) return; // an earlier call's turn wrote this one's line as well
    const lines = this.#waiting;
    this.#waiting = [];
    try {
      const temporary = `${this.path}.tmp`;
      this.#handle ??= await this.#fs.open(this.#inPlace ? this.path : temporary, 'a', 0o600);
      // The line end comes first: a line that was torn by a full disk is closed by the next one.
      await this.#writer.write(this.#handle, `\n${lines.join('\n')}`, null);
      if (!this.#inPlace) await this.#fs.rename(temporary, this.path);
      this.#inPlace = true;
      if (this.#sync) await this.#handle.sync();
    } catch (error) {
      this.#waiting = newest([...lines, ...this.#waiting]);
      throw error;
    }
    if (this.#ends && this.#waiting.length === 0) await this.#close();
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

/** As many of the last lines as may wait; the first says whose file it is and stays. */
function newest(lines: string[]): string[] {
  let excess = lines.reduce((sum, line) => sum + line.length, 0) - MAX_WAITING;
  const kept = [...lines];
  while (excess > 0 && kept.length > 2) excess -= kept.splice(1, 1)[0]!.length;
  return kept;
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
