import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { withTimeout } from '@parley/shared/async/timeout';
import { hasBuiltFiles } from './built-files.ts';

const FILL_CACHE = fileURLToPath(new URL('fill-cache.ts', import.meta.url));

/** The process that is at it; undefined before and after. */
let underWay: Promise<void> | undefined;

/** Waits for a bundle that is being made, at most `maxMs`: what is under way need not be done twice. */
export async function preparation(maxMs: number): Promise<void> {
  if (underWay) await withTimeout(underWay, maxMs, 'The bundle of the console').catch(() => undefined);
}

/**
 * Makes the bundle before anybody asks for it: in a process of low priority, which takes nothing from calls. Without it
 * whoever asks first waits for the bundle.
 * @param signal ends it
 * @param script what the process runs
 * @returns when it is over, done or not
 */
export async function prepareConsole(signal: AbortSignal, script = FILL_CACHE): Promise<void> {
  if (hasBuiltFiles() || signal.aborted) return;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
    stdio: 'ignore',
    signal,
  });
  const over = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  // Nobody waits for it to stop the platform.
  child.unref();
  try {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It is over already, or the system does not allow it.
  }
  underWay = over;
  await over;
  if (underWay === over) underWay = undefined;
}
