import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@parley/shared/time/clock';
import type { TextChunk } from './chunk-text.ts';
import { DocumentError } from './document-error.ts';
import type { ExtractLine, ExtractOrder } from './extract-child.ts';

const PROGRAM = fileURLToPath(new URL('./extract-child.ts', import.meta.url));
const MAX_HEAP_MB = 512;
/** What the heap's limit does not count: buffers, and the engine itself. */
const MAX_RESIDENT_BYTES = 900 * 1024 * 1024;
const MAX_MS = 120_000;
const WATCH_MS = 100;
/** Passages of one document. */
const MAX_CHUNKS = 50_000;

/**
 * The passages of a document, as a process of its own reads them: bounded in memory, time and output, without the
 * environment of this one, and without a right to write, to start programs or threads. It is gone when this ends,
 * whatever ends it.
 * @throws DocumentError; the reason of `signal`
 */
export async function* extractDocument(
  order: ExtractOrder,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<TextChunk> {
  signal.throwIfAborted();
  const child = spawn(
    process.execPath,
    [
      ...['--permission', '--allow-fs-read=*', '--disable-warning=ExperimentalWarning'],
      ...[`--max-old-space-size=${MAX_HEAP_MB}`, PROGRAM, JSON.stringify(order)],
    ],
    { stdio: ['ignore', 'pipe', 'ignore'], env: {} },
  );
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
  const kill = (): void => void child.kill('SIGKILL');
  const timer = clock.setTimeout(kill, MAX_MS);
  const watch = watchMemory(child, clock);
  signal.addEventListener('abort', kill);
  let chunks = 0;
  try {
    for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) {
      const told = parseLine(line);
      if (!told) break;
      if ('failure' in told) throw new DocumentError(told.failure);
      if ('done' in told) return;
      if (++chunks > MAX_CHUNKS) throw new DocumentError('too_much_text');
      yield told.chunk;
    }
    signal.throwIfAborted();
    // Killed, or dead of its own limit, before it was done.
    throw new DocumentError('too_complex');
  } finally {
    kill();
    timer.cancel();
    watch.stop();
    signal.removeEventListener('abort', kill);
    await exited;
  }
}

/** @returns undefined for a line that was cut off */
function parseLine(line: string): ExtractLine | undefined {
  try {
    return JSON.parse(line) as ExtractLine;
  } catch {
    return undefined;
  }
}

/** Kills a process whose memory grows beyond the limit, where the system tells it: on Linux. */
function watchMemory(child: ChildProcess, clock: Clock): { stop(): void } {
  let over = process.platform !== 'linux' || child.pid === undefined;
  const look = async (): Promise<void> => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => undefined);
    if (status === undefined || over) return;
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
    if (kilobytes * 1024 > MAX_RESIDENT_BYTES) child.kill('SIGKILL');
    else later();
  };
  let timer: { cancel(): void } | undefined;
  const later = (): void => {
    timer = clock.setTimeout(() => void look(), WATCH_MS);
  };
  if (!over) later();
  return {
    stop() {
      over = true;
      timer?.cancel();
    },
  };
}
