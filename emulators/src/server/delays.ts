import type { Clock } from '@parley/shared/time/clock';

/** How long something takes: always the same, or log-normal through its median and 95th percentile. Milliseconds. */
export type Delay = number | { p50Ms: number; p95Ms: number };

/** The 95th percentile of the standard normal distribution. */
const Z_95 = 1.6448536;

/** Draws one delay. A pair is capped at ten times its median, so that no run hangs on one unlucky draw. */
export function sampleMs(delay: Delay, random: () => number): number {
  if (typeof delay === 'number') return delay;
  const { p50Ms, p95Ms } = delay;
  if (p50Ms <= 0) return 0;
  const sigma = Math.log(Math.max(1, p95Ms / p50Ms)) / Z_95;
  // Box-Muller; 1 - random() keeps the logarithm away from zero.
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.min(p50Ms * Math.exp(sigma * normal), p50Ms * 10);
}

/** The longest delay a timer of Node takes, 24 days. Longer ones fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms` of `clock`, or rejects with the reason of `signal`. Leaves neither timer nor listener behind. */
export function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    if (ms <= 0) {
      resolve();
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal.reason as Error);
    };
    const timer = clock.setTimeout(
      () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(ms, MAX_TIMER_MS),
    );
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
