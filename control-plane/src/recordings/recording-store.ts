import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { AppError, ConflictError, ValidationError } from '@parley/shared/errors/app-error';
import type { ByteRange } from '../http/byte-range.ts';
import { isDiskFull } from '../storage/unreachable.ts';

/** Where recordings are kept, by key. */
export interface RecordingStore {
  /** @returns null when there is none */
  size(key: string): Promise<number | null>;
  /** The caller reads the stream to its end or destroys it. */
  read(key: string, range?: ByteRange): Readable;
  /**
   * Stores a stream whole or not at all. The same content again is no error.
   * @throws ConflictError `conflict` when other content is there; AppError 507 when the disk is full;
   *   ValidationError when length or digest are not those announced
   */
  write(
    key: string,
    content: AsyncIterable<Uint8Array>,
    expected: { sizeBytes: number; sha256: string },
  ): Promise<void>;
  /** What is not there needs no deleting. */
  delete(key: string): Promise<void>;
}

const KEY = /^recordings\/[A-Za-z0-9_/-]+\.(wav|mp3)$/;

/** Recordings as files below one directory, which all processes share. */
export class FileRecordingStore implements RecordingStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = path.resolve(directory);
  }

  async size(key: string): Promise<number | null> {
    try {
      return (await stat(this.#path(key))).size;
    } catch (error) {
      if (isCode(error, 'ENOENT')) return null;
      throw error;
    }
  }

  read(key: string, range?: ByteRange): Readable {
    return createReadStream(this.#path(key), range ?? {});
  }

  async write(
    key: string,
    content: AsyncIterable<Uint8Array>,
    expected: { sizeBytes: number; sha256: string },
  ): Promise<void> {
    const target = this.#path(key);
    // Beside the target, so that taking its name is one atomic step.
    const part = `${target}.${randomUUID()}.part`;
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    try {
      const hash = createHash('sha256');
      let size = 0;
      const file = await open(part, 'wx', 0o600);
      try {
        for await (const chunk of content) {
          size += chunk.length;
          if (size > expected.sizeBytes) throw mismatch('The body is longer than its Content-Length.');
          hash.update(chunk);
          await file.write(chunk);
        }
        await file.sync();
      } finally {
        await file.close();
      }
      if (size !== expected.sizeBytes) throw mismatch('The body is shorter than its Content-Length.');
      if (hash.digest('hex') !== expected.sha256) throw mismatch('The body does not match its digest.');
      await this.#publish(part, target, expected);
    } catch (error) {
      if (isDiskFull(error)) {
        throw new AppError(507, 'insufficient_storage', 'The storage of recordings is full.', {
          cause: error,
        });
      }
      throw error;
    } finally {
      await rm(part, { force: true });
    }
  }

  async delete(key: string): Promise<void> {
    await rm(this.#path(key), { force: true });
  }

  /** Takes the name unless somebody has it; the same content there is as good. */
  async #publish(
    part: string,
    target: string,
    expected: { sizeBytes: number; sha256: string },
  ): Promise<void> {
    try {
      await link(part, target);
      return;
    } catch (error) {
      if (isCode(error, 'EPERM') || isCode(error, 'ENOTSUP')) {
        // A file system without hard links: the last writer wins there.
        await rename(part, target);
        return;
      }
      if (!isCode(error, 'EEXIST')) throw error;
    }
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(target) as AsyncIterable<Buffer>) hash.update(chunk);
    if (hash.digest('hex') !== expected.sha256) {
      throw new ConflictError('conflict', 'A different recording is already stored under this id.');
    }
  }

  #path(key: string): string {
    if (!KEY.test(key) || key.includes('..')) throw new Error('Invalid recording key.');
    return path.join(this.#directory, key);
  }
}

function mismatch(msg: string): ValidationError {
  return new ValidationError([{ loc: ['body'], msg, type: 'digest_mismatch' }]);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
