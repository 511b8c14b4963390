import { writeSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { DiskAnswer, DiskRequest } from './disk-thread.ts';

/** The thread of disk-thread.ts: writes what it is sent, in its order, and ends when it is sent nothing. */
const port = parentPort!;
port.on('message', (requests: readonly DiskRequest[] | undefined) => {
  if (requests) port.postMessage(requests.map(write));
  else port.close();
});

function write({ fd, data, position }: DiskRequest): DiskAnswer {
  try {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length;)
      at += writeSync(fd, bytes, at, bytes.length - at, position === null ? null : position + at);
    return undefined;
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    return { message, code };
  }
}
