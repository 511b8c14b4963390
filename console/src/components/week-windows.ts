import type { components } from '../api/schema.d.ts';

/** Times of a week, as the API has them. */
export type Window = components['schemas']['CreateCampaignRequest'] extends { calling_hours?: infer Hours }
  ? NonNullable<Hours> extends { windows: (infer One)[] }
    ? One
    : never
  : never;
export type Day = Window['days'][number];

export const DAYS: readonly { value: Day; label: string }[] = [
  { value: 'mon', label: 'Mon' },
  { value: 'tue', label: 'Tue' },
  { value: 'wed', label: 'Wed' },
  { value: 'thu', label: 'Thu' },
  { value: 'fri', label: 'Fri' },
  { value: 'sat', label: 'Sat' },
  { value: 'sun', label: 'Sun' },
];

/** What a week begins with, for somebody to change. */
export const WORKING_WEEK: readonly Window[] = [
  { days: ['mon', 'tue', 'wed', 'thu', 'fri'], start: '09:00', end: '18:00' },
];

/** What is wrong with the windows of a week; null: nothing. */
export function problemOfWeek(windows: readonly Window[]): string | null {
  for (const { days, start, end } of windows) {
    if (days.length === 0) return 'A window needs a day.';
    if (!(start < end)) return 'A window ends later than it begins.';
  }
  return null;
}

/** A stretch of a day that is open, in minutes from midnight. */
export interface Stretch {
  from: number;
  to: number;
}

/** When a day is open: in order, and those that touch or overlap as one. */
export function openOn(day: Day, windows: readonly Window[]): Stretch[] {
  const stretches = windows
    .filter(({ days, start, end }) => days.includes(day) && start < end)
    .map(({ start, end }) => ({ from: minutesOf(start), to: minutesOf(end) }))
    .sort((a, b) => a.from - b.from);
  const joined: Stretch[] = [];
  for (const { from, to } of stretches) {
    const last = joined.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined;
}

/** `09:30` of minutes from midnight; the end of a day is `24:00`. */
export function clockOf(minutes: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number);
  return hours! * 60 + minutes!;
}
