import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { DiskAnswer, DiskRequest } from './disk-thread.ts';
import type { FileDigest } from './disk.ts';

/** A longer file would keep what is behind it waiting: some two minutes of a call. */
const MAX_DIGEST_BYTES = 4 * 1024 * 1024;

/** The thread of disk-thread.ts: does what it is sent, in its order, and ends when it is sent nothing. */
const port = parentPort!;
port.on('message', (requests: readonly DiskRequest[] | undefined) => {
  if (requests) port.postMessage(requests.map(answer));
  else port.close();
});

const buffer = Buffer.allocUnsafe(256 * 1024);

function answer(request: DiskRequest): DiskAnswer {
  try {
    return { value: act(request) };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { error: { message, code } };
  }
}

function act(request: DiskRequest): FileDigest | undefined {
  switch (request.type) {
    case 'write':
      return void write(request);
    case 'replace':
      writeFileSync(`${request.path}.tmp`, request.text, { mode: 0o600 });
      return void renameSync(`${request.path}.tmp`, request.path);
    case 'digest':
      return digest(request.path);
  }
}

function write({ fd, data, position }: Extract<DiskRequest, { type: 'write' }>): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  for (let at = 0; at < bytes.length;)
    at += writeSync(fd, bytes, at, bytes.length - at, position === null ? null : position + at);
}

/** @returns undefined for a file that is too long */
function digest(path: string): FileDigest | undefined {
  const fd = openSync(path, 'r');
  try {
    if (fstatSync(fd).size > MAX_DIGEST_BYTES) return undefined;
    const hash = createHash('sha256');
    for (let at = 0; ;) {
      const length = readSync(fd, buffer, 0, buffer.length, at);
      if (length === 0) return { sizeBytes: at, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, length));
      at += length;
    }
  } finally {
    closeSync(fd);
  }
}
