import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { AppError, UnavailableError } from '@parley/shared/errors/app-error';
import { isDiskFull } from './unreachable.ts';

/**
 * Stores a stream as a file, whole or not at all.
 * @param maxBytes of the whole
 * @throws AppError 413 `too_large`; UnavailableError when the disk is full; what the stream met
 */
export async function storeFile(
  target: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<{ sizeBytes: number; sha256: string }> {
  const part = `${target}.${randomUUID()}.part`;
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  try {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const file = await open(part, 'wx', 0o600);
    try {
      for await (const chunk of content) {
        sizeBytes += chunk.length;
        if (sizeBytes > maxBytes) throw tooLarge(maxBytes);
        hash.update(chunk);
        await file.write(chunk);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, target);
    return { sizeBytes, sha256: hash.digest('hex') };
  } catch (error) {
    if (isDiskFull(error)) throw new UnavailableError('The storage of files is full.', { cause: error });
    throw error;
  } finally {
    await rm(part, { force: true });
  }
}

/** 413: the file is over the limit. */
export function tooLarge(maxBytes: number): AppError {
  return new AppError(413, 'too_large', `The file is larger than ${maxBytes} bytes.`);
}
