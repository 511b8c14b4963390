import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs one command of the load test to its end. The first interrupt aborts `signal`, upon which `main` closes what it
 * opened and returns or throws; a second one leaves at once. Either way no process and no temporary folder stays
 * (`atExit`). Does not return.
 */
export async function runCommand(main: (signal: AbortSignal) => Promise<void>): Promise<never> {
  const stop = new AbortController();
  let interruptedBy: (typeof SIGNALS)[number] | undefined;
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (interruptedBy) process.exit(128 + constants.signals[name]);
      interruptedBy = name;
      process.stderr.write('\nHanging up. Interrupt again to exit at once.\n');
      stop.abort(new Error('Interrupted.'));
    });
  }
  const exitCode = (fallback: number) =>
    interruptedBy === undefined ? fallback : 128 + constants.signals[interruptedBy];
  try {
    await main(stop.signal);
    process.exit(exitCode(Number(process.exitCode ?? 0)));
  } catch (error) {
    if (!interruptedBy)
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(exitCode(1));
  }
}

/**
 * Runs `act`, which must not wait, should this process leave before it was told that there is no need to.
 * @returns a function that says so
 */
export function atExit(act: () => void): () => void {
  process.once('exit', act);
  return () => process.off('exit', act);
}
