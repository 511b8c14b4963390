import type { FileHandle } from 'node:fs/promises';

/** Writes to files that are open. */
export interface DiskWriter {
  /**
   * @param data must stay as it is until this resolves
   * @param position in bytes; null: at the end of a file that was opened for appending
   * @returns resolves when all of `data` is in the file, which must stay open until then. @throws what the disk says
   */
  write(file: WritableFile, data: Uint8Array | string, position: number | null): Promise<void>;
}

export type WritableFile = Pick<FileHandle, 'fd' | 'write'>;

/** Each write by itself, in the threads that Node keeps for files. */
export const directWriter: DiskWriter = {
  async write(file, data, position) {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length;) {
      const place = position === null ? null : position + at;
      at += (await file.write(bytes, at, bytes.length - at, place)).bytesWritten;
    }
  },
};
