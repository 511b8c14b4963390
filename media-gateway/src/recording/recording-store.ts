import { createReadStream } from 'node:fs';
import path from 'node:path';
import { directDisk } from '../disk/disk.ts';
import type { RecordingFs } from './part-file.ts';

/** Where finished recordings go. */
export interface RecordingStore {
  /**
   * Takes the file at `part` over: it may be gone afterwards. Storing the same content under the same key again is
   * harmless.
   * @throws StoreConflictError when the key holds something else; anything else may heal
   */
  store(part: string, recording: StoredFile, signal: AbortSignal): Promise<void>;
}

export interface StoredFile {
  recordingId: string;
  key: string;
  sizeBytes: number;
  /** Hex. */
  sha256: string;
}

/** The place is taken by other content: trying again would not help. */
export class StoreConflictError extends Error {
  constructor() {
    super('A different recording is already stored under this key.');
    this.name = 'StoreConflictError';
  }
}

/** A folder that all processes share: `STORAGE_DIR`. */
export function fileStore(storageDir: string, fs: RecordingFs): RecordingStore {
  return {
    async store(part, { key, sizeBytes, sha256 }) {
      const root = path.resolve(storageDir);
      const target = path.resolve(root, key);
      if (!target.startsWith(root + path.sep))
        throw new Error('The recording key is outside the storage folder.');
      await fs.mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
      const there = await fs.stat(target).catch(() => undefined);
      if (there) {
        if (there.size !== sizeBytes || (await directDisk(fs).digest(target)).sha256 !== sha256)
          throw new StoreConflictError();
        await fs.rm(part, { force: true });
        return;
      }
      try {
        await fs.rename(part, target);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
        // Another disk: a copy that shows itself only once it is whole.
        await fs.copyFile(part, `${target}.tmp`);
        await fs.rename(`${target}.tmp`, target);
        await fs.rm(part, { force: true });
      }
    },
  };
}

/** Hands recordings to the control plane. */
export interface RecordingUpload {
  /** @param file.sha256 hex @returns the HTTP status, 204 when it was stored */
  uploadRecording(
    recordingId: string,
    file: { body: NodeJS.ReadableStream; sizeBytes: number; sha256: string },
    signal: AbortSignal,
  ): Promise<number>;
}

/** The control plane takes it over the internal API. */
export function uploadStore(source: RecordingUpload, fs: RecordingFs): RecordingStore {
  return {
    async store(part, { recordingId, sizeBytes, sha256 }, signal) {
      const body = createReadStream(part);
      try {
        const status = await source.uploadRecording(recordingId, { body, sizeBytes, sha256 }, signal);
        if (status === 409) throw new StoreConflictError();
        if (status !== 204) throw new Error(`The control plane answered ${status} to a recording.`);
      } finally {
        body.destroy();
      }
      await fs.rm(part, { force: true });
    },
  };
}
