/** A place in a call as `0:07`, `12:30` or `1:02:03`: the second that runs, not the nearest. */
export function clock(ms: number): string {
  const whole = Math.max(0, Math.floor(ms / 1000));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Seconds of `?at=`; 0 where it says nothing. */
export function readAt(at: unknown): number {
  const seconds = typeof at === 'string' ? Number(at) : at;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}

/** Steps of a time line that give about so many marks. */
export function timeSteps(durationMs: number, marks: number): number[] {
  const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const step = 1000 * (seconds.find((one) => durationMs / 1000 / one <= marks) ?? 7200);
  return Array.from({ length: Math.floor(durationMs / step) + 1 }, (_, at) => at * step);
}
