import { createHash } from 'node:crypto';
import * as nodeFs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

const READ_BYTES = 256 * 1024;

/** Writes to files that are open. */
export interface DiskWriter {
  /**
   * @param data must stay as it is until this resolves
   * @param position in bytes; null: at the end of a file that was opened for appending
   * @returns resolves when all of `data` is in the file, which must stay open until then. @throws what the disk says
   */
  write(file: WritableFile, data: Uint8Array | string, position: number | null): Promise<void>;
}

/** What is done with whole files as well. */
export interface Disk extends DiskWriter {
  /** Makes `text` the content of a file that only its owner may read: who reads it meanwhile finds the old or the new. @throws what the disk says */
  replace(path: string, text: string): Promise<void>;
  /** @throws what the disk says */
  digest(path: string): Promise<FileDigest>;
}

export interface FileDigest {
  sizeBytes: number;
  /** Hex. */
  sha256: string;
}

export type WritableFile = Pick<FileHandle, 'fd' | 'write'>;

/** The parts of `node:fs/promises` that a disk needs: a parameter, so that failing ones can be tried. */
export type DiskFs = Pick<typeof nodeFs, 'open' | 'rename'>;

/** Each step by itself, in the threads that Node keeps for files. */
export function directDisk(fs: DiskFs): Disk {
  return {
    async write(file, data, position) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      for (let at = 0; at < bytes.length;) {
        const place = position === null ? null : position + at;
        at += (await file.write(bytes, at, bytes.length - at, place)).bytesWritten;
      }
    },
    async replace(path, text) {
      const handle = await fs.open(`${path}.tmp`, 'w', 0o600);
      try {
        await handle.writeFile(text);
      } finally {
        await handle.close();
      }
      await fs.rename(`${path}.tmp`, path);
    },
    async digest(path) {
      const handle = await fs.open(path, 'r');
      try {
        const hash = createHash('sha256');
        const buffer = Buffer.allocUnsafe(READ_BYTES);
        for (let at = 0; ;) {
          const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, at);
          if (bytesRead === 0) return { sizeBytes: at, sha256: hash.digest('hex') };
          hash.update(buffer.subarray(0, bytesRead));
          at += bytesRead;
        }
      } finally {
        await handle.close();
      }
    },
  };
}

export const plainDisk = directDisk(nodeFs);
