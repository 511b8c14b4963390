import type * as fileSystem from 'node:fs/promises';
import { wavHeader } from '@parley/shared/audio/wav';
import { plainDisk } from '../disk/disk.ts';
import type { DiskWriter } from '../disk/disk.ts';

/** The parts of `node:fs/promises` that recordings need: a parameter, so that failing disks can be tried. */
export type RecordingFs = Pick<
  typeof fileSystem,
  'open' | 'rename' | 'rm' | 'mkdir' | 'stat' | 'copyFile' | 'readdir' | 'readFile'
>;

export const WAV_HEADER_BYTES = 44;

/**
 * A WAV file in the making. Writes happen in the background and at their place, so that what is never written is
 * silence. The header comes first, with no length yet: a file that was cut off still says what it holds.
 */
export class PartFile {
  readonly path: string;
  readonly #fs: RecordingFs;
  readonly #writer: DiskWriter;
  readonly #format: { sampleRate: number; channels: number };
  readonly #maxQueuedBytes: number;
  #file: fileSystem.FileHandle | undefined;
  #tail: Promise<void>;
  #queuedBytes = 0;
  #failure: NodeJS.ErrnoException | undefined;
  readonly #onFailure: (error: NodeJS.ErrnoException) => void;

  constructor(options: {
    path: string;
    fs: RecordingFs;
    writer?: DiskWriter;
    format: { sampleRate: number; channels: number };
    /** What may wait for the disk. */
    maxQueuedBytes: number;
    /** Once, when the file can't be written any more. */
    onFailure: (error: NodeJS.ErrnoException) => void;
  }) {
    this.path = options.path;
    this.#fs = options.fs;
    this.#writer = options.writer ?? plainDisk;
    this.#format = options.format;
    this.#maxQueuedBytes = options.maxQueuedBytes;
    this.#onFailure = options.onFailure;
    this.#tail = this.#attempt(async () => {
      this.#file = await this.#fs.open(this.path, 'wx+', 0o600);
      await this.#writer.write(this.#file, wavHeader({ ...this.#format, dataBytes: 0 }), 0);
    });
  }

  get failure(): NodeJS.ErrnoException | undefined {
    return this.#failure;
  }

  /**
   * Queues `data` for its place in the audio.
   * @param offset in bytes, from the first sample
   * @param done is called when `data` is no longer needed
   * @returns false when the disk does not keep up or has failed: nothing was queued
   */
  write(data: Uint8Array, offset: number, done: () => void): boolean {
    if (this.#failure || this.#queuedBytes + data.length > this.#maxQueuedBytes) return false;
    this.#queuedBytes += data.length;
    this.#enqueue(async () => {
      try {
        await this.#writer.write(this.#file!, data, WAV_HEADER_BYTES + offset);
      } finally {
        this.#queuedBytes -= data.length;
        done();
      }
    });
    return true;
  }

  /** Resolves when nothing is queued any more, written or not. */
  settled(): Promise<void> {
    return this.#tail;
  }

  /**
   * Gives the audio its length and closes the file.
   * @throws what kept the file from being written
   */
  async finish(dataBytes: number): Promise<void> {
    this.#enqueue(async () => {
      await this.#file!.truncate(WAV_HEADER_BYTES + dataBytes);
      await this.#writer.write(this.#file!, wavHeader({ ...this.#format, dataBytes }), 0);
      await this.#file!.sync();
    });
    await this.close();
    if (this.#failure) throw this.#failure;
  }

  /** Closes the file after what is queued. */
  async close(): Promise<void> {
    await this.#tail;
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => undefined);
  }

  #enqueue(task: () => Promise<void>): void {
    this.#tail = this.#tail.then(() => this.#attempt(task));
  }

  async #attempt(task: () => Promise<void>): Promise<void> {
    if (this.#failure) return;
    try {
      await task();
    } catch (error) {
      this.#failure = error as NodeJS.ErrnoException;
      this.#onFailure(this.#failure);
    }
  }
}
