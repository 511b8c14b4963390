/** Of what is known; of an even number of values the mean of the two in the middle. @returns null when nothing is known */
export function median(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === 'number').toSorted((a, b) => a - b);
  if (known.length === 0) return null;
  const middle = Math.floor(known.length / 2);
  return known.length % 2 === 1 ? known[middle]! : (known[middle - 1]! + known[middle]!) / 2;
}
