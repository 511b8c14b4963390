/** Waiting time before try `attempt` (from 0): doubles from `firstMs` to `maxMs`, with +-20 % jitter. */
export function backoffMs(
  attempt: number,
  { firstMs, maxMs, random = Math.random }: { firstMs: number; maxMs: number; random?: () => number },
): number {
  const base = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(base * (0.8 + 0.4 * random()));
}
