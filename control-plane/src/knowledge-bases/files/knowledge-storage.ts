import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { storeFile } from '../../storage/store-file.ts';

/** The largest document, in bytes. */
export const MAX_DOCUMENT_BYTES = 50 * 1024 * 1024;
/** Folder of all knowledge within the storage: in it one for each org, in that one for each base. */
export const KNOWLEDGE_FOLDER = 'knowledge';

const KEY = /^knowledge\/[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+\/[A-Za-z0-9_.-]+$/;

/** Documents and indexes as files below the storage folder, which all processes share. */
export class KnowledgeStorage {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = path.resolve(directory);
  }

  /** @param name of the file within the folder of the base */
  keyOf(base: { org_id: string; _id: string }, name: string): string {
    return `${KNOWLEDGE_FOLDER}/${base.org_id}/${base._id}/${name}`;
  }

  path(key: string): string {
    if (!KEY.test(key) || key.includes('..')) throw new Error('Invalid key of a document.');
    return path.join(this.#directory, key);
  }

  /**
   * Stores a stream whole or not at all.
   * @throws AppError 413 `too_large`; UnavailableError when the disk is full; what the stream met
   */
  write(
    key: string,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<{ sizeBytes: number; sha256: string }> {
    return storeFile(this.path(key), content, MAX_DOCUMENT_BYTES);
  }

  /** What is not there needs no deleting. */
  async delete(key: string): Promise<void> {
    await rm(this.path(key), { force: true });
  }

  async deleteBase(base: { org_id: string; _id: string }): Promise<void> {
    await rm(path.dirname(this.path(this.keyOf(base, 'x'))), { recursive: true, force: true });
  }

  /** Deletes indexes of a base that were replaced, except those made after `before`: they may be read soon. */
  async deleteOldIndexes(
    base: { org_id: string; _id: string },
    { keep, before }: { keep: string; before: number },
  ): Promise<void> {
    const folder = path.dirname(this.path(keep));
    for (const name of await readdir(folder)) {
      const file = path.join(folder, name);
      if (!name.endsWith('.index') || name === path.basename(keep)) continue;
      const found = await stat(file).catch(() => undefined);
      if (found && found.mtimeMs < before) await rm(file, { force: true });
    }
  }
}
