import { createReadStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { AssetRate } from '@parley/shared/contracts/audio-assets';
import type { ByteRange } from '../http/byte-range.ts';
import { storeFile } from '../storage/store-file.ts';
import { AUDIO_HEAD_BYTES } from './audio-format.ts';

/** The largest upload, in bytes. */
export const MAX_UPLOAD_BYTES = 20 * 1024 * 1024;
/** Folder of all assets within the storage: in it one for each org, in that one for each asset. */
export const AUDIO_ASSET_FOLDER = 'audio-assets';

const KEYS = /^audio-assets\/[A-Za-z0-9_-]+\/[A-Za-z0-9_-]+\/(upload|\d+\.pcm)$/;

interface Owned {
  _id: string;
  org_id: string;
}

/** Uploads, and what calls play of them, as files below the storage folder, which all processes share. */
export class AudioStorage {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = path.resolve(directory);
  }

  /** Where the upload is kept. */
  uploadKey({ _id, org_id }: Owned): string {
    return `${AUDIO_ASSET_FOLDER}/${org_id}/${_id}/upload`;
  }

  /** Where its samples of a rate are kept: PCM16, one channel, no header. */
  samplesKey({ _id, org_id }: Owned, rate: AssetRate): string {
    return `${AUDIO_ASSET_FOLDER}/${org_id}/${_id}/${rate}.pcm`;
  }

  path(key: string): string {
    if (!KEYS.test(key)) throw new Error('Invalid key of an audio asset.');
    return path.join(this.#directory, key);
  }

  /** As `storeFile`. */
  write(
    key: string,
    content: AsyncIterable<Uint8Array>,
    maxBytes: number,
  ): Promise<{ sizeBytes: number; sha256: string }> {
    return storeFile(this.path(key), content, maxBytes);
  }

  /** Bytes; null: there is none. */
  async size(key: string): Promise<number | null> {
    const found = await stat(this.path(key)).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
      throw error;
    });
    return found && found.size;
  }

  /** The caller reads the stream to its end or destroys it. */
  read(key: string, range?: ByteRange): Readable {
    return createReadStream(this.path(key), range ?? {});
  }

  /** The first bytes of the upload. */
  async head(asset: Owned): Promise<Uint8Array> {
    const file = await open(this.path(this.uploadKey(asset)));
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(AUDIO_HEAD_BYTES), 0, AUDIO_HEAD_BYTES, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /** What is not there needs no deleting. */
  async delete(asset: Owned): Promise<void> {
    await rm(path.dirname(this.path(this.uploadKey(asset))), { recursive: true, force: true });
  }
}
