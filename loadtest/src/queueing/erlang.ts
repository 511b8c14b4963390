/**
 * How many slots are needed for how much traffic. Traffic is in erlangs: calls arriving in a second times the
 * seconds each lasts, which is the mean number of calls at a time.
 */

/**
 * Erlang's loss formula: the share of calls that find all slots taken, where such calls are refused at once. Holds
 * for any distribution of call lengths.
 */
export function erlangB(erlangs: number, slots: number): number {
  checkTraffic(erlangs, slots);
  if (erlangs === 0) return slots === 0 ? 1 : 0;
  // 1 / B(n) = 1 + n / (a B(n - 1)), from n = 0: no factorials, so no overflow.
  let inverse = 1;
  for (let n = 1; n <= slots; n++) {
    inverse = 1 + (n / erlangs) * inverse;
    if (inverse > 1e300) return 0;
  }
  return 1 / inverse;
}

/** Erlang's waiting formula: the share of calls that have to wait, where they wait for as long as it takes. */
export function erlangC(erlangs: number, slots: number): number {
  checkTraffic(erlangs, slots);
  if (erlangs >= slots) return 1;
  const blocked = erlangB(erlangs, slots);
  return (slots * blocked) / (slots - erlangs * (1 - blocked));
}

/**
 * Mean wait before a slot is free, over all calls, those that need not wait included (M/M/k).
 * @param meanSeconds length of a call
 * @returns seconds; Infinity when there is more traffic than slots
 */
export function meanWait(erlangs: number, slots: number, meanSeconds: number): number {
  if (erlangs >= slots) return Infinity;
  return (erlangC(erlangs, slots) * meanSeconds) / (slots - erlangs);
}

/**
 * The same where lengths vary otherwise than exponentially: the approximation of Lee and Longton, exact for M/M/k
 * and, with one slot, for any distribution (Pollaczek-Khinchine).
 * @param variation standard deviation of a call's length, over its mean
 */
export function meanWaitGeneral(
  erlangs: number,
  slots: number,
  meanSeconds: number,
  variation: number,
): number {
  return ((1 + variation ** 2) / 2) * meanWait(erlangs, slots, meanSeconds);
}

/** The share of calls that wait longer than `seconds` (M/M/k). */
export function waitsLonger(erlangs: number, slots: number, meanSeconds: number, seconds: number): number {
  if (erlangs >= slots) return 1;
  return erlangC(erlangs, slots) * Math.exp((-(slots - erlangs) * seconds) / meanSeconds);
}

/** The fewest slots that lose no more than `share` of the calls. */
export function slotsForLoss(erlangs: number, share: number): number {
  let inverse = 1;
  for (let n = 1; ; n++) {
    inverse = 1 + (n / erlangs) * inverse;
    if (1 / inverse <= share) return n;
  }
}

function checkTraffic(erlangs: number, slots: number): void {
  if (!(erlangs >= 0) || !Number.isInteger(slots) || slots < 0)
    throw new RangeError('Traffic must not be negative, and slots must be a whole number.');
}
