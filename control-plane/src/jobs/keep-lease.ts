import type { Clock, Timer } from '@parley/shared/time/clock';

/** How long after the death of a process its work is taken up by another. */
export const LEASE_MS = 20_000;
const RENEW_MS = 5000;

/**
 * Renews a lease until it is stopped.
 * @param renew whether it was still ours; a failure counts as yes
 * @returns a signal that aborts with `stop`, and when another process has taken the work over
 */
export function keepLease({
  clock,
  stop,
  renew,
}: {
  clock: Clock;
  stop: AbortSignal;
  renew: () => Promise<boolean>;
}): { signal: AbortSignal; stop(): void } {
  const lost = new AbortController();
  let timer: Timer | undefined;
  let over = false;
  const later = (): void => {
    timer = clock.setTimeout(() => void again(), RENEW_MS);
  };
  const again = async (): Promise<void> => {
    const ours = await renew().catch(() => true);
    if (over) return;
    if (ours) later();
    else lost.abort(new Error('Another process has taken this work over.'));
  };
  later();
  return {
    signal: AbortSignal.any([stop, lost.signal]),
    stop() {
      over = true;
      timer?.cancel();
    },
  };
}
