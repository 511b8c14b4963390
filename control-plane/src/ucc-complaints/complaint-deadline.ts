const DAY_MS = 86_400_000;
/** India has one time zone, UTC+05:30, and no summer time. */
const INDIA_MS = 19_800_000;
const BUSINESS_DAYS = 5;

/**
 * Until when a proof of consent is due where the carrier does not say: the end of the fifth business day in India after
 * the complaint was heard of. Holidays are not known, so that it may be earlier than the carrier's own, and never later.
 * @see TCCCPR 2018 as amended on 2025-02-12
 */
export function proofDeadline(heardAtMs: number): Date {
  let day = Math.floor((heardAtMs + INDIA_MS) / DAY_MS);
  for (let left = BUSINESS_DAYS; left > 0;) if (isBusinessDay(++day)) left--;
  return new Date((day + 1) * DAY_MS - INDIA_MS);
}

/** @param day counted from 1970-01-01, a Thursday */
function isBusinessDay(day: number): boolean {
  const weekday = (day + 4) % 7;
  return weekday !== 0 && weekday !== 6;
}
