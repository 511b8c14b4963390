import { Temporal } from 'temporal-polyfill';
import { invalid } from '../http/validation.ts';

/** Longest period that may be asked for. */
export const MAX_DAYS = 366;

/** A period of whole days of a time zone. */
export interface UsagePeriod {
  /** `YYYY-MM-DD`, oldest first. */
  days: string[];
  /** When each day begins, and behind them when the last one ends: milliseconds since the epoch. */
  starts: number[];
  /** When as many days before them began. */
  previousStart: number;
}

/**
 * The days from `from` to `to`, both included: this month until today unless they are given.
 * @param zone a zone that `Intl` knows
 * @throws ValidationError for a period that ends before it begins, or is too long
 */
export function usagePeriod(
  asked: { from?: string | undefined; to?: string | undefined },
  zone: string,
  nowMs: number,
): UsagePeriod {
  const to =
    asked.to === undefined
      ? Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).toPlainDate()
      : Temporal.PlainDate.from(asked.to);
  const from = asked.from === undefined ? to.with({ day: 1 }) : Temporal.PlainDate.from(asked.from);
  const count = from.until(to, { largestUnit: 'days' }).days + 1;
  if (count < 1) throw invalid(['query', 'to'], 'must not be before from');
  if (count > MAX_DAYS) throw invalid(['query', 'to'], `must be at most ${MAX_DAYS} days from the first day`);
  const dates = Array.from({ length: count + 1 }, (_, n) => from.add({ days: n }));
  return {
    days: dates.slice(0, count).map(String),
    starts: dates.map((date) => startOf(date, zone)),
    previousStart: startOf(from.subtract({ days: count }), zone),
  };
}

/** Where midnight does not exist, the day begins with its first instant. */
function startOf(date: Temporal.PlainDate, zone: string): number {
  return date.toZonedDateTime(zone).epochMilliseconds;
}
