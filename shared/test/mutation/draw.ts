import { seededRandom } from '../../src/values/seeded-random.ts';

/**
 * Draws without replacement: the same seed draws the same of the same list, and whoever stops early has a sample too.
 * @param count at most
 */
export function draw<T>(all: readonly T[], count: number, seed: number): T[] {
  const random = seededRandom(seed);
  const left = [...all];
  const drawn = Math.min(count, left.length);
  for (let at = 0; at < drawn; at += 1) {
    const chosen = at + Math.floor(random() * (left.length - at));
    [left[at], left[chosen]] = [left[chosen]!, left[at]!];
  }
  return left.slice(0, drawn);
}

/** Of the normal distribution: 95 % lie within so many standard deviations. */
const Z = 1.959964;

/**
 * The interval of 95 % for the share that a sample estimates.
 * @see E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927)
 */
export function wilsonInterval(hits: number, of: number): { low: number; high: number } {
  if (of === 0) return { low: 0, high: 1 };
  const share = hits / of;
  const scale = 1 + Z ** 2 / of;
  const centre = (share + Z ** 2 / (2 * of)) / scale;
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / of + Z ** 2 / (4 * of ** 2));
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}
