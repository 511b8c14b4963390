import { formatDuration } from './format.ts';

/** A length of time: `0:07`, `1:02:03`. */
export function Duration({
  seconds,
  fallback = '–',
}: {
  seconds: number | null | undefined;
  fallback?: string;
}) {
  if (seconds == null) return <>{fallback}</>;
  return <span style={{ fontVariantNumeric: 'tabular-nums' }}>{formatDuration(seconds)}</span>;
}
