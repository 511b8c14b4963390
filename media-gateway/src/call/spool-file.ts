import type * as fileSystem from 'node:fs/promises';

/** The part of `node:fs/promises` that spool files need: a parameter, so that full disks can be tried. */
export type SpoolFs = Pick<typeof fileSystem, 'open' | 'rename' | 'rm'>;

/**
 * A file that is replaced as a whole, so that a reader finds the old content or the new one, whenever the process
 * dies. Writes that come while another is under way are merged: only the last is done.
 */
export class SpoolFile {
  readonly path: string;
  readonly #fs: SpoolFs;
  #next: { content: () => string; sync: boolean } | undefined;
  #removed = false;
  #running: Promise<void> | undefined;

  constructor(path: string, fs: SpoolFs) {
    this.path = path;
    this.#fs = fs;
  }

  /**
   * @param content is asked for when its turn comes
   * @param sync waits for the disk itself
   * @returns resolves when this content, or a later one, is in the file. @throws what the disk says
   */
  write(content: () => string, { sync = false } = {}): Promise<void> {
    if (this.#removed) return Promise.resolve();
    this.#next = { content, sync: sync || (this.#next?.sync ?? false) };
    return this.#run();
  }

  /** Deletes the file after what is being written. Later writes do nothing. */
  remove(): Promise<void> {
    this.#removed = true;
    this.#next = undefined;
    return this.#run();
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
    if (this.#removed) return this.#fs.rm(this.path, { force: true });
    const next = this.#next;
    if (!next) return; // a later call's content was written in this one's place
    this.#next = undefined;
    try {
      await this.#replace(next.content(), next.sync);
    } catch (error) {
      this.#next ??= next; // for whoever waits behind: theirs may be this very content
      throw error;
    }
  }

  async #replace(content: string, sync: boolean): Promise<void> {
    const temporary = `${this.path}.tmp`;
    const file = await this.#fs.open(temporary, 'w', 0o600);
    try {
      await file.writeFile(content);
      if (sync) await file.sync();
    } finally {
      await file.close();
    }
    await this.#fs.rename(temporary, this.path);
  }
}
