import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { hasBuiltFiles } from './built-files.ts';

const FILL_CACHE = fileURLToPath(new URL('fill-cache.ts', import.meta.url));

/**
 * Makes the bundle before anybody asks for it: in a process of low priority, which takes nothing from calls. Without it, and
 * until it is done, whoever asks first waits for the bundle.
 * @param signal ends it
 * @returns when it is over, done or not
 */
export async function prepareConsole(signal: AbortSignal): Promise<void> {
  if (hasBuiltFiles() || signal.aborted) return;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', FILL_CACHE], {
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
  await over;
}
