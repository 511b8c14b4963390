/** The last midnight in a time zone, in milliseconds since the epoch. In an unknown zone, that of UTC. */
export function startOfDay(now: number, timezone: string): number {
  const passed = wallClock(now, timezone);
  const midnight = now - (passed % 86_400_000);
  // Where the clock was changed since then, it is an hour off.
  const shift = wallClock(midnight, timezone) % 86_400_000;
  return shift === 0 ? midnight : shift < 43_200_000 ? midnight - shift : midnight + 86_400_000 - shift;
}

/** What a clock on the wall shows, as if it were UTC. */
function wallClock(now: number, timezone: string): number {
  let format: Intl.DateTimeFormat;
  const options: Intl.DateTimeFormatOptions = {
    ...({ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric' } as const),
    ...({ minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const),
  };
  try {
    format = new Intl.DateTimeFormat('en-US', { ...options, timeZone: timezone });
  } catch {
    return now;
  }
  const part = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (now % 1000);
}
