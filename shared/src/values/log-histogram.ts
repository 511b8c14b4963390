/** How far a quantile may lie beside the value itself, as a part of it. */
export const QUANTILE_ERROR = 0.05;

/** How much wider each bar is than the one before it. */
const GROWTH = (1 + QUANTILE_ERROR) / (1 - QUANTILE_ERROR);
/** Values beyond this are counted as this. */
const MOST = 3_600_000;

/** How many values are in each bar, by its name: bars of equal width on a logarithmic scale, of which the empty ones are left out. */
export type LogHistogram = Record<string, number>;

/** The bar of a value; all up to 1 have the first. */
export function barOf(value: number): string {
  return `b${Math.ceil(Math.log(Math.min(Math.max(value, 1), MOST)) / Math.log(GROWTH))}`;
}

export function histogramOf(values: readonly number[]): LogHistogram {
  const bars: LogHistogram = {};
  for (const value of values) bars[barOf(value)] = (bars[barOf(value)] ?? 0) + 1;
  return bars;
}

export function countOf(bars: LogHistogram): number {
  return Object.values(bars).reduce((sum, count) => sum + count, 0);
}

/**
 * The median (of an even number of values the lower of the two), at most `QUANTILE_ERROR` beside what it is.
 * @returns null without a value
 * @see Masson, Rim, Lee: DDSketch, a fast and fully-mergeable quantile sketch with relative-error guarantees (2019)
 */
export function medianOf(bars: LogHistogram): number | null {
  let left = Math.ceil(countOf(bars) / 2);
  if (left === 0) return null;
  const sorted = Object.entries(bars).map(([name, count]) => ({ at: Number(name.slice(1)), count }));
  sorted.sort((a, b) => a.at - b.at);
  const { at } = sorted.find(({ count }) => (left -= count) <= 0)!;
  return at === 0 ? 1 : (2 * GROWTH ** at) / (GROWTH + 1);
}
