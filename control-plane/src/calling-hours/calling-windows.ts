import { Temporal } from 'temporal-polyfill';
import type { z } from 'zod';
import { windowsSchema } from '@parley/shared/contracts/agent-config';

/** Times of the week: at most 21 windows, none of which crosses midnight. */
export const callingWindowsSchema = windowsSchema;

export type CallingWindows = z.output<typeof callingWindowsSchema>;
type Day = CallingWindows['windows'][number]['days'][number];

export interface WindowOptions {
  /** IANA name. Taken in place of the windows' own timezone where they say so; null or absent: not known. */
  contactTimezone?: string | null | undefined;
  /** `YYYY-MM-DD`, days of that timezone on which nothing is open. */
  closedDates?: readonly string[] | undefined;
}

/** How far ahead an opening is looked for. */
const MAX_DAYS = 370;
const DAY_MS = 86_400_000;

/** By `dayOfWeek` of ISO 8601, less one. */
const DAYS: readonly Day[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/**
 * Whether an instant is in one of the windows, by the clock on the wall: an hour that comes twice when clocks go back
 * is open twice, and one that they leave out never comes.
 * @param atMs ms since the epoch
 */
export function isOpen(windows: CallingWindows, atMs: number, options: WindowOptions = {}): boolean {
  const local = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zoneOf(windows, options));
  const time = minuteText(local.hour, local.minute);
  return windowsOf(windows, local.toPlainDate(), options).some(
    ({ start, end }) => start <= time && time < end,
  );
}

/**
 * The first instant from `atMs` on at which it is open: `atMs` itself where it is open now.
 * @returns ms since the epoch; null = never within 370 days
 */
export function nextOpening(
  windows: CallingWindows,
  atMs: number,
  options: WindowOptions = {},
): number | null {
  if (isOpen(windows, atMs, options)) return atMs;
  const zone = zoneOf(windows, options);
  const today = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDate();
  for (let days = 0; days <= MAX_DAYS; days++) {
    const date = today.add({ days });
    const found = openings(windowsOf(windows, date, options), date, zone).find(
      (ms) => ms > atMs && isOpen(windows, ms, options),
    );
    if (found !== undefined) return found;
  }
  return null;
}

function zoneOf({ timezone, use_contact_timezone }: CallingWindows, options: WindowOptions): string {
  return (use_contact_timezone ? options.contactTimezone : null) ?? timezone;
}

function windowsOf(
  { windows }: CallingWindows,
  date: Temporal.PlainDate,
  { closedDates = [] }: WindowOptions,
): CallingWindows['windows'] {
  if (closedDates.includes(date.toString())) return [];
  const day = DAYS[date.dayOfWeek - 1]!;
  return windows.filter(({ days }) => days.includes(day));
}

/** Instants of a day at which a window may open, in order: its start, and where the day begins or clocks are changed. */
function openings(windows: CallingWindows['windows'], date: Temporal.PlainDate, zone: string): number[] {
  if (windows.length === 0) return [];
  const starts = windows.flatMap(({ start }) => {
    const local = date.toPlainDateTime(start);
    // A time that comes twice is a start twice.
    return (['earlier', 'later'] as const).map(
      (disambiguation) => local.toZonedDateTime(zone, { disambiguation }).epochMilliseconds,
    );
  });
  const midnight = date.toZonedDateTime(zone);
  const length = date.add({ days: 1 }).toZonedDateTime(zone).epochMilliseconds - midnight.epochMilliseconds;
  // Into a window that had begun in the hour that was left out, or that begins again with the hour that is repeated.
  const change = length === DAY_MS ? null : midnight.getTimeZoneTransition('next');
  return [...starts, midnight.epochMilliseconds, ...(change ? [change.epochMilliseconds] : [])].sort(
    (a, b) => a - b,
  );
}

function minuteText(hour: number, minute: number): string {
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
}
