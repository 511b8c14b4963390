const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Between one attempt and the next. */
export const RETRY_DELAYS_MS = [
  10 * SECOND,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
] as const;

const MAX_RETRY_AFTER_MS = HOUR;
const JITTER = 0.1;

/**
 * How long to wait after the failed attempt `attempt` (from 1).
 * @param retryAfterMs what the receiver asked for; obeyed up to an hour
 * @returns null when it was the last one
 */
export function retryDelayMs(
  attempt: number,
  { retryAfterMs = 0, random = Math.random }: { retryAfterMs?: number; random?: () => number } = {},
): number | null {
  const delay = RETRY_DELAYS_MS[attempt - 1];
  if (delay === undefined) return null;
  const spread = Math.round(delay * (1 - JITTER + 2 * JITTER * random()));
  return Math.max(spread, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}

/** `Retry-After` as seconds or HTTP date (RFC 9110, 10.2.3). @returns 0 when it says nothing usable */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * SECOND;
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, at - nowMs);
}
