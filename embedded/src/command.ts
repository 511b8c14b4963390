import { DisposableList } from '@parley/shared/async/disposable-list';
import { shutdownSignal } from '@parley/shared/async/shutdown-signal';

/** The command line is wrong: its usage is printed. */
export class UsageError extends Error {}

/**
 * Runs a command to its end.
 * @param run gets a signal that aborts with SIGINT and SIGTERM, and what is closed in the end
 * @param stopped what is said then
 * @returns the exit code: what `run` returns, 2 for a `UsageError`, 1 for any other
 */
export async function runCommand(
  { usage, stopped }: { usage: string; stopped: string },
  run: (owned: DisposableList, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const owned = new DisposableList();
  const stopping = new AbortController();
  void shutdownSignal().then(() => stopping.abort(new Error(stopped)));
  try {
    return await run(owned, stopping.signal);
  } catch (error) {
    const wrong = error instanceof UsageError;
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(wrong ? `${message}\n\n${usage}` : `${message}\n`);
    return wrong ? 2 : 1;
  } finally {
    await owned.dispose();
  }
}
