const DAY_MS = 86_400_000;

/** Today in a time zone, as `2026-01-31`; an unknown zone counts as UTC. */
export function today(timezone: string, now = Date.now()): string {
  const text = (timeZone: string) =>
    new Intl.DateTimeFormat('en-CA', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    }).format(now);
  try {
    return text(timezone);
  } catch {
    return text('UTC');
  }
}

/** A day some days before or, with a number below 0, after another. */
export function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}

/** Every day from one to another, both included. */
export function daysFrom(from: string, to: string): string[] {
  const count = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS)) + 1;
  return Array.from({ length: count }, (_, index) => daysBefore(from, -index));
}

/** `31 Jan`: of a day without a time, in which no zone has a say. */
export function formatDay(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(at);
}
