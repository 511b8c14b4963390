import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@parley/shared/time/clock';

const MAX_HEAP_MB = 512;
/** What the heap's limit does not count: buffers, and the engine itself. */
const MAX_RESIDENT_BYTES = 900 * 1024 * 1024;
const MAX_MS = 120_000;
const WATCH_MS = 100;

export interface BoundedProcess {
  /** What the program writes. Ends with it, also when it is killed. */
  readonly output: Readable;
  /** Ends the process. Resolves when it is gone. */
  close(): Promise<void>;
}

/**
 * Starts one of our programs in a process of its own, to read what may be made to exhaust whoever reads it: bounded in
 * memory and time, without the environment of this one, and without a right to write, to start programs or threads.
 * Whoever starts it closes it.
 * @param order its only argument, as JSON
 * @param options.signal kills it
 */
export function openBoundedProcess(
  program: URL,
  order: object,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): BoundedProcess {
  const child = spawn(
    process.execPath,
    [
      ...['--permission', '--allow-fs-read=*', '--disable-warning=ExperimentalWarning'],
      ...[`--max-old-space-size=${MAX_HEAP_MB}`, fileURLToPath(program), JSON.stringify(order)],
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
  return {
    output: child.stdout,
    async close() {
      kill();
      timer.cancel();
      watch.stop();
      signal.removeEventListener('abort', kill);
      // Nobody reads it any more, and a process is gone only when its output is.
      child.stdout.destroy();
      await exited;
    },
  };
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
